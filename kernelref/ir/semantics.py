"""What one op does to numpy values of one dtype: C's arithmetic, and nothing about schedules.

Read `apply` first, then `undefined_where`. The oracle, the interpreter and PADTO's check use this
page; the prover and the rendered text have their own meaning of each op, on purpose.

Values are numpy arrays of `dtype.numpy`. Integers wrap at their own width (C would compute 8 and 16
bits in int; a store would wrap them all the same). Half rounds after each op; bfloat16 is carried
in float32 and rounded to bfloat16 after each op. On bool, ADD is or, MUL is and, SUB is xor, NEG is
not. MAX of a NaN is NaN, so that no order of operands shows. EXP2, LOG2, SIN and SQRT are defined
on floats only: what the releases render for an int (`exp2(int)`) is ambiguous in OpenCL C and does
not build. Callers silence numpy's warnings (`quiet`); infinities and wrapped integers are values.

Source: C17 6.3.1, 6.5; OpenCL C 3.0 section 6; tinygrad 0.8.0, 0.9.0, 0.9.1 renderer/cstyle.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from kernelref.errors import Unsupported
from kernelref.ir.ast import COMPARES, Op, ReduceOp
from kernelref.ir.dtype import BFLOAT16, BOOL, DOUBLE, INT64, DType, Kind

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

FLOAT_ONLY = frozenset({Op.EXP2, Op.LOG2, Op.SIN, Op.SQRT})
INTEGER_ONLY = frozenset({Op.IDIV, Op.MOD, Op.XOR, Op.SHL, Op.SHR})
DIVISIONS = frozenset({Op.DIV, Op.IDIV, Op.MOD, Op.RECIP})
SHIFTS = frozenset({Op.SHL, Op.SHR})


def quiet() -> np.errstate:
    """A context in which wrapping, infinities and NaN raise no warning."""
    return np.errstate(all="ignore")


def is_defined(op: Op, dtype: DType) -> bool:
    """Whether `op` means something on operands of `dtype` (WHERE: of its last two)."""
    return op not in (INTEGER_ONLY if dtype.is_float else FLOAT_ONLY)


def apply(op: Op, operands: Sequence[Array], dtype: DType) -> Array:
    """What `op` gives; `dtype` is the operands' (WHERE: of the last two). 0 where undefined.

    Raises: Unsupported when the op is not defined on the dtype.
    """
    dtype = dtype.value
    if not is_defined(op, dtype):
        raise Unsupported("op-on-dtype", f"{op.name} of {dtype}")
    if dtype.kind is Kind.BOOL:
        result = _apply_bool(op, operands)
    elif op in DIVISIONS and dtype.is_int:
        result = _divide_integers(op, operands, dtype)
    else:
        result = _apply_number(op, operands, dtype)
    if op in COMPARES:
        return result
    return round_to(result, dtype)


def _apply_number(op: Op, operands: Sequence[Array], dtype: DType) -> Array:
    """Integers (except division) and floats; bfloat16 before its rounding."""
    a = operands[0]
    b = operands[1] if len(operands) > 1 else a
    match op:
        case Op.EXP2:
            return np.exp2(a)
        case Op.LOG2:
            return np.log2(a)
        case Op.SIN:
            return np.sin(a)
        case Op.SQRT:
            return np.sqrt(a)
        case Op.NEG:
            return np.negative(a)
        case Op.RECIP:
            return np.divide(dtype.numpy.type(1), a)
        case Op.ADD:
            return a + b
        case Op.SUB:
            return a - b
        case Op.MUL:
            return a * b
        case Op.DIV:
            return a / b
        case Op.MAX:
            return np.maximum(a, b)
        case Op.XOR:
            return a ^ b
        case Op.SHL | Op.SHR:
            shift = np.left_shift if op is Op.SHL else np.right_shift
            inside = (b >= 0) & (b < dtype.bits)
            return np.where(inside, shift(a, np.where(inside, b, 0).astype(dtype.numpy)), 0)
        case Op.CMPLT:
            return np.less(a, b)
        case Op.CMPEQ:
            return np.equal(a, b)
        case Op.CMPNE:
            return np.not_equal(a, b)
        case Op.WHERE:
            return np.where(a, b, operands[2])
        case Op.MULACC:
            return round_to(a * b, dtype) + operands[2]
    raise AssertionError(f"{op} of {dtype}")


def _divide_integers(op: Op, operands: Sequence[Array], dtype: DType) -> Array:
    """Quotient towards zero, and its remainder; 0 where the divisor is 0."""
    divisor = operands[-1]
    dividend = np.ones_like(divisor) if op is Op.RECIP else operands[0]
    remainder = np.fmod(dividend, divisor)
    if op is Op.MOD:
        return remainder
    quotient = (dividend - remainder) // divisor
    return np.where(divisor == 0, dtype.numpy.type(0), quotient)


def _apply_bool(op: Op, operands: Sequence[Array]) -> Array:
    """C's arithmetic in int, then `!= 0`."""
    a = operands[0]
    b = operands[1] if len(operands) > 1 else a
    match op:
        case Op.NEG:
            return np.logical_not(a)
        case Op.ADD | Op.MAX:
            return a | b
        case Op.MUL:
            return a & b
        case Op.SUB | Op.XOR | Op.CMPNE:
            return a ^ b
        case Op.CMPEQ:
            return np.equal(a, b)
        case Op.CMPLT:
            return np.logical_not(a) & b
        case Op.DIV | Op.IDIV:
            return a & b
        case Op.RECIP:
            return a
        case Op.MOD:
            return np.zeros_like(a & b)
        case Op.SHL | Op.SHR:
            return a & np.logical_not(b)
        case Op.WHERE:
            return np.where(a, b, operands[2])
        case Op.MULACC:
            return (a & b) | operands[2]
    raise AssertionError(f"{op} of bool")


