"""The C type of each dtype, in registers and in memory, and literals of it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from kernelref.codegen.target import Target
from kernelref.errors import Unsupported
from kernelref.ir.dtype import BFLOAT16, BOOL, DOUBLE, HALF, DType, Kind


class CTypes:
    """C types for one target; `used` collects the extensions that the text needs."""

    def __init__(self, target: Target, used: set[str]) -> None:
        self.target = target
        self.used = used

    def is_emulated(self, dtype: DType) -> bool:
        """Whether registers are wider than the dtype, so that each operation is rounded."""
        return dtype == BFLOAT16 or (dtype == HALF and not self.target.native_half)

    def register(self, dtype: DType) -> str:
        """The C type of a value of `dtype`; half and bfloat16 live in float where they must.

        Raises: Unsupported for double where the device has none.
        """
        if self.is_emulated(dtype):
            return "float"
        if dtype == DOUBLE and not self.target.double:
            raise Unsupported("no-double", f"{self.target.name} has no double")
        if dtype in (HALF, DOUBLE):
            self.used.add("fp16" if dtype == HALF else "fp64")
        return dtype.name

    def memory(self, dtype: DType) -> str:
        """The C type of one element in global or shared memory."""
        if dtype == BOOL:
            return "uchar"
        if dtype == BFLOAT16:
            return "ushort"
        return "half" if dtype == HALF else self.register(dtype)

    def literal(self, value: bool | int | float, dtype: DType) -> str:
        """`value` in `dtype` as an atom of C: exact, negative ones in parentheses."""
        match dtype.kind:
            case Kind.BOOL:
                return "true" if value else "false"
            case Kind.FLOAT:
                return self._float(float(value), dtype)
            case Kind.SIGNED:
                half = 1 << (dtype.bits - 1)
                return _signed_literal((int(value) + half) % (2 * half) - half, dtype)
            case Kind.UNSIGNED:
                suffix = {32: "u", 64: "UL"}.get(dtype.bits, "")
                return f"{int(value) % (1 << dtype.bits)}{suffix}"

    def _float(self, value: float, dtype: DType) -> str:
        text = _float_text(value, dtype)
        if self.register(dtype) == "half":
            return f"((half){text})"
        if dtype == DOUBLE and not math.isfinite(value):
            return f"((double){text})"
        return f"({text})" if text.startswith("-") else text


def _signed_literal(value: int, dtype: DType) -> str:
    suffix = "L" if dtype.bits == 64 else ""
    if dtype.bits >= 32 and value == dtype.lowest:
        return f"({value + 1}{suffix} - 1)"
    return f"({value}{suffix})" if value < 0 else f"{value}{suffix}"


def _float_text(value: float, dtype: DType) -> str:
    """The shortest decimal that reads back as the nearest value of `dtype`."""
    with np.errstate(over="ignore"):
        if dtype == DOUBLE:
            rounded: Any = np.float64(value)
        elif dtype == HALF:
            rounded = np.float32(np.float16(value))
        else:
            rounded = np.float32(value)
    if dtype == BFLOAT16 and math.isfinite(rounded):
        bits = int(np.float32(rounded).view(np.uint32))
        bits = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000
        rounded = np.uint32(bits).view(np.float32)
    if math.isnan(rounded):
        return "NAN"
    if math.isinf(rounded):
        return "INFINITY" if rounded > 0 else "-INFINITY"
    return str(rounded) + ("" if dtype == DOUBLE else "f")
