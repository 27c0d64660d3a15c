// no opts
// groups (4, 4, 3), local (1, 1, 1), 0 shared bytes
#pragma OPENCL FP_CONTRACT OFF
__kernel void k_split_grid(__global float* data0, __global const float* data1) {
  int gidx0 = get_global_id(0);
  int gidx1 = get_global_id(1);
  int gidx2 = get_global_id(2);
  int flat = gidx0 + gidx1*4 + gidx2*16;
  int gaxis0 = flat;
  if (flat < 39) {
    float val0 = data1[gaxis0];
    float alu0 = val0 * 2.0f;
    data0[gaxis0] = alu0;
  }
}
