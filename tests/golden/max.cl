// no opts
// groups (4, 1, 1), local (1, 1, 1), 0 shared bytes
#pragma OPENCL FP_CONTRACT OFF
__kernel void k_max(__global float* data0, __global const float* data1) {
  int gidx0 = get_global_id(0);
  float acc0 = (-INFINITY);
  for (int r0 = 0; r0 < 7; r0++) {
    float val0 = data1[r0 + gidx0*7];
    acc0 = acc0 > val0 || acc0 != acc0 ? acc0 : val0;
  }
  data0[gidx0] = acc0;
}
