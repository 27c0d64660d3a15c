// no opts
// groups (192, 1, 1), local (1, 1, 1), 0 shared bytes
#pragma OPENCL FP_CONTRACT OFF
__kernel void k_elementwise(__global float* data0, __global const float* data1, __global const float* data2) {
  int gidx0 = get_global_id(0);
  float val0 = data1[gidx0];
  float val1 = data2[gidx0];
  float alu0 = val0 + val1;
  data0[gidx0] = alu0;
}
