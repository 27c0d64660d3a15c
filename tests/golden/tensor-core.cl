// TC(0, 0)
// groups (2, 2, 1), local (8, 2, 2), 0 shared bytes
#pragma OPENCL FP_CONTRACT OFF
__attribute__((reqd_work_group_size(8, 2, 2)))
__kernel void k_tensor_core(__global float* data0, __global const float* data1, __global const float* data2) {
  int gidx0 = get_group_id(0);
  int gidx1 = get_group_id(1);
  int lidx0 = get_local_id(0);
  int lidx1 = get_local_id(1);
  int lidx2 = get_local_id(2);
  int laxis3 = lidx0%4;
  int laxis2 = lidx0/4;
  float acc0 = 0.0f;
  float acc1 = 0.0f;
  for (int r0 = 0; r0 < 2; r0++) {
    float4 vec0 = vload4(0, data1 + r0*8 + gidx1*128 + lidx2*64 + laxis3*16);
    float2 vec1 = vload2(0, data2 + r0*128 + gidx0*8 + lidx1*4 + laxis2*2);
    float alu0 = vec0.x * vec1.x;
    acc0 = acc0 + alu0;
    float alu1 = vec0.x * vec1.y;
    acc1 = acc1 + alu1;
    float2 vec2 = vload2(0, data2 + r0*128 + gidx0*8 + lidx1*4 + laxis2*2 + 16);
    float alu2 = vec0.y * vec2.x;
    acc0 = acc0 + alu2;
    float alu3 = vec0.y * vec2.y;
    acc1 = acc1 + alu3;
    float2 vec3 = vload2(0, data2 + r0*128 + gidx0*8 + lidx1*4 + laxis2*2 + 32);
    float alu4 = vec0.z * vec3.x;
    acc0 = acc0 + alu4;
    float alu5 = vec0.z * vec3.y;
    acc1 = acc1 + alu5;
    float2 vec4 = vload2(0, data2 + r0*128 + gidx0*8 + lidx1*4 + laxis2*2 + 48);
    float alu6 = vec0.w * vec4.x;
    acc0 = acc0 + alu6;
    float alu7 = vec0.w * vec4.y;
    acc1 = acc1 + alu7;
    float4 vec5 = vload4(0, data1 + r0*8 + gidx1*128 + lidx2*64 + laxis3*16 + 4);
    float2 vec6 = vload2(0, data2 + r0*128 + gidx0*8 + lidx1*4 + laxis2*2 + 64);
    float alu8 = vec5.x * vec6.x;
    acc0 = acc0 + alu8;
    float alu9 = vec5.x * vec6.y;
    acc1 = acc1 + alu9;
    float2 vec7 = vload2(0, data2 + r0*128 + gidx0*8 + lidx1*4 + laxis2*2 + 80);
    float alu10 = vec5.y * vec7.x;
    acc0 = acc0 + alu10;
    float alu11 = vec5.y * vec7.y;
    acc1 = acc1 + alu11;
    float2 vec8 = vload2(0, data2 + r0*128 + gidx0*8 + lidx1*4 + laxis2*2 + 96);
    float alu12 = vec5.z * vec8.x;
    acc0 = acc0 + alu12;
    float alu13 = vec5.z * vec8.y;
    acc1 = acc1 + alu13;
    float2 vec9 = vload2(0, data2 + r0*128 + gidx0*8 + lidx1*4 + laxis2*2 + 112);
    float alu14 = vec5.w * vec9.x;
    acc0 = acc0 + alu14;
    float alu15 = vec5.w * vec9.y;
    acc1 = acc1 + alu15;
  }
  float2 pack0 = (float2)(acc0, acc1);
  vstore2(pack0, 0, data0 + gidx0*8 + gidx1*128 + lidx1*4 + lidx2*64 + laxis2*2 + laxis3*16);
}
