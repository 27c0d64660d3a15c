// GROUPTOP(0, 4) UPCAST(1, 4)
// groups (2, 8, 1), local (4, 1, 1), 32 shared bytes
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
__attribute__((reqd_work_group_size(4, 1, 1)))
__kernel void k_group_half(__global half* data0, __global const half* data1, __global const half* data2) {
  __local ushort shared0[16];
  int gidx0 = get_group_id(0);
  int gidx1 = get_group_id(1);
  int lidx0 = get_local_id(0);
  float acc0 = 0.0f;
  float acc1 = 0.0f;
  float acc2 = 0.0f;
  float acc3 = 0.0f;
  for (int r0 = 0; r0 < 4; r0++) {
    float val0 = vload_half(r0 + gidx1*16 + lidx0*4, data1);
    float4 vec0 = vload_half4(0, data2 + r0*8 + gidx0*4 + lidx0*32);
    float alu0 = half_round(val0 * vec0.x);
    acc0 = half_round(acc0 + alu0);
    float alu1 = half_round(val0 * vec0.y);
    acc1 = half_round(acc1 + alu1);
    float alu2 = half_round(val0 * vec0.z);
    acc2 = half_round(acc2 + alu2);
    float alu3 = half_round(val0 * vec0.w);
    acc3 = half_round(acc3 + alu3);
  }
  vstore_half_rte(acc0, lidx0*4, (__local half*)shared0);
  vstore_half_rte(acc1, lidx0*4 + 1, (__local half*)shared0);
  vstore_half_rte(acc2, lidx0*4 + 2, (__local half*)shared0);
  vstore_half_rte(acc3, lidx0*4 + 3, (__local half*)shared0);
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  if (lidx0 < 1) {
    float acc4 = 0.0f;
    float acc5 = 0.0f;
    float acc6 = 0.0f;
    float acc7 = 0.0f;
    for (int g0 = 0; g0 < 4; g0++) {
      float part0 = vload_half(g0*4, (__local half*)shared0);
      acc4 = half_round(acc4 + part0);
      float part1 = vload_half(g0*4 + 1, (__local half*)shared0);
      acc5 = half_round(acc5 + part1);
      float part2 = vload_half(g0*4 + 2, (__local half*)shared0);
      acc6 = half_round(acc6 + part2);
      float part3 = vload_half(g0*4 + 3, (__local half*)shared0);
      acc7 = half_round(acc7 + part3);
    }
    float4 pack0 = (float4)(acc4, acc5, acc6, acc7);
    vstore_half4_rte(pack0, 0, data0 + gidx0*4 + gidx1*8);
  }
}
