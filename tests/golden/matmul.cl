// no opts
// groups (8, 16, 1), local (1, 1, 1), 0 shared bytes
#pragma OPENCL FP_CONTRACT OFF
__kernel void k_matmul(__global float* data0, __global const float* data1, __global const float* data2) {
  int gidx0 = get_global_id(0);
  int gidx1 = get_global_id(1);
  float acc0 = 0.0f;
  for (int r0 = 0; r0 < 32; r0++) {
    float val0 = data1[r0 + gidx1*32];
    float val1 = data2[r0*8 + gidx0];
    float alu0 = val0 * val1;
    acc0 = acc0 + alu0;
  }
  data0[gidx0 + gidx1*8] = acc0;
}
