// GROUP(0, 4) GROUPTOP(1, 4)
// groups (4, 1, 1), local (4, 4, 1), 128 shared bytes
#pragma OPENCL FP_CONTRACT OFF
__attribute__((reqd_work_group_size(4, 4, 1)))
__kernel void k_group_dependent_reduces(__global float* data0, __global const float* data1, __global const float* data2) {
  __local float shared0[16];
  __local float shared1[16];
  int gidx0 = get_group_id(0);
  int lidx0 = get_local_id(0);
  int lidx1 = get_local_id(1);
  float acc0 = (-INFINITY);
  for (int r0 = 0; r0 < 2; r0++) {
    float acc1 = 0.0f;
    for (int r1 = 0; r1 < 4; r1++) {
      float val0 = data1[r0*64 + r1 + gidx0*128 + lidx0*16 + lidx1*4];
      acc1 = acc1 + val0;
    }
    shared0[lidx0*4 + lidx1] = acc1;
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    float acc2 = 0.0f;
    for (int g0 = 0; g0 < 4; g0++) {
      float part0 = shared0[g0 + lidx0*4];
      acc2 = acc2 + part0;
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    float val1 = data2[r0*4 + gidx0*8 + lidx0];
    float alu0 = acc2 * val1;
    acc0 = acc0 > alu0 || acc0 != acc0 ? acc0 : alu0;
  }
  shared1[lidx0*4 + lidx1] = acc0;
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  if (lidx0 < 1 && lidx1 < 1) {
    float acc3 = (-INFINITY);
    for (int g1 = 0; g1 < 4; g1++) {
      float part1 = shared1[g1*4 + lidx1];
      acc3 = acc3 > part1 || acc3 != acc3 ? acc3 : part1;
    }
    data0[gidx0] = acc3;
  }
}
