// UPCAST(1, 4)
// groups (2, 8, 1), local (1, 1, 1), 0 shared bytes
#pragma OPENCL FP_CONTRACT OFF
#ifndef KERNELREF_FP16
#define KERNELREF_FP16
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#endif
__kernel void k_native_half(__global half* data0, __global const half* data1, __global const half* data2) {
  int gidx0 = get_global_id(0);
  int gidx1 = get_global_id(1);
  half acc0 = ((half)0.0f);
  half acc1 = ((half)0.0f);
  half acc2 = ((half)0.0f);
  half acc3 = ((half)0.0f);
  for (int r0 = 0; r0 < 16; r0++) {
    half val0 = data1[r0 + gidx1*16];
    half4 vec0 = vload4(0, data2 + r0*8 + gidx0*4);
    half alu0 = val0 * vec0.x;
    acc0 = acc0 + alu0;
    half alu1 = val0 * vec0.y;
    acc1 = acc1 + alu1;
    half alu2 = val0 * vec0.z;
    acc2 = acc2 + alu2;
    half alu3 = val0 * vec0.w;
    acc3 = acc3 + alu3;
  }
  half4 pack0 = (half4)(acc0, acc1, acc2, acc3);
  vstore4(pack0, 0, data0 + gidx0*4 + gidx1*8);
}
