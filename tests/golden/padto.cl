// PADTO(0, 8) PADTO(2, 16)
// groups (5, 8, 1), local (1, 1, 1), 0 shared bytes
#pragma OPENCL FP_CONTRACT OFF
__kernel void k_padto(__global float* data0, __global const float* data1, __global const float* data2) {
  int gidx0 = get_global_id(0);
  int gidx1 = get_global_id(1);
  float acc0 = 0.0f;
  for (int r0 = 0; r0 < 16; r0++) {
    float val0 = (gidx1 < 7 && r0 < 9) ? data1[r0 + gidx1*9] : 0.0f;
    float val1 = (gidx1 < 7 && r0 < 9) ? data2[r0*5 + gidx0] : 0.0f;
    float alu0 = val0 * val1;
    acc0 = acc0 + alu0;
  }
  if (gidx1 < 7) data0[gidx0 + gidx1*5] = acc0;
}
