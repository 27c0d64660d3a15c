"""What an AST means, told a second time: one point, one Python number at a time, by recursion.

No numpy arithmetic but numpy scalars of float32 and float16, no chunks, no sharing. For small
kernels of bool, int, float and half without sums that depend on anything but order.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from kernelref.ir.ast import Alu, Ast, Cast, Constant, Load, Op, Reduce, ReduceOp, Value
from kernelref.ir.dtype import DType, Kind
from kernelref.ir.index import Expr, evaluate
from kernelref.ir.shapetracker import ShapeTracker

Number = Any


def stored(
    ast: Ast, inputs: Mapping[int, Any], output: int, variables: Mapping[str, int]
) -> list[Number]:
    """The value at every point of an output's shape, row-major."""
    store = ast[output]
    shape = [evaluate(n, variables) for n in store.shape]
    return [
        at(store.value, point, inputs, variables)
        for point in itertools.product(*(range(n) for n in shape))
    ]


def at(
    node: Value, point: Sequence[int], inputs: Mapping[int, Any], variables: Mapping[str, int]
) -> Number:
    """The value of a node at a point of its shape."""
    match node:
        case Load(buffer=buffer, dtype=dtype, st=st):
            address = place(st, point, variables)
            return held(0 if address is None else inputs[buffer][address].item(), dtype)
        case Constant(value=value, dtype=dtype, st=st):
            known = evaluate(value, variables) if isinstance(value, Expr) else value
            return held(0 if place(st, point, variables) is None else known, dtype)
        case Cast(value=value, dtype=dtype):
            return held(at(value, point, inputs, variables), dtype)
        case Reduce(op=op, value=value, axes=axes, dtype=dtype):
            total = held(0, dtype) if op is ReduceOp.SUM else lowest(dtype)
            shape = [evaluate(n, variables) for n in value.shape]
            for steps in itertools.product(*(range(shape[a]) for a in axes)):
                inner = list(point)
                for axis, step in zip(axes, steps, strict=True):
                    inner[axis] = step
                term = at(value, inner, inputs, variables)
                total = held(total + term, dtype) if op is ReduceOp.SUM else max(total, term)
            return total
        case Alu(op=op, src=src):
            values = [at(source, point, inputs, variables) for source in src]
            return compute(op, values, src[1 if op is Op.WHERE else 0].dtype)
    raise AssertionError(node)


def place(st: ShapeTracker, point: Sequence[int], variables: Mapping[str, int]) -> int | None:
    """The address of a point, or None outside a mask: the views, one after the other."""
    coordinates, address = list(point), 0
    for i, view in enumerate(reversed(st.bind(variables).views)):
        if i:
            coordinates = []
            for extent in reversed(view.shape):
                address, digit = divmod(address, extent)
                coordinates.insert(0, digit)
        for c, (begin, end) in zip(coordinates, view.mask or (), strict=False):
            if not begin <= c < end:
                return None
        address = view.offset + sum(c * s for c, s in zip(coordinates, view.strides, strict=True))
    return address


def lowest(dtype: DType) -> Number:
    return held(dtype.lowest, dtype)


def held(value: Number, dtype: DType) -> Number:
    """A Python or numpy number as a dtype holds it."""
    match dtype.kind:
        case Kind.BOOL:
            return bool(value != 0)
        case Kind.FLOAT:
            return dtype.numpy.type(value)
    whole = int(value) % (1 << dtype.bits)
    return whole - (1 << dtype.bits) if whole > dtype.highest else whole


def compute(op: Op, values: list[Number], dtype: DType) -> Number:
    a, b = values[0], values[-1]
    match op:
        case Op.ADD:
            return held(int(a) + int(b) if not dtype.is_float else a + b, dtype)
        case Op.SUB:
            return held(int(a) - int(b) if not dtype.is_float else a - b, dtype)
        case Op.MUL:
            return held(int(a) * int(b) if not dtype.is_float else a * b, dtype)
        case Op.NEG:
            return (not a) if dtype.kind is Kind.BOOL else held(-a, dtype)
        case Op.MAX:
            return max(a, b)
        case Op.XOR:
            return held(int(a) ^ int(b), dtype)
        case Op.CMPLT:
            return bool(a < b)
        case Op.CMPEQ:
            return bool(a == b)
        case Op.CMPNE:
            return bool(a != b)
        case Op.WHERE:
            return values[1] if a else values[2]
        case Op.IDIV | Op.MOD:
            quotient = abs(int(a)) // abs(int(b)) * (1 if (a < 0) == (b < 0) else -1)
            return held(quotient if op is Op.IDIV else int(a) - quotient * int(b), dtype)
    raise AssertionError(op)
