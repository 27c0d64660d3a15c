"""Small random ASTs for tests: views with masks, flips and several levels, reduces of all kinds."""

from __future__ import annotations

import math
import random

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
)
from kernelref.ir.dtype import BOOL, FLOAT, HALF, INT8, INT32, UINT16, DType
from kernelref.ir.shapetracker import ShapeTracker
from kernelref.ir.verify import verify

DTYPES = (FLOAT, FLOAT, INT32, INT8, UINT16, HALF, BOOL)
BINARY = (Op.ADD, Op.MUL, Op.MAX, Op.SUB)


class RandomAst:
    """Makes ASTs; nodes are reused, so that they are DAGs."""

    def __init__(
        self, seed: int, dtypes: tuple[DType, ...] = DTYPES, functions: tuple[Op, ...] = ()
    ) -> None:
        self.random = random.Random(seed)
        self.functions = functions
        self.dtypes = dtypes
        self.made: list[Value] = []
        self.buffers: dict[int, DType] = {}

    def make(self) -> Ast:
        """One kernel with one or two outputs."""
        draw = self.random
        full = tuple(draw.choice((1, 2, 3, 4)) for _ in range(draw.randint(1, 4)))
        reduced = [i for i in range(len(full)) if draw.random() < 0.4]
        shape = tuple(1 if i in reduced else n for i, n in enumerate(full))
        outputs = draw.choice((1, 1, 2))
        self.buffers = {i: draw.choice(self.dtypes) for i in range(outputs)}
        stores = []
        for i in range(outputs):
            value = self.value(shape, full, self.buffers[i], draw.randint(1, 4))
            stores.append(Store(i, self.buffers[i], self.place(shape), value))
        return verify(tuple(stores))

    def value(
        self, shape: tuple[int, ...], full: tuple[int, ...], dtype: DType, depth: int
    ) -> Value:
        """A value of a shape; axes where `full` is larger may be reduced."""
        draw = self.random
        known = [n for n in self.made if n.shape == shape and n.dtype == dtype]
        if known and draw.random() < 0.3:
            return draw.choice(known)
        node = self.fresh(shape, full, dtype, depth)
        self.made.append(node)
        return node

    def fresh(
        self, shape: tuple[int, ...], full: tuple[int, ...], dtype: DType, depth: int
    ) -> Value:
        draw = self.random
        open_axes = [i for i, (n, m) in enumerate(zip(shape, full, strict=True)) if n != m]
        if open_axes and (depth <= 1 or draw.random() < 0.5):
            axes = tuple(sorted(draw.sample(open_axes, draw.randint(1, len(open_axes)))))
            inner = tuple(full[i] if i in axes else n for i, n in enumerate(shape))
            op = draw.choice(tuple(ReduceOp))
            return Reduce(op, self.value(inner, full, dtype, depth - 1), axes)
        if depth <= 0:
            return self.leaf(shape, dtype)
        kind = draw.random()
        if kind < 0.15:
            source = draw.choice([d for d in self.dtypes if not (d.is_float and dtype.is_int)])
            return Cast(self.value(shape, full, source, depth - 1), dtype)
        if kind < 0.3:
            condition = self.value(shape, full, BOOL, depth - 1)
            sides = [self.value(shape, full, dtype, depth - 1) for _ in range(2)]
            return Alu(Op.WHERE, (condition, *sides))
        if dtype == BOOL:
            source = draw.choice(self.dtypes)
            op = draw.choice(sorted(COMPARES, key=lambda op: op.name))
            return Alu(op, tuple(self.value(shape, full, source, depth - 1) for _ in range(2)))
        if dtype.is_float and self.functions and kind < 0.55:
            op = draw.choice(self.functions)
            sides = [self.value(shape, full, dtype, depth - 1) for _ in range(op.arity)]
            return Alu(op, tuple(sides))
        if kind < 0.6:
            return Alu(Op.NEG, (self.value(shape, full, dtype, depth - 1),))
        sides = [self.value(shape, full, dtype, depth - 1) for _ in range(2)]
        return Alu(draw.choice(BINARY), (sides[0], sides[1]))

    def leaf(self, shape: tuple[int, ...], dtype: DType) -> Value:
        draw = self.random
        if draw.random() < 0.2:
            number = draw.choice((0, 1, 2, 3))
            value = bool(number) if dtype == BOOL else float(number) if dtype.is_float else number
            return Constant(value, dtype, self.view(shape))
        same = [b for b, d in self.buffers.items() if d == dtype]
        if same and draw.random() < 0.4:
            return Load(draw.choice(same), dtype, self.view(shape))
        buffer = len(self.buffers)
        self.buffers[buffer] = dtype
        return Load(buffer, dtype, self.view(shape))

    def view(self, shape: tuple[int, ...]) -> ShapeTracker:
        """Some arrangement of a buffer: broadcast, padded, flipped, permuted, reshaped."""
        draw = self.random
        if draw.random() < 0.25:
            total = math.prod(shape)
            before = draw.randint(0, min(2, total - 1))
            st = ShapeTracker.from_shape((total - before,)).pad(((before, 0),))
            return st.reshape(shape[::-1]).permute(tuple(reversed(range(len(shape)))))
        base, padding = [], []
        for extent in shape:
            pad = draw.choice((0, 0, 0, 1)) if extent > 1 else 0
            before = draw.randint(0, pad)
            base.append(extent - pad)
            padding.append((before, pad - before))
        small = tuple(1 if draw.random() < 0.25 else n for n in base)
        st = ShapeTracker.from_shape(small)
        st = st.stride(tuple(draw.choice((1, 1, -1)) for _ in small))
        return st.expand(tuple(base)).pad(tuple(padding))

    def place(self, shape: tuple[int, ...]) -> ShapeTracker:
        """Where an output's points go: row-major, or with axes swapped."""
        if self.random.random() < 0.7:
            return ShapeTracker.from_shape(shape)
        order = tuple(reversed(range(len(shape))))
        return ShapeTracker.from_shape(shape[::-1]).permute(order)
