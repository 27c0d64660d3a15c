"""Functions and extensions that rendered text uses, each printed once and only where it is used.

Everything stands under its own `#ifndef`, so that the texts of several kernels can be built as
one program. Half and bfloat16 live in float registers where the device has no such arithmetic:
`*_round` rounds a float to the nearest value of the narrow type, ties to even. From double that
takes one rounding, not two: float keeps the leading bits and, in its last one, whether any follow.

Source: OpenCL C 1.2, sections 6.12.7 (vload_half, vstore_half) and 6.12.14 (images).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Helper:
    """One function of the text; `needs` names those that it calls."""

    text: str
    needs: tuple[str, ...] = ()


HELPERS: dict[str, Helper] = {
    "fp16": Helper("#pragma OPENCL EXTENSION cl_khr_fp16 : enable"),
    "fp64": Helper("#pragma OPENCL EXTENSION cl_khr_fp64 : enable"),
    "half_bits": Helper("""\
ushort half_bits(float x) {
  ushort bits;
  vstore_half_rte(x, 0, (half*)&bits);
  return isnan(x) ? (as_uint(x) >> 16 & 0x8000) | 0x7e00 | (as_uint(x) >> 13 & 0x3ff) : bits;
}"""),
    "half_of_bits": Helper("""\
float half_of_bits(ushort bits) { return vload_half(0, (const half*)&bits); }"""),
    "half_round": Helper(
        """\
float half_round(float x) { return half_of_bits(half_bits(x)); }""",
        ("half_bits", "half_of_bits"),
    ),
    "half_round4": Helper(
        """\
float4 half_round4(float4 x) {
  return (float4)(half_round(x.x), half_round(x.y), half_round(x.z), half_round(x.w));
}""",
        ("half_round",),
    ),
    "half_round_double": Helper(
        """\
float half_round_double(double x) {
  float towards_zero = convert_float_rtz(x);
  uint is_inexact = (double)towards_zero != x;
  return half_round(as_float(as_uint(towards_zero) | is_inexact));
}""",
        ("half_round",),
    ),
    "bfloat16_of_bits": Helper("""\
float bfloat16_of_bits(ushort bits) { return as_float((uint)bits << 16); }"""),
    "bfloat16_bits": Helper("""\
ushort bfloat16_bits(float x) {
  uint bits = as_uint(x);
  return x != x ? (ushort)0x7fc0 : (ushort)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}"""),
    "bfloat16_round": Helper(
        """\
float bfloat16_round(float x) { return bfloat16_of_bits(bfloat16_bits(x)); }""",
        ("bfloat16_of_bits", "bfloat16_bits"),
    ),
    "floor_div": Helper("""\
int floor_div(int a, int b) { return a / b - ((a % b != 0) & ((a < 0) != (b < 0))); }"""),
    "floor_mod": Helper("""\
int floor_mod(int a, int b) {
  int r = a % b;
  return r + ((r != 0) & ((r < 0) != (b < 0))) * b;
}"""),
    "floor_div_long": Helper("""\
long floor_div_long(long a, long b) { return a / b - ((a % b != 0) & ((a < 0) != (b < 0))); }"""),
    "floor_mod_long": Helper("""\
long floor_mod_long(long a, long b) {
  long r = a % b;
  return r + ((r != 0) & ((r < 0) != (b < 0))) * b;
}"""),
    "texel_lane": Helper("""\
float texel_lane(float4 texel, int lane) {
  return lane == 0 ? texel.x : lane == 1 ? texel.y : lane == 2 ? texel.z : texel.w;
}"""),
    "nearest": Helper("""\
__constant sampler_t nearest =
  CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;"""),
}


def closure(used: set[str]) -> list[str]:
    """The helpers in `used` and those they need, in the table's order: needs come first."""
    needed: set[str] = set()
    pending = list(used)
    while pending:
        name = pending.pop()
        if name not in needed:
            needed.add(name)
            pending.extend(HELPERS[name].needs)
    return [name for name in HELPERS if name in needed]


def text_of(name: str) -> str:
    """The helper under its own guard."""
    guard = f"KERNELREF_{name.upper()}"
    return f"#ifndef {guard}\n#define {guard}\n{HELPERS[name].text}\n#endif"
