"""How far any conforming device may be from the exact value: a bound carried through every op.

A `Bounded` holds float64 reference values (integers and bools as they are) and an error.
Law: whatever a device computes for the node, in any order of sums, with or without contraction into
fused multiply-adds, keeping or flushing denormals, and rounding half after each op or only when
stored, |computed - value| <= error. Infinite error: anything goes (an overflow that rounding
decides, a NaN, a pole, an undefined cast); such a point is not judged.

Discontinuities: where a condition could go either way within the error, the bound covers both
sides. A correctly rounded op whose exact result is a value of the dtype has no error, so sums of
small integers are exact here too. A sum of n terms is within ((1+u)^d - 1) * sum|terms|, d = n for
any order unless `depths` tells the depth of the schedule's sum tree.

Source: N. Higham, Accuracy and Stability of Numerical Algorithms, 2nd edition, sections 3.1, 4.2.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from kernelref.ir import semantics
from kernelref.ir.ast import COMPARES, Op, Reduce, ReduceOp
from kernelref.ir.dtype import BFLOAT16, BOOL, DOUBLE, FLOAT, DType, Kind
from kernelref.ir.semantics import Array
from kernelref.run.accuracy import FULL_PROFILE, Accuracy
from kernelref.run.errorrules import (
    Bounded,
    apply_discrete,
    carried,
    choose,
    compare,
    in_range,
    to_integer,
)

UNIT64 = 2.0**-53
"""The reference's own relative rounding error per op."""


