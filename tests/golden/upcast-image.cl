// UPCAST(0, 4)
// groups (4, 1, 1), local (1, 1, 1), 0 shared bytes
#pragma OPENCL FP_CONTRACT OFF
#ifndef KERNELREF_HALF_BITS
#define KERNELREF_HALF_BITS
ushort half_bits(float x) {
  ushort bits;
  vstore_half_rte(x, 0, (half*)&bits);
  return isnan(x) ? (as_uint(x) >> 16 & 0x8000) | 0x7e00 | (as_uint(x) >> 13 & 0x3ff) : bits;
}
#endif
#ifndef KERNELREF_HALF_OF_BITS
#define KERNELREF_HALF_OF_BITS
float half_of_bits(ushort bits) { return vload_half(0, (const half*)&bits); }
#endif
#ifndef KERNELREF_HALF_ROUND
#define KERNELREF_HALF_ROUND
float half_round(float x) { return half_of_bits(half_bits(x)); }
#endif
#ifndef KERNELREF_HALF_ROUND4
#define KERNELREF_HALF_ROUND4
float4 half_round4(float4 x) {
  return (float4)(half_round(x.x), half_round(x.y), half_round(x.z), half_round(x.w));
}
#endif
#ifndef KERNELREF_NEAREST
#define KERNELREF_NEAREST
__constant sampler_t nearest =
  CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;
#endif
__kernel void k_upcast_image(write_only image2d_t data0, read_only image2d_t data1) {
  int gidx0 = get_global_id(0);
  float acc0 = 0.0f;
  float acc1 = 0.0f;
  float acc2 = 0.0f;
  float acc3 = 0.0f;
  for (int r0 = 0; r0 < 16; r0++) {
    float4 vec0 = read_imagef(data1, nearest, (int2)(gidx0, r0));
    acc0 = acc0 + vec0.x;
    acc1 = acc1 + vec0.y;
    acc2 = acc2 + vec0.z;
    acc3 = acc3 + vec0.w;
  }
  float4 pack0 = (float4)(acc0, acc1, acc2, acc3);
  write_imagef(data0, (int2)(gidx0, 0), half_round4(pack0));
}
