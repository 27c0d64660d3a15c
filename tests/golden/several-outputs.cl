// no opts
// groups (8, 1, 1), local (1, 1, 1), 0 shared bytes
#pragma OPENCL FP_CONTRACT OFF
#ifndef KERNELREF_FP64
#define KERNELREF_FP64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
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
__kernel void k_several_outputs(__global uchar* data0, __global char* data1, __global half* data2, __global const uchar* data4, __global const char* data5, __global const uchar* data6) {
  int gidx0 = get_global_id(0);
  uchar val0 = data4[gidx0];
  uchar alu0 = (uchar)((uint)val0 * (uint)3);
  uchar alu1 = (uchar)((uint)val0 + (uint)alu0);
  bool val1 = data6[gidx0] != 0;
  char val2 = data5[gidx0];
  char alu2 = (char)(0 - (uint)val2);
  char alu3 = val1 ? val2 : alu2;
  double cast0 = (double)val2;
  double alu4 = cast0 * 0.1;
  float cast1 = (float)alu4;
  float cast2 = half_round(cast1);
  data0[gidx0] = alu1;
  data1[gidx0] = alu3;
  vstore_half_rte(cast2, gidx0, data2);
}
