"""Expressions: a DAG of ops, casts and reductions over generated leaves.

`Values.value` makes a value of a wanted shape and dtype within a budget of nodes. Nothing that C
leaves undefined can be reached: divisors are not 0, shifts are in range, a float that becomes an
integer fits it (`generate_safe`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kernelref.fuzzing.choose import Chooser
from kernelref.fuzzing.generate_leaves import Leaves
from kernelref.fuzzing.generate_safe import clamped, finite_range, fits
from kernelref.fuzzing.generate_taste import Taste
from kernelref.fuzzing.generate_views import Shape, factors, longest
from kernelref.ir.ast import COMPARES, Alu, Cast, Op, Reduce, ReduceOp, Value
from kernelref.ir.dtype import (
    BFLOAT16,
    BOOL,
    DOUBLE,
    FLOAT,
    HALF,
    INT8,
    INT16,
    INT32,
    INT64,
    UINT8,
    UINT16,
    UINT32,
    UINT64,
    DType,
    Kind,
)
from kernelref.ir.index import Sint

SAME_BITS: tuple[tuple[DType, ...], ...] = (
    (INT8, UINT8), (INT16, UINT16, HALF, BFLOAT16), (INT32, UINT32, FLOAT),
    (INT64, UINT64, DOUBLE),
)  # fmt: skip
"""Dtypes that a bitcast goes between. Bool is not among them: most of its bit patterns are none."""

ROUNDING = frozenset({Op.EXP2, Op.LOG2, Op.SIN, Op.SQRT, Op.RECIP, Op.DIV})
FLOATS_ALONE = frozenset({Op.EXP2, Op.LOG2, Op.SIN, Op.SQRT, Op.RECIP})
INTEGERS_ALONE = frozenset({Op.IDIV, Op.MOD, Op.SHL, Op.SHR, Op.XOR})
NOT_ON_BOOL = frozenset({Op.DIV, Op.IDIV, Op.MOD, Op.SHL, Op.SHR})

MOST_POINTS = 40_000
"""The largest iteration space that a further extent of a reduced axis may lead to."""


@dataclass(frozen=True, slots=True)
class Frame:
    """The iteration space: its extents, and which axes are reduced (extent 1 in the outputs)."""

    extents: Shape
    reduced: frozenset[int]

    @property
    def output(self) -> Shape:
        """The outputs' shape."""
        return tuple(1 if i in self.reduced else n for i, n in enumerate(self.extents))


