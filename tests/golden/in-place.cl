// no opts
// groups (192, 1, 1), local (1, 1, 1), 0 shared bytes
#pragma OPENCL FP_CONTRACT OFF
__kernel void k_in_place(__global float* data0, __global const float* data1) {
  int gidx0 = get_global_id(0);
  float val0 = data0[gidx0];
  float alu0 = val0 * 0.9f;
  float val1 = data1[gidx0];
  float alu1 = alu0 + val1;
  data0[gidx0] = alu1;
}
