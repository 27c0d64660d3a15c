// no opts
// groups (8, 1, 1), local (1, 1, 1), 0 shared bytes
#pragma OPENCL FP_CONTRACT OFF
__kernel void k_masked_constant(__global float* data0, __global const float* data1) {
  int gidx0 = get_global_id(0);
  float const0 = (1 < gidx0 && gidx0 < 7) ? 1.0f : 0.0f;
  float val0 = data1[gidx0];
  float alu0 = const0 * val0;
  data0[gidx0] = alu0;
}
