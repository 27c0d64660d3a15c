// no opts
// groups (6, 1, 1), local (1, 1, 1), 0 shared bytes
#pragma OPENCL FP_CONTRACT OFF
#ifndef KERNELREF_FLOOR_DIV
#define KERNELREF_FLOOR_DIV
int floor_div(int a, int b) { return a / b - ((a % b != 0) & ((a < 0) != (b < 0))); }
#endif
#ifndef KERNELREF_FLOOR_MOD
#define KERNELREF_FLOOR_MOD
int floor_mod(int a, int b) {
  int r = a % b;
  return r + ((r != 0) & ((r < 0) != (b < 0))) * b;
}
#endif
__kernel void k_negative_steps(__global float* data0, __global const float* data1) {
  int gidx0 = get_global_id(0);
  float val0 = (0 < floor_mod(floor_div(-gidx0, 2) + 2, 3)) ? data1[gidx0%2*2 + floor_mod(floor_div(-gidx0, 2) + 2, 3)*4 + 1] : 0.0f;
  data0[gidx0] = val0;
}
