// UPCAST(0, 4)
// groups (4, 1, 1), local (1, 1, 1), 0 shared bytes
#pragma OPENCL FP_CONTRACT OFF
__kernel void k_image_float(__global float* data0, __global const float* data1) {
  int gidx0 = get_global_id(0);
  float acc0 = 0.0f;
  float acc1 = 0.0f;
  float acc2 = 0.0f;
  float acc3 = 0.0f;
  for (int r0 = 0; r0 < 16; r0++) {
    float4 vec0 = vload4(0, data1 + r0*16 + gidx0*4);
    acc0 = acc0 + vec0.x;
    acc1 = acc1 + vec0.y;
    acc2 = acc2 + vec0.z;
    acc3 = acc3 + vec0.w;
  }
  float4 pack0 = (float4)(acc0, acc1, acc2, acc3);
  vstore4(pack0, 0, data0 + gidx0*4);
}
