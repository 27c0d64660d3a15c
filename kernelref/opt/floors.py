"""A value that an expression never goes below, found from its ops."""

from __future__ import annotations

from math import inf

from kernelref.ir import semantics
from kernelref.ir.ast import Alu, Cast, Constant, Op, Reduce, ReduceOp, Value
from kernelref.ir.dtype import Kind
from kernelref.ir.index import Expr

_DEPTH = 8


def floor_of(value: Value, depth: int = _DEPTH) -> float:
    """A lower bound of `value` at every point; -inf when none is seen. An int where exact.

    Law: not (value < floor); a NaN is below nothing. Seen: constants, bool and unsigned dtypes,
    MAX, WHERE, the square of one float, SQRT, and CASTs to float of what is not negative.
    """
    least = 0.0 if value.dtype.value.kind in (Kind.BOOL, Kind.UNSIGNED) else -inf
    if depth == 0:
        return least
    match value:
        case Constant(value=number) if not isinstance(number, Expr):
            exact: float = semantics.constant(number, value.dtype).item()
            masked = any(view.mask is not None for view in value.st.views)
            return max(least, min(exact, 0) if masked else exact)
        case Alu(op=Op.MAX, src=(left, right)):
            return max(floor_of(left, depth - 1), floor_of(right, depth - 1))
        case Alu(op=Op.WHERE, src=(_, left, right)):
            return max(least, min(floor_of(left, depth - 1), floor_of(right, depth - 1)))
        case Alu(op=Op.MUL, src=(left, right)) if left is right and value.dtype.value.is_float:
            return 0.0
        case Alu(op=Op.SQRT):
            return 0.0
        case Cast(value=source, bitcast=False) if value.dtype.value.is_float:
            return 0.0 if floor_of(source, depth - 1) >= 0 else least
        case Reduce(op=ReduceOp.MAX, value=source):
            return max(least, floor_of(source, depth - 1))
        case _:
            return least
