// UPCAST(1, 4)
// groups (2, 16, 1), local (1, 1, 1), 0 shared bytes
#pragma OPENCL FP_CONTRACT OFF
__kernel void k_no_float4(__global float* data0, __global const float* data1, __global const float* data2) {
  int gidx0 = get_global_id(0);
  int gidx1 = get_global_id(1);
  float acc0 = 0.0f;
  float acc1 = 0.0f;
  float acc2 = 0.0f;
  float acc3 = 0.0f;
  for (int r0 = 0; r0 < 32; r0++) {
    float val0 = data1[r0 + gidx1*32];
    float val1 = data2[r0*8 + gidx0*4];
    float alu0 = val0 * val1;
    acc0 = acc0 + alu0;
    float val2 = data2[r0*8 + gidx0*4 + 1];
    float alu1 = val0 * val2;
    acc1 = acc1 + alu1;
    float val3 = data2[r0*8 + gidx0*4 + 2];
    float alu2 = val0 * val3;
    acc2 = acc2 + alu2;
    float val4 = data2[r0*8 + gidx0*4 + 3];
    float alu3 = val0 * val4;
    acc3 = acc3 + alu3;
  }
  data0[gidx0*4 + gidx1*8] = acc0;
  data0[gidx0*4 + gidx1*8 + 1] = acc1;
  data0[gidx0*4 + gidx1*8 + 2] = acc2;
  data0[gidx0*4 + gidx1*8 + 3] = acc3;
}