def undefined_where(op: Op, operands: Sequence[Array], dtype: DType) -> Array | None:
    """Where C leaves the result undefined or traps: a bool array, or None for nowhere.

    Division by zero; lowest / -1 where int is not wider (32 and 64 bits); a shift by a negative
    amount or by the dtype's width or more.
    """
    if dtype.is_float or op not in DIVISIONS | SHIFTS:
        return None
    b = operands[-1]
    if op in SHIFTS:
        return np.logical_or(b < 0, b >= dtype.bits) if dtype.is_int else b
    bad = np.equal(b, 0)
    if dtype.kind is Kind.SIGNED and dtype.bits >= 32 and op is not Op.RECIP:
        bad = bad | (np.equal(operands[0], dtype.lowest) & np.equal(b, -1))
    return bad


def round_to(values: Array, dtype: DType) -> Array:
    """The nearest values of `dtype`, ties to even; only bfloat16 and casts have any to round."""
    if dtype != BFLOAT16:
        return values if values.dtype == dtype.numpy else values.astype(dtype.numpy)
    bits = np.asarray(values, np.float32).view(np.uint32)
    even = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) & 0xFFFF0000
    return np.where(np.isnan(values), np.float32(np.nan), even.view(np.float32))


def convert(values: Array, source: DType, target: DType) -> Array:
    """C's cast: towards zero to an integer, wrapping between integers, `!= 0` to bool.

    A float that does not fit the integer gives 0 (undefined in C: `conversion_undefined_where`).
    Double to bfloat16 rounds to float first, as the text does.
    """
    source, target = source.value, target.value
    if target.kind is Kind.BOOL:
        return np.not_equal(values, 0)
    if source.is_float and target.is_int:
        return np.where(_fits(values, target), values, 0).astype(target.numpy)
    return round_to(values.astype(target.numpy), target)


