// no opts
// groups (4, 1, 1), local (1, 1, 1), 0 shared bytes
#pragma OPENCL FP_CONTRACT OFF
__kernel void k_sibling_reduces(__global float* data0, __global const float* data1, __global const float* data2) {
  int gidx0 = get_global_id(0);
  float acc0 = 0.0f;
  for (int r0 = 0; r0 < 16; r0++) {
    float val0 = data1[r0 + gidx0*16];
    acc0 = acc0 + val0;
  }
  float acc1 = (-INFINITY);
  for (int r1 = 0; r1 < 16; r1++) {
    float val1 = data2[r1 + gidx0*16];
    acc1 = acc1 > val1 || acc1 != acc1 ? acc1 : val1;
  }
  float alu0 = acc0 + acc1;
  data0[gidx0] = alu0;
}
