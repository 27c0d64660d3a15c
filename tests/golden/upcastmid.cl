// GROUPTOP(0, 4) UPCASTMID(0, 4)
// groups (4, 1, 1), local (4, 4, 1), 64 shared bytes
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
__attribute__((reqd_work_group_size(4, 4, 1)))
__kernel void k_upcastmid(write_only image2d_t data0, read_only image2d_t data1) {
  __local float shared0[16];
  int gidx0 = get_group_id(0);
  int lidx0 = get_local_id(0);
  int lidx1 = get_local_id(1);
  float acc0 = 0.0f;
  for (int r0 = 0; r0 < 4; r0++) {
    float val0 = texel_lane(read_imagef(data1, nearest, (int2)(gidx0, r0 + lidx0*4)), lidx1);
    acc0 = acc0 + val0;
  }
  shared0[lidx0*4 + lidx1] = acc0;
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  if (lidx0 < 1 && lidx1 < 1) {
    float acc1 = 0.0f;
    float acc2 = 0.0f;
    float acc3 = 0.0f;
    float acc4 = 0.0f;
    for (int g0 = 0; g0 < 4; g0++) {
      float part0 = shared0[g0*4];
      acc1 = acc1 + part0;
      float part1 = shared0[g0*4 + 1];
      acc2 = acc2 + part1;
      float part2 = shared0[g0*4 + 2];
      acc3 = acc3 + part2;
      float part3 = shared0[g0*4 + 3];
      acc4 = acc4 + part3;
    }
    float4 pack0 = (float4)(acc1, acc2, acc3, acc4);
    write_imagef(data0, (int2)(gidx0, 0), half_round4(pack0));
  }
}
