// no opts
// groups (4, 1, 1), local (1, 1, 1), 0 shared bytes
#pragma OPENCL FP_CONTRACT OFF
__kernel void k_symbolic_constant(__global int* data0, __global const int* data1, const int var_n) {
  int gidx0 = get_global_id(0);
  int val0 = data1[gidx0];
  int alu0 = (int)((uint)val0 + (uint)(int)var_n);
  data0[gidx0] = alu0;
}