@dataclass(slots=True)
class Values:
    """Makes values; `reduces` counts those still to be made, `made` is what may be shared."""

    chooser: Chooser
    taste: Taste
    leaves: Leaves
    frame: Frame
    palette: tuple[tuple[DType, int], ...]
    reduces: int
    made: list[Value] = field(default_factory=list)
    points: int = 0

    def value(self, shape: Shape, dtype: DType, budget: int) -> Value:
        """A value of this shape and dtype, of about `budget` nodes."""
        shared = self._shared(shape, dtype)
        if shared is not None:
            return shared
        free = self._reducible(shape)
        if self.reduces and free and (budget <= 1 or self.chooser.chance(28)):
            made: Value = self.reduction(shape, dtype, budget - 1, free)
        elif budget <= 1:
            made = self.leaves.leaf(shape, dtype)
        elif self.chooser.chance(40 if self.leaves.image is not None else 20):
            made = self.cast(shape, dtype, budget - 1)
        else:
            made = self.alu(shape, dtype, budget - 1)
        self.made.append(made)
        return made

    def _shared(self, shape: Shape, dtype: DType) -> Value | None:
        """A value that something else reads already."""
        if not self.made or not self.chooser.chance(self.taste.shared):
            return None
        fitting = [v for v in self.made if v.shape == shape and v.dtype.value == dtype.value]
        return self.chooser.choice(fitting) if fitting else None

    def _reducible(self, shape: Shape) -> list[int]:
        return [axis for axis in sorted(self.frame.reduced) if shape[axis] == 1]

    def reduction(self, shape: Shape, dtype: DType, budget: int, free: Sequence[int]) -> Reduce:
        """SUM or MAX over some of the axes that are free."""
        self.reduces -= 1
        chooser = self.chooser
        is_last = self.reduces == 0
        axes = chooser.subset(free, 85 if is_last else 60, at_least=1)
        inner = list(shape)
        for axis in axes:
            inner[axis] = self._summed(axis)
        op = chooser.weighted(((ReduceOp.SUM, 70), (ReduceOp.MAX, 30)))
        budget = max(budget, chooser.integer(1, 4))
        if op is ReduceOp.SUM and dtype.value != BOOL and chooser.chance(self.taste.product):
            return Reduce(op, self.product(tuple(inner), dtype, axes), tuple(axes))
        return Reduce(op, self.value(tuple(inner), dtype, budget), tuple(axes))

    def _summed(self, axis: int) -> Sint:
        """The extent that a reduction sums over: mostly the frame's, now and then another."""
        whole, chooser = self.frame.extents[axis], self.chooser
        if not isinstance(whole, int) or not chooser.chance(2 * self.taste.oddities):
            return whole
        other = chooser.choice((1, 2, 3, 5, *factors(whole), whole + 1))
        self.points = self.points or math.prod(longest(self.frame.extents))
        if self.points * other > MOST_POINTS:
            return 1
        self.points *= other
        return other

    def product(self, shape: Shape, dtype: DType, axes: Sequence[int]) -> Value:
        """Two loads multiplied, each repeated along axes of its own, as in a matrix product."""
        chooser = self.chooser
        kept = [axis for axis, n in enumerate(shape) if n != 1 and axis not in axes]
        owners = {axis: chooser.integer(0, 2) for axis in kept}
        source = dtype.value
        if dtype.value.is_float and chooser.chance(25):
            source = chooser.choice((HALF, BFLOAT16, FLOAT))
        return self.multiplied(shape, source, dtype, owners)

    def multiplied(
        self, shape: Shape, source: DType, dtype: DType, owners: Mapping[int, int]
    ) -> Value:
        """A product of two loads of `source`, as `dtype`.

        `owners[axis]` names the one operand, 1 or 2, that varies along an axis; 0: both do.
        """
        operands: list[Value] = []
        for side in (1, 2):
            gone = {axis for axis, owner in owners.items() if owner not in (0, side)}
            narrow = tuple(1 if axis in gone else n for axis, n in enumerate(shape))
            load = self.leaves.load(narrow, source, spread=5)
            operands.append(type(load)(load.buffer, load.dtype, load.st.expand(shape)))
        return self.converted(Alu(Op.MUL, tuple(operands)), dtype)

    def matmul(self, source: DType, dtype: DType) -> Value:
        """The matrix product over the frame's last three axes, as ones before it are batches."""
        shape = self.frame.extents
        last = len(shape) - 1
        made = self.multiplied(shape, source, dtype, {last - 2: 1, last - 1: 2})
        return Reduce(ReduceOp.SUM, made, (last,))

    def epilogue(self, value: Value) -> Value:
        """One more op on a finished value: a bias, a factor, a ReLU."""
        op = self.chooser.choice((Op.MAX, Op.ADD, Op.MUL))
        if op is Op.MAX:
            return Alu(op, (value, self.leaves.plain(0.0, value.shape, value.dtype)))
        return Alu(op, (value, self.leaves.leaf(value.shape, value.dtype)))

    def converted(self, value: Value, dtype: DType) -> Value:
        """A cast where one is needed."""
        return value if value.dtype.value == dtype.value else Cast(value, dtype)

    def cast(self, shape: Shape, dtype: DType, budget: int) -> Value:
        """A cast to `dtype`, or a bitcast from one of its width."""
        chooser = self.chooser
        if self.leaves.image is not None and dtype == FLOAT and chooser.chance(60):
            source = chooser.weighted(self.palette)
            return Cast(self.value(shape, source, budget), self.leaves.image)
        widths = [group for group in SAME_BITS if dtype in group]
        if widths and chooser.chance(25):
            source = chooser.choice([other for other in widths[0] if other != dtype])
            return Cast(self.value(shape, source, budget), dtype, bitcast=True)
        source = self._dtype() if chooser.chance(60) else chooser.choice(list(self.taste.dtypes))
        value = self.value(shape, source, budget)
        if value.dtype == dtype:
            return value
        return Cast(self._integral(value, dtype), dtype)

    def _integral(self, value: Value, dtype: DType) -> Value:
        """`value`, or what is made of it so that it fits an integer dtype."""
        if not (value.dtype.value.is_float and dtype.is_int) or fits(value, dtype):
            return value
        if finite_range(value) is not None:
            return clamped(self.leaves, value, dtype)
        return Alu(Op.CMPLT, (value, self.leaves.plain(1.0, value.shape, value.dtype.value)))

    def _dtype(self) -> DType:
        return self.chooser.weighted(self.palette)

    def alu(self, shape: Shape, dtype: DType, budget: int) -> Value:
        """An op that gives `dtype`, with operands that it is defined on."""
        op = self.chooser.weighted(self._ops(dtype))
        if op in COMPARES:
            source = self._dtype()
            return Alu(op, self._operands(op, shape, source, budget))
        return Alu(op, self._operands(op, shape, dtype, budget))

    def _ops(self, dtype: DType) -> list[tuple[Op, int]]:
        return [(op, weight) for op, weight in self.taste.ops.items() if self._is_open(op, dtype)]

    def _is_open(self, op: Op, dtype: DType) -> bool:
        """Whether `op` can give `dtype` in this kernel."""
        if op in COMPARES:
            return dtype == BOOL
        if dtype.value.is_float:
            return op not in INTEGERS_ALONE and not (self.leaves.is_exact and op in ROUNDING)
        if op in FLOATS_ALONE:
            return False
        return dtype.kind is not Kind.BOOL or op not in NOT_ON_BOOL

    def _operands(self, op: Op, shape: Shape, dtype: DType, budget: int) -> tuple[Value, ...]:
        """The sources of one op."""
        shares = self._split(budget, op.arity)
        match op:
            case Op.WHERE:
                condition = self.value(shape, BOOL, shares[0])
                return (condition, *(self.value(shape, dtype, n) for n in shares[1:]))
            case Op.IDIV | Op.MOD | Op.DIV if dtype.is_int:
                return self.value(shape, dtype, shares[0]), self._divisor(shape, dtype, shares[1])
            case Op.SHL | Op.SHR:
                return self.value(shape, dtype, shares[0]), self._amount(shape, dtype, shares[1])
            case Op.DIV:
                divisor = self._at_least(shape, dtype, shares[1], 0.5)
                return self.value(shape, dtype, shares[0]), divisor
            case Op.RECIP | Op.LOG2:
                return (self._at_least(shape, dtype, shares[0], 0.25),)
            case Op.SQRT:
                return (self._at_least(shape, dtype, shares[0], 0.0),)
            case Op.EXP2:
                return (self._small(shape, dtype, shares[0]),)
            case _:
                return tuple(self.value(shape, dtype, n) for n in shares)

    def _split(self, budget: int, parts: int) -> list[int]:
        """A budget cut into parts of at least 1."""
        rest = max(budget - parts, 0)
        shares: list[int] = []
        for left in range(parts - 1, 0, -1):
            share = self.chooser.integer(0, rest) if left else rest
            shares.append(1 + share)
            rest -= share
        return [*shares, 1 + rest]

    def _divisor(self, shape: Shape, dtype: DType, budget: int) -> Value:
        """An integer that is never 0, nor -1, which the lowest value overflows by."""
        chooser, plain = self.chooser, self.leaves.plain
        if chooser.chance(65):
            values = (2, 3, 4, 5, 7, 8, 10, 16, 1, 100)
            value = chooser.choice(values)
            is_negative = dtype.kind is Kind.SIGNED and value > 1 and chooser.chance(20)
            return plain(-value if is_negative else value, shape, dtype)
        low = plain(chooser.choice((1, 2, 5)), shape, dtype)
        return Alu(Op.MAX, (self.value(shape, dtype, budget), low))

    def _amount(self, shape: Shape, dtype: DType, budget: int) -> Value:
        """A shift by 0 up to the width less 1."""
        chooser, plain = self.chooser, self.leaves.plain
        if chooser.chance(65):
            return plain(chooser.choice((1, 0, 2, 3, dtype.bits - 1)), shape, dtype)
        value = self.value(shape, dtype, budget)
        if dtype.kind is Kind.SIGNED:
            value = Alu(Op.MAX, (value, plain(0, shape, dtype)))
        return Alu(Op.MOD, (value, plain(dtype.bits, shape, dtype)))

    def _at_least(self, shape: Shape, dtype: DType, budget: int, low: float) -> Value:
        """A float that is mostly no less than `low`: a pole is defined, but says nothing."""
        value = self.value(shape, dtype, budget)
        if self.chooser.chance(65):
            return value
        return Alu(Op.MAX, (value, self.leaves.plain(low, shape, dtype)))

    def _small(self, shape: Shape, dtype: DType, budget: int) -> Value:
        """A float whose power of 2 the dtype holds."""
        value = self.value(shape, dtype, budget)
        most = 15 if dtype.storage == HALF else 100
        found = finite_range(value)
        if found is None:
            return self.leaves.load(shape, dtype)
        if found.size <= most:
            return value
        factor = 2.0 ** -math.ceil(math.log2(found.size / most))
        return Alu(Op.MUL, (value, self.leaves.plain(factor, shape, dtype)))
