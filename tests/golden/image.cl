// no opts
// groups (16, 1, 1), local (1, 1, 1), 0 shared bytes
#pragma OPENCL FP_CONTRACT OFF
#ifndef KERNELREF_TEXEL_LANE
#define KERNELREF_TEXEL_LANE
float texel_lane(float4 texel, int lane) {
  return lane == 0 ? texel.x : lane == 1 ? texel.y : lane == 2 ? texel.z : texel.w;
}
#endif
#ifndef KERNELREF_NEAREST
#define KERNELREF_NEAREST
__constant sampler_t nearest =
  CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;
#endif
__kernel void k_image(__global half* data0, read_only image2d_t data1) {
  int gidx0 = get_global_id(0);
  float acc0 = 0.0f;
  for (int r0 = 0; r0 < 16; r0++) {
    float val0 = texel_lane(read_imagef(data1, nearest, (int2)(gidx0/4, r0)), gidx0%4);
    acc0 = acc0 + val0;
  }
  vstore_half_rte(acc0, gidx0, data0);
}
