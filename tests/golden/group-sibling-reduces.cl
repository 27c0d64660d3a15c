// GROUP(0, 0)
// groups (4, 1, 1), local (16, 1, 1), 128 shared bytes
#pragma OPENCL FP_CONTRACT OFF
__attribute__((reqd_work_group_size(16, 1, 1)))
__kernel void k_group_sibling_reduces(__global float* data0, __global const float* data1, __global const float* data2) {
  __local float shared0[16];
  __local float shared1[16];
  int gidx0 = get_group_id(0);
  int lidx0 = get_local_id(0);
  float acc0 = 0.0f;
  float val0 = data1[gidx0*16 + lidx0];
  acc0 = acc0 + val0;
  shared0[lidx0] = acc0;
  float acc1 = (-INFINITY);
  float val1 = data2[gidx0*16 + lidx0];
  acc1 = acc1 > val1 || acc1 != acc1 ? acc1 : val1;
  shared1[lidx0] = acc1;
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  if (lidx0 < 1) {
    float acc2 = 0.0f;
    for (int g0 = 0; g0 < 16; g0++) {
      float part0 = shared0[g0];
      acc2 = acc2 + part0;
    }
    float acc3 = (-INFINITY);
    for (int g1 = 0; g1 < 16; g1++) {
      float part1 = shared1[g1];
      acc3 = acc3 > part1 || acc3 != acc3 ? acc3 : part1;
    }
    float alu0 = acc2 + acc3;
    data0[gidx0] = alu0;
  }
}
