// GROUP(0, 8) UPCAST(0, 4) UNROLL(1, 4) LOCAL(0, 2)
// groups (1, 1, 1), local (2, 8, 1), 256 shared bytes
#pragma OPENCL FP_CONTRACT OFF
__attribute__((reqd_work_group_size(2, 8, 1)))
__kernel void k_group_upcast_unroll(__global float* data0, __global const float* data1) {
  __local float shared0[64];
  int lidx0 = get_local_id(0);
  int lidx1 = get_local_id(1);
  float acc0 = 0.0f;
  float acc1 = 0.0f;
  float acc2 = 0.0f;
  float acc3 = 0.0f;
  for (int r0 = 0; r0 < 2; r0++) {
    float val0 = data1[r0*32 + lidx0*256 + lidx1];
    acc0 = acc0 + val0;
    float val1 = data1[r0*32 + lidx0*256 + lidx1 + 64];
    acc1 = acc1 + val1;
    float val2 = data1[r0*32 + lidx0*256 + lidx1 + 128];
    acc2 = acc2 + val2;
    float val3 = data1[r0*32 + lidx0*256 + lidx1 + 192];
    acc3 = acc3 + val3;
    float val4 = data1[r0*32 + lidx0*256 + lidx1 + 8];
    acc0 = acc0 + val4;
    float val5 = data1[r0*32 + lidx0*256 + lidx1 + 72];
    acc1 = acc1 + val5;
    float val6 = data1[r0*32 + lidx0*256 + lidx1 + 136];
    acc2 = acc2 + val6;
    float val7 = data1[r0*32 + lidx0*256 + lidx1 + 200];
    acc3 = acc3 + val7;
    float val8 = data1[r0*32 + lidx0*256 + lidx1 + 16];
    acc0 = acc0 + val8;
    float val9 = data1[r0*32 + lidx0*256 + lidx1 + 80];
    acc1 = acc1 + val9;
    float val10 = data1[r0*32 + lidx0*256 + lidx1 + 144];
    acc2 = acc2 + val10;
    float val11 = data1[r0*32 + lidx0*256 + lidx1 + 208];
    acc3 = acc3 + val11;
    float val12 = data1[r0*32 + lidx0*256 + lidx1 + 24];
    acc0 = acc0 + val12;
    float val13 = data1[r0*32 + lidx0*256 + lidx1 + 88];
    acc1 = acc1 + val13;
    float val14 = data1[r0*32 + lidx0*256 + lidx1 + 152];
    acc2 = acc2 + val14;
    float val15 = data1[r0*32 + lidx0*256 + lidx1 + 216];
    acc3 = acc3 + val15;
  }
  shared0[lidx0*32 + lidx1*4] = acc0;
  shared0[lidx0*32 + lidx1*4 + 1] = acc1;
  shared0[lidx0*32 + lidx1*4 + 2] = acc2;
  shared0[lidx0*32 + lidx1*4 + 3] = acc3;
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  if (lidx1 < 1) {
    float acc4 = 0.0f;
    float acc5 = 0.0f;
    float acc6 = 0.0f;
    float acc7 = 0.0f;
    for (int g0 = 0; g0 < 8; g0++) {
      float part0 = shared0[g0*4 + lidx0*32];
      acc4 = acc4 + part0;
      float part1 = shared0[g0*4 + lidx0*32 + 1];
      acc5 = acc5 + part1;
      float part2 = shared0[g0*4 + lidx0*32 + 2];
      acc6 = acc6 + part2;
      float part3 = shared0[g0*4 + lidx0*32 + 3];
      acc7 = acc7 + part3;
    }
    float4 pack0 = (float4)(acc4, acc5, acc6, acc7);
    vstore4(pack0, 0, data0 + lidx0*4);
  }
}