def conversion_undefined_where(values: Array, source: DType, target: DType) -> Array | None:
    """Where a cast from float to an integer does not fit; None for every other cast."""
    if not (source.value.is_float and target.value.is_int):
        return None
    return np.logical_not(_fits(values, target.value))


def _fits(values: Array, target: DType) -> Array:
    """Whether each float has an integer part in `target`; every bound is a power of two or 0."""
    whole = np.trunc(values.astype(np.float64))
    bits = target.bits - 1 if target.kind is Kind.SIGNED else target.bits
    return (whole >= target.lowest) & (whole < 2.0**bits)


def bitcast(values: Array, source: DType, target: DType) -> Array:
    """The same bits as `target`. Raises: Unsupported when the widths differ."""
    if source.value.itemsize != target.value.itemsize:
        raise Unsupported("bitcast-width", f"{source} to {target}")
    return decode(np.asarray(encode(values, source.value)).view(storage(target.value)), target)


def storage(dtype: DType) -> np.dtype[Any]:
    """The numpy type of one stored element: bfloat16 as uint16 bits, an image's half or float."""
    return np.dtype(np.uint16) if dtype.storage == BFLOAT16 else dtype.storage.numpy


def decode(stored: Array, dtype: DType) -> Array:
    """Stored elements as values in registers (an image's as float32)."""
    if dtype == BFLOAT16:
        return (stored.astype(np.uint32) << np.uint32(16)).view(np.float32)
    if dtype == BOOL:
        return np.not_equal(stored.view(np.uint8), 0)
    return stored.astype(dtype.numpy, copy=False)


def encode(values: Array, dtype: DType) -> Array:
    """Values as stored elements: what a store of `dtype` writes (an imageh rounds to half)."""
    if dtype == BFLOAT16:
        return (values.view(np.uint32) >> np.uint32(16)).astype(np.uint16)
    return values.astype(storage(dtype), copy=False)


def constant(value: bool | int | float, dtype: DType) -> Array:
    """A literal in `dtype`: integers wrap, a float becomes an integer as a cast makes it."""
    dtype = dtype.value
    if isinstance(value, float):
        return convert(np.asarray(value), DOUBLE, dtype)
    if not dtype.is_int:
        return convert(np.asarray(float(value)), DOUBLE, dtype)
    return convert(np.asarray((int(value) + 2**63) % 2**64 - 2**63), INT64, dtype)


def identity(op: ReduceOp, dtype: DType) -> bool | int | float:
    """What a reduction starts from: 0 for SUM, the lowest value for MAX."""
    return dtype.value.lowest if op is ReduceOp.MAX else 0


def combine(op: ReduceOp, left: Array, right: Array, dtype: DType) -> Array:
    """One step of a reduction. SUM over bool is or."""
    return apply(Op.ADD if op is ReduceOp.SUM else Op.MAX, (left, right), dtype)


def fold(op: ReduceOp, start: Array, terms: Array, dtype: DType) -> Array:
    """Combine `start` with terms[0], terms[1], ... in this order, at every point of the rest.

    Law: fold(op, s, []) = s; fold(op, s, [t, *rest]) = fold(op, combine(op, s, t), rest).
    Shapes: `terms` is (steps, *points), `start` broadcasts to (*points).
    """
    dtype = dtype.value
    start = np.broadcast_to(start, terms.shape[1:])
    if dtype == BFLOAT16 and op is ReduceOp.SUM:
        for term in terms:
            start = combine(op, start, term, dtype)
        return start
    rows = np.concatenate([start[np.newaxis], terms])
    if op is ReduceOp.MAX:
        return np.asarray(np.maximum.reduce(rows, axis=0))
    if dtype.kind is Kind.BOOL:
        return np.asarray(np.logical_or.reduce(rows, axis=0))
    if dtype.is_float and rows[0].size == 1:
        return np.asarray(np.add.accumulate(rows, axis=0, dtype=dtype.numpy)[-1])
    return np.asarray(np.add.reduce(rows, axis=0, dtype=dtype.numpy))
