"""Which values each node can take, and where a float may round, for given ranges of the inputs.

An interval analysis. A `Range` holds the multiples of 2**granule between two ends (granule None:
any number). A float op rounds nothing when all its results, and for a SUM all partial sums in any
order, are multiples of 2**granule small enough for the dtype.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from kernelref.ir import semantics
from kernelref.ir.ast import (
    COMPARES,
    Alu,
    Ast,
    Cast,
    Constant,
    Load,
    Op,
    Reduce,
    ReduceOp,
    Store,
    Value,
    postorder,
)
from kernelref.ir.dtype import BFLOAT16, DOUBLE, FLOAT, HALF, DType, Kind
from kernelref.ir.index import Expr, evaluate
from kernelref.run.plan import iterated_dims
from kernelref.run.points import Variables, extents

ZERO_GRANULE = 4096
"""Zero is a multiple of everything."""

PRECISION: dict[DType, int] = {HALF: 11, BFLOAT16: 8, FLOAT: 24, DOUBLE: 53}
"""Significant bits: integers up to 2**bits are exact."""


@dataclass(frozen=True, slots=True)
class Range:
    """Numbers from `low` to `high`, both included."""

    low: float
    high: float
    granule: int | None = 0

    @property
    def size(self) -> float:
        """The largest magnitude."""
        return max(abs(self.low), abs(self.high))

    def with_zero(self) -> Range:
        """These numbers and 0."""
        return replace(self, low=min(self.low, 0), high=max(self.high, 0))

    def join(self, other: Range) -> Range:
        """These numbers and those of another range."""
        return Range(min(self.low, other.low), max(self.high, other.high), _coarser(self, other))


BIT = Range(0, 1)


@dataclass(frozen=True, slots=True)
class Analysis:
    """What the ranges of the inputs lead to: nodes that may round, and nodes with a pole inside.

    `poles`: divisions whose divisor may be 0, shifts by an amount that may not fit, logarithms and
    roots of what may not be positive, casts that may not fit.
    """

    ranges: Mapping[Value, Range]
    rounds: tuple[Value | Store, ...]
    poles: tuple[Value, ...]


def analyse(ast: Ast, loads: Mapping[int, Range], variables: Variables) -> Analysis:
    """Ranges of all nodes, given one for the elements of each buffer."""
    ranges: dict[Value, Range] = {}
    rounds: list[Value | Store] = []
    poles: list[Value] = []
    for node in postorder(ast):
        if isinstance(node, Store):
            if not _is_held(ranges[node.value], node.dtype.storage):
                rounds.append(node)
            continue
        ideal = _ideal(node, ranges, loads, variables)
        if _has_pole(node, ranges):
            poles.append(node)
        dtype = node.dtype.value
        if dtype.is_float and not isinstance(node, Load | Constant) and not _is_held(ideal, dtype):
            rounds.append(node)
            ideal = replace(ideal, granule=None)
        ranges[node] = ideal if dtype.is_float else _wrapped(ideal, dtype)
    return Analysis(ranges, tuple(rounds), tuple(poles))


def whole_range(dtype: DType) -> Range:
    """Every value of an integer or bool dtype."""
    return Range(float(dtype.lowest), float(dtype.highest))


def _is_held(values: Range, dtype: DType) -> bool:
    """Whether a dtype holds all these values exactly."""
    if not dtype.is_float:
        return True
    if values.low == values.high == 0 or math.isinf(values.size):
        return values.low == values.high
    precision, granule = PRECISION[dtype], values.granule
    if granule is None:
        return False
    most = 65504.0 if dtype == HALF else 2.0**1000 if dtype == DOUBLE else 2.0**127
    least = {HALF: -14, DOUBLE: -1022}.get(dtype, -126)
    fits = values.size <= math.ldexp(1.0, min(precision + granule, 1023))
    return fits and values.size <= most and granule >= least


def _wrapped(values: Range, dtype: DType) -> Range:
    """What an integer dtype makes of these values."""
    whole = whole_range(dtype)
    if values.low < whole.low or values.high > whole.high or values.low != values.low:
        return whole
    return replace(values, granule=max(values.granule or 0, 0))


def _coarser(a: Range, b: Range) -> int | None:
    """The granule that both share."""
    return None if a.granule is None or b.granule is None else min(a.granule, b.granule)


def _ideal(
    node: Value, ranges: Mapping[Value, Range], loads: Mapping[int, Range], variables: Variables
) -> Range:
    """The values of a node, before its dtype rounds or wraps them."""
    match node:
        case Load(buffer=buffer, st=st):
            is_masked = any(view.mask for view in st.views)
            return loads[buffer].with_zero() if is_masked else loads[buffer]
        case Constant(value=value, dtype=dtype, st=st):
            known = evaluate(value, variables) if isinstance(value, Expr) else value
            with semantics.quiet():
                exact = float(semantics.constant(known, dtype))
            single = Range(exact, exact, _granule_of(exact))
            return single.with_zero() if any(view.mask for view in st.views) else single
        case Alu(op=op, src=src):
            return _alu(op, [ranges[source] for source in src], node.dtype.value)
        case Cast(value=source, dtype=dtype, bitcast=bitcast):
            return _cast(ranges[source], source.dtype.value, dtype.value, is_bitcast=bitcast)
        case Reduce(op=op, value=source):
            terms = ranges[source]
            if op is ReduceOp.MAX:
                return terms
            dims = iterated_dims(node, lambda extent: extents((extent,), variables)[0])
            steps = math.prod(size for _, size in dims)
            if node.dtype.kind is Kind.BOOL:
                return BIT
            if steps == 0:
                return Range(0, 0, ZERO_GRANULE)
            return Range(steps * terms.low, steps * terms.high, terms.granule)
    raise AssertionError(f"not a value: {node!r}")


def _granule_of(value: float) -> int | None:
    """The exponent of the lowest bit that is set."""
    if value == 0 or not math.isfinite(value):
        return ZERO_GRANULE if value == 0 else None
    numerator, denominator = value.as_integer_ratio()
    return (numerator & -numerator).bit_length() - denominator.bit_length()


def _corners(a: Range, b: Range, combine: Callable[[float, float], float]) -> tuple[float, float]:
    ends = [combine(x, y) for x in (a.low, a.high) for y in (b.low, b.high)]
    ends = [0.0 if math.isnan(end) else end for end in ends]
    return min(ends), max(ends)


def _alu(op: Op, src: list[Range], dtype: DType) -> Range:
    a, b = src[0], src[-1]
    if op in COMPARES or dtype.kind is Kind.BOOL:
        return BIT
    match op:
        case Op.NEG:
            return Range(-a.high, -a.low, a.granule)
        case Op.ADD:
            return Range(a.low + b.low, a.high + b.high, _coarser(a, b))
        case Op.SUB:
            return Range(a.low - b.high, a.high - b.low, _coarser(a, b))
        case Op.MUL:
            known = a.granule is not None and b.granule is not None
            granule = (a.granule or 0) + (b.granule or 0) if known else None
            return Range(*_corners(a, b, lambda x, y: x * y), granule)
        case Op.MULACC:
            return _alu(Op.ADD, [_alu(Op.MUL, src[:2], dtype), src[2]], dtype)
        case Op.MAX:
            return Range(max(a.low, b.low), max(a.high, b.high), _coarser(a, b))
        case Op.WHERE:
            return src[1].join(src[2])
        case Op.EXP2:
            return Range(_exp2(a.low), _exp2(a.high), None)
        case Op.LOG2:
            return Range(_log2(a.low), _log2(a.high), None)
        case Op.SIN:
            return Range(-1, 1, None)
        case Op.SQRT:
            return Range(math.sqrt(max(a.low, 0)), math.sqrt(max(a.high, 0)), None)
        case Op.RECIP | Op.DIV | Op.IDIV:
            top = Range(1, 1) if op is Op.RECIP else a
            granule = None if dtype.is_float else 0
            if b.low <= 0 <= b.high:
                return Range(-top.size, top.size) if granule == 0 else Range(-math.inf, math.inf)
            return Range(*_corners(top, b, lambda x, y: x / y), granule)
        case Op.MOD:
            size = min(a.size, max(b.size - 1, 0))
            return Range(-size if a.low < 0 else 0, size if a.high > 0 else 0)
        case Op.XOR:
            size = 2.0 ** math.ceil(math.log2(max(a.size, b.size) + 1))
            return Range(-size if min(a.low, b.low) < 0 else 0, size - 1)
        case Op.SHR:
            return a.with_zero()
        case Op.SHL:
            return whole_range(dtype)
    raise AssertionError(f"no range of {op}")


def _exp2(value: float) -> float:
    return math.inf if value > 1023 else 2.0 ** max(value, -1074)


def _log2(value: float) -> float:
    return -math.inf if value <= 0 else math.log2(value)


def _cast(values: Range, source: DType, target: DType, *, is_bitcast: bool) -> Range:
    if is_bitcast:
        same = source.kind is not Kind.FLOAT and target.kind is not Kind.FLOAT
        if target.is_float:
            return Range(-math.inf, math.inf, None)
        return values if same and values.low >= 0 else whole_range(target)
    if target.kind is Kind.BOOL:
        return BIT
    if source.is_float and target.is_int:
        if math.isinf(values.size):
            return whole_range(target)
        return Range(math.trunc(values.low), math.trunc(values.high))
    return values


def _has_pole(node: Value, ranges: Mapping[Value, Range]) -> bool:
    match node:
        case Alu(op=Op.RECIP | Op.DIV | Op.IDIV | Op.MOD, src=src):
            return ranges[src[-1]].low <= 0 <= ranges[src[-1]].high
        case Alu(op=Op.SHL | Op.SHR, src=src):
            return ranges[src[1]].low < 0 or ranges[src[1]].high >= node.dtype.bits
        case Alu(op=Op.LOG2, src=src):
            return ranges[src[0]].low <= 0
        case Alu(op=Op.SQRT, src=src):
            return ranges[src[0]].low < 0
        case Cast(value=source, dtype=target, bitcast=False):
            if not (source.dtype.is_float and target.value.is_int):
                return False
            whole = whole_range(target.value)
            return ranges[source].low < whole.low or ranges[source].high > whole.high
    return False
