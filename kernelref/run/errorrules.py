"""How errors pass through single ops: the analysis under `errorbound`.

An error is None (exact) or a float64 array, 0 where exact and infinite where nothing is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kernelref.ir import semantics
from kernelref.ir.ast import Op
from kernelref.ir.dtype import DOUBLE, DType, Kind
from kernelref.ir.semantics import Array


@dataclass(frozen=True, slots=True, eq=False)
class Bounded:
    """Values (float64 for floats) with an error. While a SUM is folded: sum of |terms|, and steps.

    `whole` says where all terms so far are exact integers.
    """

    value: Array
    error: Array | None = None
    magnitude: Array | None = None
    whole: Array | None = None
    steps: int = 0

    @property
    def bound(self) -> Array:
        """The error as an array."""
        return np.zeros(()) if self.error is None else self.error


def carried(op: Op, operands: Sequence[Bounded], value: Array) -> Array:
    """How far the exact op may move the result when its operands are off by their errors."""
    if all(operand.error is None for operand in operands):
        return np.zeros(())
    a, b = operands[0].value, operands[-1].value
    ea, eb = operands[0].bound, operands[-1].bound
    match op:
        case Op.ADD | Op.SUB:
            return ea + eb
        case Op.MUL:
            return _times(np.abs(a), eb) + _times(np.abs(b), ea) + _times(ea, eb)
        case Op.NEG:
            return ea
        case Op.MAX:
            return np.maximum(ea, eb)
        case Op.DIV:
            nearest = np.abs(b) - eb
            moved = (_times(np.abs(a), eb) + _times(np.abs(b), ea)) / (np.abs(b) * nearest)
            return np.where(nearest > 0, moved, np.inf)
        case Op.RECIP:
            nearest = np.abs(a) - ea
            return np.where(nearest > 0, ea / (np.abs(a) * nearest), np.inf)
        case Op.SQRT:
            return np.where(a >= ea, value - np.sqrt(a - ea), np.inf)
        case Op.EXP2:
            return _times(value, np.expm1(ea * np.log(2)))
        case Op.LOG2:
            return np.where(a > ea, -np.log1p(-ea / a) / np.log(2), np.inf)
        case Op.SIN:
            # What overflowed is infinite on a device, and its sine a NaN.
            return np.where(ea < np.inf, np.minimum(ea, 2.0), np.inf)
    raise AssertionError(f"{op} carries no error")


def _times(size: Array, error: Array) -> Array:
    """size * error, where no error is none; 0 times an infinite one may be NaN on a device."""
    return np.where(error == 0, 0.0, size * error)


def choose(condition: Bounded, then: Bounded, otherwise: Bounded) -> Bounded:
    """WHERE: an unsure condition is off by the distance to the other side."""
    chosen = condition.value != 0
    value = np.where(chosen, then.value, otherwise.value)
    if all(side.error is None for side in (condition, then, otherwise)):
        return Bounded(value)
    own = np.where(chosen, then.bound, otherwise.bound)
    if condition.error is None:
        return Bounded(value, own)
    there = np.where(chosen, otherwise.bound, then.bound) + _distance(then.value, otherwise.value)
    # The other side may be a NaN, which no bound reaches.
    there = np.where(np.isnan(there), np.inf, there)
    return Bounded(value, np.where(condition.error > 0, np.maximum(own, there), own))


def _distance(a: Array, b: Array) -> Array:
    return np.where(a == b, 0.0, np.abs(a.astype(np.float64) - b.astype(np.float64)))


def compare(op: Op, operands: Sequence[Bounded], dtype: DType) -> Bounded:
    """A bool that is unsure (error 1) where the operands' errors reach over each other."""
    a, b = operands
    value = semantics.apply(op, (a.value, b.value), DOUBLE if dtype.is_float else dtype)
    if a.error is None and b.error is None:
        return Bounded(value)
    error = a.bound + b.bound
    is_sure = (error == 0) | (_distance(a.value, b.value) > error)
    return Bounded(value, np.where(is_sure, 0.0, 1.0))


def apply_discrete(op: Op, operands: Sequence[Bounded], dtype: DType) -> Bounded:
    """An op on integers or bools: exact, or within the range that its operands leave."""
    if op is Op.MULACC:
        product = apply_discrete(Op.MUL, operands[:2], dtype)
        return apply_discrete(Op.ADD, (product, operands[2]), dtype)
    values = [operand.value for operand in operands]
    value = semantics.apply(op, values, dtype)
    undefined = semantics.undefined_where(op, values, dtype)
    error = None if undefined is None else np.where(undefined, np.inf, 0.0)
    if all(operand.error is None for operand in operands):
        return Bounded(value, error)
    if dtype.kind is Kind.BOOL:
        moved = np.maximum(operands[0].bound, operands[-1].bound)
    elif op in (Op.ADD, Op.SUB, Op.MUL, Op.NEG, Op.MAX):
        wide = [Bounded(o.value.astype(np.float64), o.error) for o in operands]
        moved = carried(op, wide, value)
    else:
        moved = np.where(operands[0].bound + operands[-1].bound > 0, np.inf, 0.0)
    return in_range(Bounded(value, moved if error is None else np.maximum(moved, error)), dtype)


def in_range(bounded: Bounded, dtype: DType) -> Bounded:
    """An integer whose error reaches beyond its dtype may have wrapped: nothing is known of it."""
    if bounded.error is None or dtype.kind is Kind.BOOL:
        return bounded
    value = bounded.value.astype(np.float64)
    inside = (value - bounded.error >= dtype.lowest) & (value + bounded.error <= dtype.highest)
    return Bounded(bounded.value, np.where(inside | (bounded.error == 0), bounded.error, np.inf))


def to_integer(bounded: Bounded, source: DType, target: DType) -> Bounded:
    """A cast to an integer: truncation may fall either way, and beyond the range it is unknown."""
    carrier = DOUBLE if source.is_float else source
    value = semantics.convert(bounded.value, carrier, target)
    undefined = semantics.conversion_undefined_where(bounded.value, carrier, target)
    if bounded.error is None:
        return Bounded(value, None if undefined is None else np.where(undefined, np.inf, 0.0))
    exact = np.trunc(bounded.value.astype(np.float64))
    low = np.trunc(bounded.value - bounded.error)
    high = np.trunc(bounded.value + bounded.error)
    fits = (low >= target.lowest) & (high <= target.highest)
    reach = np.where(fits, np.maximum(exact - low, high - exact), np.inf)
    if undefined is None:
        reach = np.where(bounded.error == 0, 0.0, reach)
    return Bounded(value, reach)
