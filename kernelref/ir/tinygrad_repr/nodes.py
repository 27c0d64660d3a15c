"""What a LazyOp becomes: its op, its sources and its argument as one AST node."""

from __future__ import annotations

from dataclasses import dataclass

from kernelref.errors import InvalidInput
from kernelref.ir.ast import Alu, Cast, Constant, Load, Op, Reduce, ReduceOp, Store, Value
from kernelref.ir.dtype import DType
from kernelref.ir.index import Expr, Sint
from kernelref.ir.shapetracker import ShapeTracker
from kernelref.ir.tinygrad_repr.arguments import Arguments, Word, shown, sints, typed


@dataclass(frozen=True, slots=True)
class Memory:
    """The argument of a LOAD or STORE."""

    buffer: int
    dtype: DType
    st: ShapeTracker


@dataclass(frozen=True, slots=True)
class ConstantValue:
    """The argument of a CONST."""

    value: bool | int | float | Expr
    dtype: DType
    st: ShapeTracker


_FAMILIES = {1: "UnaryOps", 2: "BinaryOps", 3: "TernaryOps"}

ARITY: dict[Word, int] = {
    Word("BufferOps", "LOAD"): 0,
    Word("BufferOps", "CONST"): 0,
    Word("BufferOps", "STORE"): 1,
    Word("UnaryOps", "CAST"): 1,
    Word("UnaryOps", "BITCAST"): 1,
    **{Word("ReduceOps", op.name): 1 for op in ReduceOp},
    **{Word(_FAMILIES[op.arity], op.name): op.arity for op in Op},
}


def memory(arguments: Arguments) -> Memory:
    """MemBuffer(idx, dtype, st)."""
    idx, dtype, st = arguments.named("idx", "dtype", "st")
    return Memory(
        typed(idx, int, "idx"), typed(dtype, DType, "dtype"), typed(st, ShapeTracker, "st")
    )


def constant_value(arguments: Arguments) -> ConstantValue:
    """ConstBuffer(val, dtype, st)."""
    val, dtype, st = arguments.named("val", "dtype", "st")
    if not isinstance(val, bool | int | float | Expr):
        raise InvalidInput(f"val is {shown(val)}, not a number")
    return ConstantValue(val, typed(dtype, DType, "dtype"), typed(st, ShapeTracker, "st"))


def lazyop(arguments: Arguments) -> Store | Value:
    """LazyOp(op, src, arg)."""
    op, src, arg = arguments.named("op", "src", "arg")
    word, sources = typed(op, Word, "op"), typed(src, tuple, "src")
    for source in sources:
        if not isinstance(source, Load | Constant | Alu | Cast | Reduce):
            raise InvalidInput(f"src holds {shown(source)}, not a value")
    if word not in ARITY:
        raise InvalidInput(f"op is {word}, not an op")
    if len(sources) != ARITY[word]:
        raise InvalidInput(f"{word} has {len(sources)} sources, not {ARITY[word]}")
    match word.family, word.name:
        case "BufferOps", "CONST":
            constant = typed(arg, ConstantValue, "arg")
            return Constant(constant.value, constant.dtype, constant.st)
        case "BufferOps", name:
            place = typed(arg, Memory, "arg")
            if name == "LOAD":
                return Load(place.buffer, place.dtype, place.st)
            return Store(place.buffer, place.dtype, place.st, sources[0])
        case "ReduceOps", name:
            return Reduce(ReduceOp[name], sources[0], _reduced_axes(arg, sources[0].shape))
        case "UnaryOps", "CAST":
            return _cast(sources[0], arg)
        case "UnaryOps", "BITCAST":
            return Cast(sources[0], typed(arg, DType, "arg"), bitcast=True)
    if arg is not None:
        raise InvalidInput(f"arg of {word} is {shown(arg)}, not None")
    return Alu(Op[word.name], sources)


def _cast(source: Value, arg: object) -> Cast:
    """0.8.0 writes (dtype, bitcast), the later releases the dtype alone."""
    if not isinstance(arg, tuple):
        return Cast(source, typed(arg, DType, "arg"))
    if len(arg) != 2:
        raise InvalidInput("arg of CAST is not a pair (dtype, bitcast)")
    return Cast(source, typed(arg[0], DType, "arg"), bitcast=typed(arg[1], bool, "arg"))


def _reduced_axes(arg: object, shape: tuple[Sint, ...]) -> tuple[int, ...]:
    """The axes: later releases write them, 0.8.0 the shape after.

    A tuple as long as the shape that names all axes has a 0 in it, and no extent is 0, so the two
    spellings never coincide.
    """
    given = sints(arg, "arg")
    if given and len(given) == len(shape) and 0 not in given:
        for i, (before, after) in enumerate(zip(shape, given, strict=True)):
            if after not in (1, before):
                raise InvalidInput(f"a reduce makes extent {before} of axis {i} into {after}")
        return tuple(i for i, (n, m) in enumerate(zip(shape, given, strict=True)) if n != m)
    axes = tuple(typed(axis, int, "arg") for axis in given)
    if len(set(axes)) != len(axes) or not all(0 <= axis < len(shape) for axis in axes):
        raise InvalidInput(f"arg {axes} does not name axes of {len(shape)} dims")
    return axes
