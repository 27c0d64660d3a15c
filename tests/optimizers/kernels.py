"""Small ASTs that the optimizer tests share."""

from __future__ import annotations

from kernelref.ir.ast import Alu, Ast, Load, Op, Reduce, ReduceOp, Store
from kernelref.ir.dtype import FLOAT, DType
from kernelref.ir.shapetracker import ShapeTracker
from kernelref.ir.view import View


def tracker(*shape: int, strides: tuple[int, ...] | None = None) -> ShapeTracker:
    return ShapeTracker((View.create(shape, strides),))


def matmul(m: int = 16, n: int = 16, k: int = 16, dtype: DType = FLOAT) -> Ast:
    a = Load(1, dtype, tracker(m, n, k, strides=(k, 0, 1)))
    b = Load(2, dtype, tracker(m, n, k, strides=(0, 1, n)))
    product = Reduce(ReduceOp.SUM, Alu(Op.MUL, (a, b)), (2,))
    return (Store(0, dtype, tracker(m, n, 1), product),)


def elementwise(*shape: int) -> Ast:
    a, b = Load(1, FLOAT, tracker(*shape)), Load(2, FLOAT, tracker(*shape))
    return (Store(0, FLOAT, tracker(*shape), Alu(Op.ADD, (a, b))),)
