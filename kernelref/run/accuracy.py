"""How far a conforming device may round each op, per dtype.

Source: OpenCL C 3.0, section 7.4, relative error as ULPs (full profile); cl_khr_fp16 for half.
bfloat16 and emulated half are computed in float and rounded, which is within half's row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kernelref.ir.ast import Op
from kernelref.ir.dtype import DOUBLE, FLOAT, DType


@dataclass(frozen=True, slots=True)
class Accuracy:
    """ULPs of the ops that need not be correctly rounded, by width.

    Units: ULPs of the exact result; an ulp is at most two relative rounding units. An op that is in
    no table is correctly rounded, which is half an ulp.
    """

    name: str
    single: Mapping[Op, float]
    double: Mapping[Op, float]
    half: Mapping[Op, float]

    def units(self, op: Op | None, dtype: DType) -> float:
        """Relative error in rounding units (half ulps at most); None is a cast."""
        table = self.single if dtype == FLOAT else self.double if dtype == DOUBLE else self.half
        ulps = 0.5 if op is None else table.get(op, 0.5)
        return 2 * ulps


FULL_PROFILE = Accuracy(
    "opencl full profile",
    single={
        Op.EXP2: 3, Op.LOG2: 3, Op.SIN: 4, Op.SQRT: 3, Op.DIV: 2.5, Op.RECIP: 2.5,
    },
    double={Op.EXP2: 3, Op.LOG2: 3, Op.SIN: 4},
    half={Op.EXP2: 2, Op.LOG2: 2, Op.SIN: 2, Op.SQRT: 1, Op.DIV: 1, Op.RECIP: 1},
)  # fmt: skip
