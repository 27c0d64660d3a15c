// no opts
// groups (10, 1, 1), local (1, 1, 1), 0 shared bytes
#pragma OPENCL FP_CONTRACT OFF
__kernel void k_convolution(__global float* data0, __global const float* data1, __global const float* data2) {
  int gidx0 = get_global_id(0);
  float acc0 = 0.0f;
  for (int r0 = 0; r0 < 2; r0++) {
    for (int r1 = 0; r1 < 3; r1++) {
      float val0 = (0 < r1 + gidx0 && r1 + gidx0 < 11) ? data1[r0*10 + r1 + gidx0 - 1] : 0.0f;
      float val1 = data2[r0*3 + r1];
      float alu0 = val0 * val1;
      acc0 = acc0 + alu0;
    }
  }
  data0[gidx0] = acc0;
}