@dataclass(frozen=True, slots=True)
class BoundedArithmetic:
    """The arithmetic that carries bounds. `depths`: longest chain of additions of a reduction."""

    accuracy: Accuracy = FULL_PROFILE
    depths: Mapping[Reduce, int] = field(default_factory=dict)

    def lift(self, values: Array, dtype: DType) -> Bounded:
        """Exact values."""
        return Bounded(values.astype(np.float64) if dtype.is_float else np.asarray(values))

    def arrays(self, value: Bounded) -> tuple[Array, ...]:
        """The reference and its error."""
        return np.asarray(value.value), np.broadcast_to(value.bound, np.shape(value.value))

    def apply(self, op: Op, operands: Sequence[Bounded], dtype: DType) -> Bounded:
        """One op; `dtype` is the operands' (WHERE: of the last two)."""
        dtype = dtype.value
        if op is Op.WHERE:
            return choose(*operands)
        if op in COMPARES:
            return compare(op, operands, dtype)
        if not dtype.is_float:
            return apply_discrete(op, operands, dtype)
        if op is Op.MULACC:
            product = self.apply(Op.MUL, operands[:2], dtype)
            return self.apply(Op.ADD, (product, operands[2]), dtype)
        values = [operand.value for operand in operands]
        value = semantics.apply(op, values, DOUBLE)
        moved = carried(op, operands, value)
        if op in (Op.NEG, Op.MAX):
            return _unless_nan(value, moved)
        return self._rounded(op, value, values, moved, dtype)

    def _rounded(
        self, op: Op | None, value: Array, operands: Sequence[Array], moved: Array, dtype: DType
    ) -> Bounded:
        """Add what the op itself may be off by to the error that it carries on."""
        units = self.accuracy.units(op, dtype)
        limits = np.finfo(dtype.numpy.name)
        tiny, most = float(limits.smallest_normal), float(limits.max)
        size = np.abs(value)
        error = moved + (units * unit_of(dtype) + UNIT64) * (size + moved)
        if units == 1:
            error = np.where((moved == 0) & _is_representable(value, dtype), 0.0, error)
        is_flushed = size < 2 * np.maximum(error, tiny)
        if is_flushed.any():
            # The product above underflows to 0 for the smallest doubles.
            rounds = (error > 0) | ~_is_representable(value, dtype)
            error = np.where(is_flushed & rounds, error + tiny, error)
        if size.size and not size.max() + np.max(error) < most / 2:
            has_infinite = np.isinf(operands[0]) | np.isinf(operands[-1])
            error = np.where((size + error > most) & ~has_infinite, np.inf, error)
            error = np.where(has_infinite & (moved < np.inf), 0.0, error)
        return _unless_nan(value, error)

    def convert(
        self, value: Bounded, source: DType, target: DType, *, bitcast: bool = False
    ) -> Bounded:
        """A cast or bitcast. A bitcast of inexact bits is not judged."""
        source, target = source.value, target.value
        if bitcast:
            bits = semantics.bitcast(value.value.astype(source.numpy), source, target)
            changed = None if value.error is None else np.where(value.error > 0, np.inf, 0.0)
            return replace(self.lift(bits, target), error=changed)
        if target.kind is Kind.BOOL:
            return compare(Op.CMPNE, (value, Bounded(np.zeros_like(value.value))), source)
        if target.is_int:
            return to_integer(value, source, target)
        reference = value.value.astype(np.float64)
        if _holds(source, target):
            return Bounded(reference, value.error)
        moved = np.broadcast_to(value.bound, reference.shape)
        return self._rounded(None, reference, (reference,), moved, target)

    def start(self, node: Reduce) -> Bounded:
        """No terms: 0 or the lowest value."""
        dtype = node.dtype.value
        value = semantics.constant(semantics.identity(node.op, dtype), dtype)
        return replace(self.lift(value, dtype), magnitude=np.zeros(()), whole=np.asarray(True))

    def fold(
        self,
        node: Reduce,
        so_far: Bounded,
        terms: Bounded,
        steps_first: Callable[[Array], Array],
    ) -> Bounded:
        """More terms; the reference sums in float64."""
        dtype = node.dtype.value
        value = steps_first(terms.value)
        total = semantics.fold(node.op, so_far.value, value, DOUBLE if dtype.is_float else dtype)
        steps = so_far.steps + len(value)
        error = so_far.bound
        errors = steps_first(np.broadcast_to(terms.bound, np.shape(terms.value)))
        if node.op is ReduceOp.MAX or dtype == BOOL:
            return Bounded(total, np.maximum(error, errors.max(axis=0)), steps=steps)
        error = error + errors.sum(axis=0)
        if so_far.magnitude is None or so_far.whole is None or not dtype.is_float:
            return Bounded(total, error, steps=steps)
        size, whole = np.abs(value).sum(axis=0) + errors.sum(axis=0), so_far.whole
        if whole.any():
            whole = whole & ((errors == 0) & (value == np.rint(value))).all(axis=0)
        return Bounded(total, error, so_far.magnitude + size, whole, steps)

    def finish(self, node: Reduce, so_far: Bounded) -> Bounded:
        """The roundings of all additions together."""
        dtype, value, error = node.dtype.value, so_far.value, so_far.bound
        if not dtype.is_float:
            return in_range(Bounded(value, error), dtype)
        if node.op is ReduceOp.MAX or so_far.magnitude is None or so_far.whole is None:
            return _unless_nan(value, error)
        size = so_far.magnitude
        depth = min(self.depths.get(node, so_far.steps), so_far.steps)
        growth = np.expm1(depth * np.log1p(unit_of(dtype)) + so_far.steps * UNIT64)
        bound = np.where(so_far.whole & (size <= 1 / unit_of(dtype)), 0.0, error + growth * size)
        is_infinite = np.isinf(value) & (error < np.inf)
        overflows = size > float(np.finfo(dtype.numpy.name).max)
        bound = np.where(is_infinite, 0.0, np.where(overflows, np.inf, bound))
        return _unless_nan(value, bound)


FULL_BOUNDS = BoundedArithmetic()
"""Any conforming device of the full profile, any order of sums."""


def unit_of(dtype: DType) -> float:
    """Half an ulp at 1: the relative error of one correct rounding."""
    return 2.0**-8 if dtype == BFLOAT16 else float(np.finfo(dtype.numpy.name).eps) / 2


def _is_representable(value: Array, dtype: DType) -> Array:
    return np.equal(semantics.convert(value, DOUBLE, dtype), value)


def _holds(source: DType, target: DType) -> bool:
    """Whether a cast to a float changes no value."""
    if source.kind is Kind.BOOL or target in (source, DOUBLE):
        return source.kind is Kind.BOOL or source.is_float
    return target == FLOAT and source.is_float and source != DOUBLE


def _unless_nan(value: Array, error: Array) -> Bounded:
    """Infinite error where the value or the error is not a number."""
    unsure = np.isnan(value) | np.isnan(error)
    return Bounded(value, np.where(unsure, np.inf, error))
