// no opts
// groups (3, 20, 2), local (1, 1, 1), 0 shared bytes
#pragma OPENCL FP_CONTRACT OFF
__kernel void k_four_axes(__global float* data0, __global const float* data1) {
  int gidx0 = get_global_id(0);
  int gidx1 = get_global_id(1);
  int gidx2 = get_global_id(2);
  float val0 = data1[gidx0*40 + gidx1*2 + gidx2];
  float alu0 = val0 + 1.0f;
  data0[gidx0 + gidx1*3 + gidx2*60] = alu0;
}
