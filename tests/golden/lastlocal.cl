// LASTLOCAL(0, 4)
// groups (8, 4, 1), local (4, 1, 1), 0 shared bytes
#pragma OPENCL FP_CONTRACT OFF
__attribute__((reqd_work_group_size(4, 1, 1)))
__kernel void k_lastlocal(__global float* data0, __global const float* data1, __global const float* data2) {
  int gidx0 = get_group_id(0);
  int gidx1 = get_group_id(1);
  int lidx0 = get_local_id(0);
  float acc0 = 0.0f;
  for (int r0 = 0; r0 < 32; r0++) {
    float val0 = data1[r0 + gidx1*128 + lidx0*32];
    float val1 = data2[r0*8 + gidx0];
    float alu0 = val0 * val1;
    acc0 = acc0 + alu0;
  }
  data0[gidx0 + gidx1*32 + lidx0*8] = acc0;
}
