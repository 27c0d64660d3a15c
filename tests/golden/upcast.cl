// UPCAST(0, 2) UPCAST(1, 4)
// groups (2, 8, 1), local (1, 1, 1), 0 shared bytes
#pragma OPENCL FP_CONTRACT OFF
__kernel void k_upcast(__global float* data0, __global const float* data1, __global const float* data2) {
  int gidx0 = get_global_id(0);
  int gidx1 = get_global_id(1);
  float acc0 = 0.0f;
  float acc1 = 0.0f;
  float acc2 = 0.0f;
  float acc3 = 0.0f;
  float acc4 = 0.0f;
  float acc5 = 0.0f;
  float acc6 = 0.0f;
  float acc7 = 0.0f;
  for (int r0 = 0; r0 < 32; r0++) {
    float val0 = data1[r0 + gidx1*64];
    float4 vec0 = vload4(0, data2 + r0*8 + gidx0*4);
    float alu0 = val0 * vec0.x;
    acc0 = acc0 + alu0;
    float alu1 = val0 * vec0.y;
    acc1 = acc1 + alu1;
    float alu2 = val0 * vec0.z;
    acc2 = acc2 + alu2;
    float alu3 = val0 * vec0.w;
    acc3 = acc3 + alu3;
    float val1 = data1[r0 + gidx1*64 + 32];
    float alu4 = val1 * vec0.x;
    acc4 = acc4 + alu4;
    float alu5 = val1 * vec0.y;
    acc5 = acc5 + alu5;
    float alu6 = val1 * vec0.z;
    acc6 = acc6 + alu6;
    float alu7 = val1 * vec0.w;
    acc7 = acc7 + alu7;
  }
  float4 pack0 = (float4)(acc0, acc1, acc2, acc3);
  vstore4(pack0, 0, data0 + gidx0*4 + gidx1*16);
  float4 pack1 = (float4)(acc4, acc5, acc6, acc7);
  vstore4(pack1, 0, data0 + gidx0*4 + gidx1*16 + 8);
}
