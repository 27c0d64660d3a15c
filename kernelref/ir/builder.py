"""ASTs that read like tensor code, for seeds, tests and anyone who tries a kernel.

    x, w = buffer(1, (64, 32)), buffer(2, (32, 48))
    ast = kernel((x @ w).maximum(0.0))

A `Tensor` is a value under construction: movement goes down to its loads and constants, as a
scheduler would push it, and a reduction keeps its axes with extent 1. What one kernel cannot say
(reading a reduced value at another shape, padding what is not 0 at 0) is refused.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from kernelref.errors import InvalidInput
from kernelref.ir.ast import Alu, Ast, Cast, Constant, Load, Op, Reduce, ReduceOp, Store, Value
from kernelref.ir.dtype import FLOAT, DType
from kernelref.ir.index import Expr, Sint
from kernelref.ir.movement import expanded, padded, permuted, reshaped, shrunk, simplified, stepped
from kernelref.ir.shapetracker import ShapeTracker
from kernelref.ir.verify import verify

Shape: TypeAlias = tuple[Sint, ...]
Operand: TypeAlias = "Tensor | bool | int | float"


def buffer(number: int, shape: Shape, dtype: DType = FLOAT) -> Tensor:
    """The elements of an input buffer, row-major."""
    return Tensor(Load(number, dtype, ShapeTracker.from_shape(shape)))


def constant(value: bool | int | float | Expr, shape: Shape, dtype: DType = FLOAT) -> Tensor:
    """One value at every point of `shape`."""
    scalar = Tensor(Constant(value, dtype, ShapeTracker.from_shape(())))
    return scalar.reshape((1,) * len(shape)).expand(shape)


def kernel(*outputs: Tensor, places: Mapping[int, ShapeTracker] | None = None) -> Ast:
    """The AST that stores each output to buffer 0, 1, ...

    Each is row-major in its buffer unless `places` says where its points go.
    Raises: InvalidInput when the outputs do not make one kernel.
    """
    given = places or {}
    stores = []
    for number, output in enumerate(outputs):
        st = given.get(number) or ShapeTracker.from_shape(output.shape)
        stores.append(Store(number, output.dtype, st, simplified(output.node)))
    return verify(tuple(stores))


@dataclass(frozen=True, slots=True)
class Tensor:
    """A value with a shape. Operators broadcast as numpy's do."""

    node: Value

    @property
    def shape(self) -> Shape:
        """The extents; a reduced axis has extent 1."""
        return self.node.shape

    @property
    def dtype(self) -> DType:
        """The dtype of its elements."""
        return self.node.dtype

    def reshape(self, shape: Shape) -> Tensor:
        """Other extents over the same points in the same order."""
        return self if shape == self.shape else Tensor(reshaped(self.node, shape))

    def permute(self, *order: int) -> Tensor:
        """Axis i of the result is axis order[i]."""
        return Tensor(permuted(self.node, order))

    def expand(self, shape: Shape) -> Tensor:
        """Repeat axes of extent 1."""
        return self if shape == self.shape else Tensor(expanded(self.node, shape))

    def pad(self, padding: Sequence[tuple[Sint, Sint]]) -> Tensor:
        """Add zeros before and after on each axis."""
        return Tensor(padded(self.node, tuple(padding)))

    def shrink(self, ranges: Sequence[tuple[Sint, Sint]]) -> Tensor:
        """Keep the points in [begin, end) of each axis."""
        return Tensor(shrunk(self.node, tuple(ranges)))

    def stride(self, *steps: int) -> Tensor:
        """Keep every |step|-th point of each axis, from the end where negative."""
        return Tensor(stepped(self.node, steps))

    def flip(self, *axes: int) -> Tensor:
        """Reverse axes."""
        return self.stride(*(-1 if axis in axes else 1 for axis in range(len(self.shape))))

    def windows(self, extent: int, step: int = 1) -> Tensor:
        """Sliding windows along the last axis.

        Shapes: (..., n) -> (..., (n - extent) // step + 1, extent), with
        result[..., y, k] = self[..., y * step + k].
        """
        *outer, n = self.shape
        if not isinstance(n, int) or not 1 <= extent <= n or step < 1:
            raise InvalidInput(f"no windows of {extent} by {step} in {n} points")
        count = (n - extent) // step + 1
        dims = len(outer)
        # Copies of the axis end to end, cut into rows of n + 1: row k begins at point k.
        copies = math.ceil(extent * (n + 1) / n)
        rows = self.reshape((*outer, 1, n)).expand((*outer, copies, n))
        rows = rows.reshape((*outer, copies * n))._first(extent * (n + 1))
        rows = rows.reshape((*outer, extent, n + 1))._first((count - 1) * step + 1)
        return rows.stride(*(1,) * dims, 1, step).permute(*range(dims), dims + 1, dims)

    def _first(self, count: int) -> Tensor:
        *outer, _ = self.shape
        return self.shrink([*((0, n) for n in outer), (0, count)])

    def cast(self, dtype: DType) -> Tensor:
        """The values converted."""
        return self if dtype == self.dtype else Tensor(Cast(self.node, dtype))

    def bitcast(self, dtype: DType) -> Tensor:
        """The bits as another dtype of the same size."""
        return Tensor(Cast(self.node, dtype, bitcast=True))

    def sum(self, *axes: int) -> Tensor:
        """The sum over axes (all of them when none is named)."""
        return self._reduced(ReduceOp.SUM, axes)

    def max(self, *axes: int) -> Tensor:
        """The maximum over axes (all of them when none is named)."""
        return self._reduced(ReduceOp.MAX, axes)

    def mean(self, *axes: int) -> Tensor:
        """The mean over axes of known extents."""
        count = 1
        for axis in axes or range(len(self.shape)):
            extent = self.shape[axis]
            if not isinstance(extent, int):
                raise InvalidInput(f"a mean over the symbolic extent {extent}")
            count *= extent
        return self.sum(*axes) * (1.0 / count)

    def _reduced(self, op: ReduceOp, axes: tuple[int, ...]) -> Tensor:
        dims = len(self.shape)
        chosen = tuple(sorted(axis % dims for axis in axes)) if axes else tuple(range(dims))
        return Tensor(Reduce(op, self.node, chosen))

    def exp2(self) -> Tensor:
        """2 to the power of each value."""
        return self.apply(Op.EXP2)

    def exp(self) -> Tensor:
        """e to the power of each value, as the releases compute it: exp2(x * log2(e))."""
        return (self * math.log2(math.e)).exp2()

    def log(self) -> Tensor:
        """The natural logarithm, as the releases compute it: log2(x) * ln(2)."""
        return self.apply(Op.LOG2) * math.log(2)

    def sin(self) -> Tensor:
        """The sine."""
        return self.apply(Op.SIN)

    def sqrt(self) -> Tensor:
        """The square root."""
        return self.apply(Op.SQRT)

    def reciprocal(self) -> Tensor:
        """1 over each value."""
        return self.apply(Op.RECIP)

    def maximum(self, other: Operand) -> Tensor:
        """The larger of two values."""
        return self.apply(Op.MAX, other)

    def relu(self) -> Tensor:
        """The larger of each value and 0."""
        return self.maximum(0.0 if self.dtype.is_float else 0)

    def sigmoid(self) -> Tensor:
        """1 / (1 + exp(-x))."""
        return ((-self).exp() + 1.0).reciprocal()

    def equal(self, other: Operand) -> Tensor:
        """Whether two values are equal, as 0.9.1 says it: not (a != b)."""
        return self.differs(other).differs(True)

    def differs(self, other: Operand) -> Tensor:
        """Whether two values differ."""
        return self.apply(Op.CMPNE, other)

    def where(self, yes: Operand, no: Operand) -> Tensor:
        """`yes` where this is true, `no` where not; at least one of them is a Tensor."""
        model = yes if isinstance(yes, Tensor) else no
        if not isinstance(model, Tensor):
            raise InvalidInput("a choice between two plain numbers has no dtype")
        return self.apply(Op.WHERE, _like(yes, model), _like(no, model))

    def apply(self, op: Op, *others: Operand) -> Tensor:
        """Any element-wise op, this value first."""
        operands = [self, *(_like(other, self) for other in others)]
        return Tensor(Alu(op, tuple(operand.node for operand in _broadcast(operands))))

    def __add__(self, other: Operand) -> Tensor:
        return self.apply(Op.ADD, other)

    def __radd__(self, other: Operand) -> Tensor:
        return _like(other, self) + self

    def __mul__(self, other: Operand) -> Tensor:
        return self.apply(Op.MUL, other)

    def __rmul__(self, other: Operand) -> Tensor:
        return _like(other, self) * self

    def __neg__(self) -> Tensor:
        return self.apply(Op.NEG)

    def __sub__(self, other: Operand) -> Tensor:
        return self + -_like(other, self)

    def __rsub__(self, other: Operand) -> Tensor:
        return _like(other, self) + -self

    def __truediv__(self, other: Operand) -> Tensor:
        return self * _like(other, self).reciprocal()

    def __floordiv__(self, other: Operand) -> Tensor:
        return self.apply(Op.IDIV, other)

    def __mod__(self, other: Operand) -> Tensor:
        return self.apply(Op.MOD, other)

    def __xor__(self, other: Operand) -> Tensor:
        return self.apply(Op.XOR, other)

    def __lt__(self, other: Operand) -> Tensor:
        return self.apply(Op.CMPLT, other)

    def __gt__(self, other: Operand) -> Tensor:
        return _like(other, self) < self

    def __matmul__(self, other: Tensor) -> Tensor:
        """(..., n, k) @ (..., k, m), as one multiply and one sum.

        Shapes: the result is (..., n, m, 1), since a reduced axis stays.
        """
        left = self.reshape((*self.shape[:-1], 1, self.shape[-1]))
        swapped = (*range(len(other.shape) - 2), len(other.shape) - 1, len(other.shape) - 2)
        right = other.permute(*swapped)
        right = right.reshape((*right.shape[:-2], 1, *right.shape[-2:]))
        return (left * right).sum(-1)


def _like(operand: Operand, model: Tensor) -> Tensor:
    """A plain number as a constant of the model's dtype (a float constant is a float)."""
    if isinstance(operand, Tensor):
        return operand
    if model.dtype.is_float:
        operand = float(operand)
    elif isinstance(operand, float):
        raise InvalidInput(f"{operand} among values of dtype {model.dtype}")
    return constant(operand, (1,) * len(model.shape), model.dtype)


def _broadcast(operands: Sequence[Tensor]) -> list[Tensor]:
    """All operands at one shape: leading axes of extent 1 added, axes of extent 1 repeated."""
    dims = max(len(operand.shape) for operand in operands)
    aligned = [
        operand.reshape((1,) * (dims - len(operand.shape)) + operand.shape) for operand in operands
    ]
    shape = []
    for axis in range(dims):
        extents = {operand.shape[axis] for operand in aligned} - {1}
        if len(extents) > 1:
            shapes = " and ".join(str(tuple(map(str, operand.shape))) for operand in operands)
            raise InvalidInput(f"shapes {shapes} do not broadcast")
        shape.append(extents.pop() if extents else 1)
    return [operand.expand(tuple(shape)) for operand in aligned]
