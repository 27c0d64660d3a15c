"""When a result counts as right: a ladder of contracts, the strictest that holds for the kernel.

EXACT: only movement, compares, integers and bools; every bit agrees (any NaN is a NaN).
INTEGERS: float + - * max on integer-valued inputs chosen so that nothing rounds; values are equal,
in whatever order a device adds (0 and -0 are equal).
BOUNDED: |result - reference| <= the bound that `errorbound` derives for this kernel.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

import numpy as np

from kernelref.ir import semantics
from kernelref.ir.ast import COMPARES, Alu, Ast, Cast, Op, Reduce, postorder
from kernelref.ir.dtype import DType
from kernelref.ir.semantics import Array
from kernelref.run.oracle import Values


class Rung(enum.Enum):
    """The ladder, strictest first."""

    EXACT = 1
    INTEGERS = 2
    BOUNDED = 3


_MOVES = COMPARES | {Op.NEG, Op.WHERE}


def only_moves(ast: Ast) -> bool:
    """Whether no float is computed or converted, so that any bits come out as they went in."""
    for node in postorder(ast):
        match node:
            case Alu(op=op, src=src) if src[-1].dtype.is_float and op not in _MOVES:
                return False
            case Reduce(dtype=dtype) if dtype.is_float:
                return False
            case Cast(value=value, dtype=dtype, bitcast=False) if value.dtype.is_float:
                if dtype.value != value.dtype.value:
                    return False
    return True


@dataclass(frozen=True, slots=True)
class Mismatch:
    """The first wrong output. Units: `index` counts in the arrays that were compared."""

    index: int
    got: str
    wanted: str
    bound: float
    count: int

    def __str__(self) -> str:
        """One line for a person."""
        within = f" within {self.bound:.3g}" if self.bound else ""
        more = f" ({self.count} wrong)" if self.count > 1 else ""
        return f"output {self.index}: got {self.got}, wanted {self.wanted}{within}{more}"


def judged(values: Values) -> Array:
    """Which points a result can be wrong at: those with a finite bound."""
    return np.isfinite(values.bound)


def judge(got: Array, values: Values, rung: Rung, dtype: DType) -> Mismatch | None:
    """Compare results with what an oracle says; None when all are right.

    `got` holds stored elements of a buffer of `dtype` (bfloat16 as bits), one per value.
    """
    results = semantics.decode(np.asarray(got), dtype.storage)
    with semantics.quiet():
        wrong = _is_wrong(results, values, rung, dtype)
    places = np.flatnonzero(wrong)
    if not len(places):
        return None
    first = int(places[0])
    wanted = values.value if rung is not Rung.BOUNDED else values.reference
    return Mismatch(
        first, str(results[first]), str(wanted[first]), float(values.bound[first]), len(places)
    )


def _is_wrong(results: Array, values: Values, rung: Rung, dtype: DType) -> Array:
    """Where results break the contract. Where the bound is infinite, nothing does."""
    value, is_float = values.value, dtype.is_float
    if rung is not Rung.BOUNDED or not is_float:
        different = np.not_equal(results, value)
        if is_float:
            if rung is Rung.EXACT:
                different |= np.signbit(results) != np.signbit(value)
            different &= ~(np.isnan(results) & np.isnan(value))
        if rung is not Rung.BOUNDED:
            return different
    allowed = ~judged(values)
    wide = results.astype(np.float64)
    near = (wide == values.reference) | (np.abs(wide - values.reference) <= values.bound)
    # A NaN that no rounding made, such as a bitcast's, has no bound but is one.
    near |= np.isnan(wide) & np.isnan(values.reference)
    if not is_float:
        near = np.where(values.bound == 0, np.equal(results, value), near)
    return np.asarray(~(near | allowed))
