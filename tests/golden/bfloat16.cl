// UNROLL(0, 4)
// groups (4, 4, 1), local (1, 1, 1), 0 shared bytes
#pragma OPENCL FP_CONTRACT OFF
#ifndef KERNELREF_BFLOAT16_OF_BITS
#define KERNELREF_BFLOAT16_OF_BITS
float bfloat16_of_bits(ushort bits) { return as_float((uint)bits << 16); }
#endif
#ifndef KERNELREF_BFLOAT16_BITS
#define KERNELREF_BFLOAT16_BITS
ushort bfloat16_bits(float x) {
  uint bits = as_uint(x);
  return x != x ? (ushort)0x7fc0 : (ushort)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}
#endif
#ifndef KERNELREF_BFLOAT16_ROUND
#define KERNELREF_BFLOAT16_ROUND
float bfloat16_round(float x) { return bfloat16_of_bits(bfloat16_bits(x)); }
#endif
__kernel void k_bfloat16(__global ushort* data0, __global const ushort* data1, __global const ushort* data2) {
  int gidx0 = get_global_id(0);
  int gidx1 = get_global_id(1);
  float acc0 = 0.0f;
  for (int r0 = 0; r0 < 2; r0++) {
    float val0 = bfloat16_of_bits(data1[r0*4 + gidx1*8]);
    float val1 = bfloat16_of_bits(data2[r0*16 + gidx0]);
    float alu0 = bfloat16_round(val0 * val1);
    acc0 = bfloat16_round(acc0 + alu0);
    float val2 = bfloat16_of_bits(data1[r0*4 + gidx1*8 + 1]);
    float val3 = bfloat16_of_bits(data2[r0*16 + gidx0 + 4]);
    float alu1 = bfloat16_round(val2 * val3);
    acc0 = bfloat16_round(acc0 + alu1);
    float val4 = bfloat16_of_bits(data1[r0*4 + gidx1*8 + 2]);
    float val5 = bfloat16_of_bits(data2[r0*16 + gidx0 + 8]);
    float alu2 = bfloat16_round(val4 * val5);
    acc0 = bfloat16_round(acc0 + alu2);
    float val6 = bfloat16_of_bits(data1[r0*4 + gidx1*8 + 3]);
    float val7 = bfloat16_of_bits(data2[r0*16 + gidx0 + 12]);
    float alu3 = bfloat16_round(val6 * val7);
    acc0 = bfloat16_round(acc0 + alu3);
  }
  data0[gidx0 + gidx1*4] = bfloat16_bits(acc0);
}
