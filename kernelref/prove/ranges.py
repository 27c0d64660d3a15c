"""Abstract values: a range of numbers that holds a value, and whether it may be NaN.

The prover's own reading of each op, from C17 and IEEE 754, apart from the one that the oracle and
the opt layer's padding check share. Whatever is not listed may be anything. Law: the value of an op
on any members of its operands' ranges is a member of the result's range.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from kernelref.ir.ast import Op, ReduceOp
from kernelref.ir.dtype import DType, Kind

Number: TypeAlias = int | float


@dataclass(frozen=True, slots=True)
class Range:
    """Every number from `low` to `high`, and NaN if `nan`. Without `minus` no zero is -0.0."""

    low: Number
    high: Number
    nan: bool = False
    minus: bool = True

    def __str__(self) -> str:
        numbers = str(self.low) if self.low == self.high else f"{self.low} to {self.high}"
        return f"{numbers} or NaN" if self.nan else numbers

    @property
    def is_zero(self) -> bool:
        """Whether it is nothing but 0."""
        return self.low == self.high == 0 and not self.nan

    @property
    def is_single(self) -> bool:
        """Whether it is one number."""
        return self.low == self.high and not self.nan

    def holds(self, number: Number) -> bool:
        """Whether it may be this number."""
        return self.low <= number <= self.high


_LARGEST_BFLOAT16 = 3.38e38
ZERO = Range(0, 0)
PLUS_ZERO = Range(0, 0, minus=False)
TRUE = Range(1, 1)
EITHER = Range(0, 1)


def anything(dtype: DType) -> Range:
    """Every value of a dtype."""
    dtype = dtype.value
    return Range(dtype.lowest, dtype.highest, nan=dtype.is_float)


def hull(left: Range, right: Range) -> Range:
    """Everything that either holds."""
    low, high = min(left.low, right.low), max(left.high, right.high)
    return Range(low, high, left.nan or right.nan, left.minus or right.minus)


def literal(value: bool | int | float, dtype: DType) -> Range:
    """A constant as the dtype holds it."""
    dtype = dtype.value
    if dtype.kind is Kind.BOOL:
        return TRUE if value != 0 else ZERO
    if isinstance(value, float) and not math.isfinite(value):
        if not dtype.is_float:
            return anything(dtype)
        return Range(value, value) if value == value else Range(0, 0, nan=True)
    if dtype.is_float:
        return _rounded(float(value), float(value), dtype)
    return _wrapped(int(value), int(value), dtype)


def applied(op: Op, operands: list[Range], dtype: DType) -> Range:
    """An op on operands of `dtype` (of its last two for WHERE)."""
    dtype = dtype.value
    rule = _RULES.get(op)
    if rule is None:
        return anything(dtype)
    if dtype.kind is Kind.BOOL and op not in _ON_BOOL:
        return _on_bool(op, operands)
    return rule(operands, dtype)


def converted(value: Range, source: DType, target: DType, *, bitcast: bool) -> Range:
    """A cast, or the same bits under another dtype."""
    source, target = source.value, target.value
    if bitcast:
        # The bits of -0.0 are not all 0.
        is_plus = value.is_zero and not (source.is_float and value.minus)
        return PLUS_ZERO if is_plus else anything(target)
    if target.kind is Kind.BOOL:
        if value.is_zero:
            return ZERO
        return EITHER if value.holds(0) else TRUE
    if target.is_float:
        if value.is_zero and not (source.is_float and value.minus):
            return PLUS_ZERO
        if source.is_float and target.bits > source.bits:
            return value
        return _rounded(value.low, value.high, target, nan=value.nan)
    if source.is_float:
        if value.nan or math.isinf(value.low) or math.isinf(value.high):
            return anything(target)
        low, high = math.trunc(value.low), math.trunc(value.high)
        fits = target.lowest <= low and high <= target.highest
        return Range(low, high) if fits else anything(target)
    return _wrapped(int(value.low), int(value.high), target)


def reduced(op: ReduceOp, term: Range, dtype: DType) -> Range:
    """A reduction of at least one term, each in the range."""
    dtype = dtype.value
    if op is ReduceOp.MAX or dtype.kind is Kind.BOOL or term.is_zero:
        return term
    if dtype.is_float and term.low >= 0:
        return Range(0, math.inf, term.nan)
    return anything(dtype)


def _wrapped(low: int, high: int, dtype: DType) -> Range:
    """Integers as the dtype's width keeps them."""
    if dtype.lowest <= low and high <= dtype.highest:
        return Range(low, high)
    if low != high:
        return anything(dtype)
    top = 1 << dtype.bits
    value = low % top
    return Range(*(value - top if value > dtype.highest else value,) * 2)


