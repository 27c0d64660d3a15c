// UNROLL(0, 4)
// groups (8, 16, 1), local (1, 1, 1), 0 shared bytes
#pragma OPENCL FP_CONTRACT OFF
__kernel void k_unroll(__global float* data0, __global const float* data1, __global const float* data2) {
  int gidx0 = get_global_id(0);
  int gidx1 = get_global_id(1);
  float acc0 = 0.0f;
  for (int r0 = 0; r0 < 8; r0++) {
    float4 vec0 = vload4(0, data1 + r0*4 + gidx1*32);
    float val0 = data2[r0*32 + gidx0];
    float alu0 = vec0.x * val0;
    acc0 = acc0 + alu0;
    float val1 = data2[r0*32 + gidx0 + 8];
    float alu1 = vec0.y * val1;
    acc0 = acc0 + alu1;
    float val2 = data2[r0*32 + gidx0 + 16];
    float alu2 = vec0.z * val2;
    acc0 = acc0 + alu2;
    float val3 = data2[r0*32 + gidx0 + 24];
    float alu3 = vec0.w * val3;
    acc0 = acc0 + alu3;
  }
  data0[gidx0 + gidx1*8] = acc0;
}
