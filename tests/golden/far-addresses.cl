// no opts
// groups (4, 1, 1), local (1, 1, 1), 0 shared bytes
#pragma OPENCL FP_CONTRACT OFF
__kernel void k_far_addresses(__global float* data0, __global const float* data1) {
  int gidx0 = get_global_id(0);
  float val0 = ((long)gidx0*1200000001L/60000L%60000L < 30000L) ? data1[gidx0] : 0.0f;
  data0[gidx0] = val0;
}