def _rounded(low: Number, high: Number, dtype: DType, *, nan: bool = False) -> Range:
    """Floats with room for one rounding; what the dtype holds exactly stays."""
    return Range(_step(low, dtype, -math.inf), _step(high, dtype, math.inf), nan)


def _step(value: Number, dtype: DType, towards: float) -> float:
    """The value, or the next one beyond it where it would round."""
    if value == 0 or math.isinf(value):
        return float(value)
    if abs(value) < _normal(dtype):
        # A device may flush it to 0.
        return 0.0 if (value > 0) != (towards > 0) else math.copysign(_normal(dtype), value)
    if dtype.name == "bfloat16":
        wider = float(value) + math.copysign(abs(value) / 128, towards)
        if abs(wider) < _LARGEST_BFLOAT16:
            return wider
        return math.copysign(math.inf if (wider > 0) == (towards > 0) else _LARGEST_BFLOAT16, wider)
    with np.errstate(all="ignore"):
        rounded = dtype.numpy.type(value)
        if float(rounded) == value:
            return float(value)
        return float(np.nextafter(rounded, dtype.numpy.type(towards)))


def _normal(dtype: DType) -> float:
    """The least number that is not subnormal."""
    exponent = {"half": -14, "double": -1022}.get(dtype.name, -126)
    return 2.0**exponent


def _loose(low: Number, high: Number, dtype: DType, *, nan: bool = False) -> Range:
    """Floats of an op that devices need not round exactly: a thousandth of room."""
    low = low if math.isinf(low) else low - abs(low) / 1024
    high = high if math.isinf(high) else high + abs(high) / 1024
    return _rounded(low, high, dtype, nan=nan)


def _add(operands: list[Range], dtype: DType) -> Range:
    a, b = operands
    if not dtype.is_float:
        return _wrapped(int(a.low + b.low), int(a.high + b.high), dtype)
    meets = (a.high == math.inf and b.low == -math.inf) or (
        a.low == -math.inf and b.high == math.inf
    )
    nan = a.nan or b.nan or meets
    if a.is_zero or b.is_zero:
        return b if a.is_zero else a
    low = -math.inf if -math.inf in (a.low, b.low) else a.low + b.low
    high = math.inf if math.inf in (a.high, b.high) else a.high + b.high
    return _rounded(low, high, dtype, nan=nan)


def _negate(operands: list[Range], dtype: DType) -> Range:
    (a,) = operands
    if dtype.is_float:
        return Range(-a.high, -a.low, a.nan)
    return _wrapped(-int(a.high), -int(a.low), dtype)


def _multiply(operands: list[Range], dtype: DType) -> Range:
    a, b = operands
    if not dtype.is_float:
        corners = [int(x * y) for x in (a.low, a.high) for y in (b.low, b.high)]
        return _wrapped(min(corners), max(corners), dtype)
    infinite = any(math.isinf(x) for x in (a.low, a.high, b.low, b.high))
    nan = a.nan or b.nan or (infinite and (a.holds(0) or b.holds(0)))
    products = [_product(x, y) for x in (a.low, a.high) for y in (b.low, b.high)]
    return _rounded(min(products), max(products), dtype, nan=nan)


def _product(x: Number, y: Number) -> float:
    """A corner; 0 times infinity is 0 here, because its NaN is counted elsewhere."""
    return 0.0 if x == 0 or y == 0 else float(x) * float(y)


def _maximum(operands: list[Range], dtype: DType) -> Range:
    a, b = operands
    return Range(max(a.low, b.low), max(a.high, b.high), a.nan or b.nan)


def _less(operands: list[Range], dtype: DType) -> Range:
    a, b = operands
    if a.high < b.low and not (a.nan or b.nan):
        return TRUE
    return ZERO if a.low >= b.high else EITHER


def _equal(operands: list[Range], dtype: DType) -> Range:
    a, b = operands
    if a.is_single and b.is_single and a.low == b.low:
        return TRUE
    return ZERO if a.high < b.low or b.high < a.low else EITHER


def _differ(operands: list[Range], dtype: DType) -> Range:
    same = _equal(operands, dtype)
    return Range(1 - same.high, 1 - same.low)


def _choose(operands: list[Range], dtype: DType) -> Range:
    condition, a, b = operands
    if condition.is_zero:
        return b
    return hull(a, b) if condition.holds(0) else a


def _reciprocal(operands: list[Range], dtype: DType) -> Range:
    return _divide([TRUE, *operands], dtype)


