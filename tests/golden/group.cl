// GROUP(0, 8)
// groups (8, 1, 1), local (8, 1, 1), 32 shared bytes
#pragma OPENCL FP_CONTRACT OFF
__attribute__((reqd_work_group_size(8, 1, 1)))
__kernel void k_group(__global float* data0, __global const float* data1) {
  __local float shared0[8];
  int gidx0 = get_group_id(0);
  int lidx0 = get_local_id(0);
  float acc0 = 0.0f;
  for (int r0 = 0; r0 < 8; r0++) {
    float val0 = data1[r0*8 + gidx0*64 + lidx0];
    acc0 = acc0 + val0;
  }
  shared0[lidx0] = acc0;
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  if (lidx0 < 1) {
    float acc1 = 0.0f;
    for (int g0 = 0; g0 < 8; g0++) {
      float part0 = shared0[g0];
      acc1 = acc1 + part0;
    }
    data0[gidx0] = acc1;
  }
}