def _divide(operands: list[Range], dtype: DType) -> Range:
    a, b = operands
    if not dtype.is_float:
        return _divide_integers(operands, dtype)
    if b.holds(0) or any(math.isinf(x) for x in (a.low, a.high, b.low, b.high)):
        return ZERO if a.is_zero and not b.holds(0) and not b.nan else anything(dtype)
    corners = [x / y for x in (a.low, a.high) for y in (b.low, b.high)]
    return _loose(min(corners), max(corners), dtype, nan=a.nan or b.nan)


def _divide_integers(operands: list[Range], dtype: DType) -> Range:
    a, b = operands
    return ZERO if a.is_zero and not b.holds(0) else anything(dtype)


def _shift(operands: list[Range], dtype: DType) -> Range:
    return ZERO if operands[0].is_zero else anything(dtype)


def _exclusive_or(operands: list[Range], dtype: DType) -> Range:
    a, b = operands
    if a.is_single and b.is_single:
        return Range(*(int(a.low) ^ int(b.low),) * 2)
    return anything(dtype)


def _power(operands: list[Range], dtype: DType) -> Range:
    (a,) = operands
    return _loose(_exp2(a.low), _exp2(a.high), dtype, nan=a.nan)


def _exp2(x: Number) -> float:
    return math.inf if x >= 1024 else 0.0 if x <= -1100 else 2.0**x


def _logarithm(operands: list[Range], dtype: DType) -> Range:
    (a,) = operands
    if a.low < 0 or math.isinf(a.high):
        return anything(dtype)
    # Of either zero it is -inf, and a device may take a subnormal number for 0.
    least = _normal(dtype)
    low = -math.inf if a.low < least else math.log2(a.low) - 1e-3
    high = -math.inf if a.high == 0 else math.log2(max(a.high, least)) + 1e-3
    return _loose(low, high, dtype, nan=a.nan)


def _sine(operands: list[Range], dtype: DType) -> Range:
    (a,) = operands
    if a.is_zero:
        return ZERO
    return _loose(-1, 1, dtype, nan=a.nan or math.isinf(a.low) or math.isinf(a.high))


def _root(operands: list[Range], dtype: DType) -> Range:
    (a,) = operands
    if a.high < 0:
        return Range(0, 0, nan=True)
    low, high = max(a.low, 0), a.high
    return _loose(math.sqrt(low), math.sqrt(high), dtype, nan=a.nan or a.low < 0)


def _multiply_add(operands: list[Range], dtype: DType) -> Range:
    return _add([_multiply(operands[:2], dtype), operands[2]], dtype)


def _subtract(operands: list[Range], dtype: DType) -> Range:
    a, b = operands
    if not dtype.is_float:
        return _wrapped(int(a.low - b.high), int(a.high - b.low), dtype)
    return _add([a, _negate([b], dtype)], dtype)


Rule: TypeAlias = Callable[[list[Range], DType], Range]
_RULES: dict[Op, Rule] = {
    Op.EXP2: _power,
    Op.LOG2: _logarithm,
    Op.SIN: _sine,
    Op.SQRT: _root,
    Op.NEG: _negate,
    Op.RECIP: _reciprocal,
    Op.ADD: _add,
    Op.SUB: _subtract,
    Op.MUL: _multiply,
    Op.DIV: _divide,
    Op.IDIV: _divide_integers,
    Op.MOD: _divide_integers,
    Op.MAX: _maximum,
    Op.XOR: _exclusive_or,
    Op.SHL: _shift,
    Op.SHR: _shift,
    Op.CMPLT: _less,
    Op.CMPEQ: _equal,
    Op.CMPNE: _differ,
    Op.WHERE: _choose,
    Op.MULACC: _multiply_add,
}
_ON_BOOL = frozenset({Op.WHERE, Op.CMPLT, Op.CMPEQ, Op.CMPNE, Op.MAX})


def _on_bool(op: Op, operands: list[Range]) -> Range:
    """C's arithmetic on bool, read as `!= 0`: ADD is or, MUL is and, NEG is not, SUB is xor."""
    a = operands[0]
    b = operands[1] if len(operands) > 1 else a
    match op:
        case Op.NEG:
            return Range(1 - a.high, 1 - a.low)
        case Op.ADD:
            return Range(max(a.low, b.low), max(a.high, b.high))
        case Op.MUL:
            return Range(min(a.low, b.low), min(a.high, b.high))
        case Op.MULACC:
            c = operands[2]
            return Range(max(min(a.low, b.low), c.low), max(min(a.high, b.high), c.high))
        case Op.XOR | Op.SUB if a.is_single and b.is_single:
            return Range(*(int(a.low) ^ int(b.low),) * 2)
        case _:
            return EITHER
