"""Each op on each dtype against C's rules told a second time, one Python number at a time."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable

import numpy as np
import pytest

from kernelref.errors import Unsupported
from kernelref.ir import semantics
from kernelref.ir.ast import COMPARES, Op, ReduceOp
from kernelref.ir.dtype import (
    BFLOAT16,
    BOOL,
    DOUBLE,
    FLOAT,
    HALF,
    IMAGE_HALF,
    INT8,
    INT32,
    INT64,
    SCALARS,
    UINT8,
    UINT64,
    DType,
    Kind,
    image,
)

INTEGERS = [dtype for dtype in SCALARS if dtype.is_int]
FLOATS = [dtype for dtype in SCALARS if dtype.is_float]
FLOAT_SAMPLES = [
    0.0, -0.0, 1.0, -1.0, 1.5, -2.75, 3.0, 1e-3, 255.0, -1000.5, 65504.0, 1 / 3,
    math.inf, -math.inf, math.nan,
]  # fmt: skip


def wrap(value: int, dtype: DType) -> int:
    value %= 1 << dtype.bits
    return value - (1 << dtype.bits) if value > dtype.highest else value


def truncated(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def integer(op: Op, a: int, b: int, dtype: DType) -> tuple[int | bool, bool]:
    """What C gives (wrapped at the width), and whether C leaves it undefined."""
    match op:
        case Op.ADD:
            return wrap(a + b, dtype), False
        case Op.SUB:
            return wrap(a - b, dtype), False
        case Op.MUL:
            return wrap(a * b, dtype), False
        case Op.NEG:
            return wrap(-a, dtype), False
        case Op.MAX:
            return max(a, b), False
        case Op.XOR:
            return wrap(a ^ b, dtype), False
        case Op.CMPLT:
            return a < b, False
        case Op.CMPEQ:
            return a == b, False
        case Op.CMPNE:
            return a != b, False
        case Op.SHL | Op.SHR:
            if not 0 <= b < dtype.bits:
                return 0, True
            return wrap(a << b if op is Op.SHL else a >> b, dtype), False
        case Op.DIV | Op.IDIV | Op.MOD | Op.RECIP:
            top, bottom = (1, a) if op is Op.RECIP else (a, b)
            if bottom == 0:
                return 0, True
            quotient = truncated(top, bottom)
            if op is Op.MOD:
                undefined = not dtype.lowest <= quotient <= dtype.highest and dtype.bits >= 32
                return top - quotient * bottom, undefined
            return wrap(quotient, dtype), quotient > dtype.highest and dtype.bits >= 32
    raise AssertionError(op)


def corners(dtype: DType) -> list[int]:
    low, high = int(dtype.lowest), int(dtype.highest)
    return sorted(
        {low, low + 1, high - 1, high, 0, 1, 2, 3, 7, 31, *(() if low == 0 else (-1, -5))}
    )


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_integers_follow_c(dtype: DType) -> None:
    pairs = list(itertools.product(corners(dtype), repeat=2))
    a, b = (np.array(column, dtype.numpy) for column in zip(*pairs, strict=True))
    ops = set(Op) - semantics.FLOAT_ONLY - {Op.WHERE, Op.MULACC}
    for op in sorted(ops, key=lambda op: op.name):
        operands = (a, b)[: op.arity]
        with semantics.quiet():
            values = semantics.apply(op, operands, dtype)
            undefined = semantics.undefined_where(op, operands, dtype)
        wanted = [integer(op, x, y, dtype) for x, y in pairs]
        assert values.dtype == (np.bool_ if op in COMPARES else dtype.numpy)
        where = [flag for _, flag in wanted]
        assert (undefined is None and not any(where)) or undefined.tolist() == where, op
        for (x, y), got, (want, is_undefined) in zip(pairs, values.tolist(), wanted, strict=True):
            assert is_undefined or got == want, (op, x, y)


@pytest.mark.parametrize("dtype", [INT8, UINT8, INT32, INT64, UINT64], ids=str)
def test_undefined_divisions_and_shifts_give_a_number(dtype: DType) -> None:
    a = np.array([5, int(dtype.lowest)], dtype.numpy)
    zero = np.zeros(2, dtype.numpy)
    with semantics.quiet():
        assert semantics.apply(Op.IDIV, (a, zero), dtype).tolist() == [0, 0]
        assert semantics.apply(Op.MOD, (a, zero), dtype).tolist() == [0, 0]
        far = np.array([dtype.bits, dtype.bits + 1], dtype.numpy)
        assert semantics.apply(Op.SHL, (a, far), dtype).tolist() == [0, 0]


def test_a_floor_instead_of_a_truncation_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(np, "fmod", np.remainder)
    with pytest.raises(AssertionError):
        test_integers_follow_c(INT32)


BOOL_RESULTS = {
    Op.ADD: [0, 1, 1, 1], Op.MUL: [0, 0, 0, 1], Op.SUB: [0, 1, 1, 0], Op.MAX: [0, 1, 1, 1],
    Op.XOR: [0, 1, 1, 0], Op.CMPLT: [0, 1, 0, 0], Op.CMPEQ: [1, 0, 0, 1], Op.CMPNE: [0, 1, 1, 0],
    Op.DIV: [0, 0, 0, 1], Op.IDIV: [0, 0, 0, 1], Op.MOD: [0, 0, 0, 0], Op.SHL: [0, 0, 1, 0],
    Op.SHR: [0, 0, 1, 0],
}  # fmt: skip


@pytest.mark.parametrize("op", BOOL_RESULTS, ids=lambda op: op.name)
def test_bool_is_c_arithmetic_made_zero_or_one(op: Op) -> None:
    a, b = np.array([0, 0, 1, 1], bool), np.array([0, 1, 0, 1], bool)
    values = semantics.apply(op, (a, b), BOOL)
    assert values.dtype == np.bool_
    assert values.tolist() == [bool(bit) for bit in BOOL_RESULTS[op]]


def test_bool_negation_and_three_sources() -> None:
    a, b = np.array([0, 0, 1, 1], bool), np.array([0, 1, 0, 1], bool)
    assert semantics.apply(Op.NEG, (a,), BOOL).tolist() == [True, True, False, False]
    assert semantics.apply(Op.MULACC, (a, b, ~a), BOOL).tolist() == [True, True, False, True]
    assert semantics.apply(Op.WHERE, (a, b, ~b), BOOL).tolist() == [True, False, False, True]
    undefined = semantics.undefined_where(Op.MOD, (a, b), BOOL)
    assert undefined is not None
    assert undefined.tolist() == [True, False, True, False]


def nearest(value: float, dtype: DType) -> float:
    """`value` rounded to a dtype, ties to even, by exact rational steps."""
    if not math.isfinite(value) or value == 0 or dtype == DOUBLE:
        return value
    bits, low, most = {
        HALF: (11, -14, 65504.0),
        BFLOAT16: (8, -126, float.fromhex("0x1.fep127")),
        FLOAT: (24, -126, float.fromhex("0x1.fffffep127")),
    }[dtype]
    _, exponent = math.frexp(value)
    step = math.ldexp(1.0, max(exponent - 1, low) - bits + 1)
    result = round(value / step) * step
    return math.copysign(math.inf, value) if abs(result) > most else math.copysign(result, value)


def same(got: Iterable[float], wanted: Iterable[float]) -> bool:
    return np.array_equal(np.array(list(got)), np.array(list(wanted)), equal_nan=True)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_float_arithmetic_rounds_each_result(dtype: DType) -> None:
    samples = [nearest(x, dtype) for x in FLOAT_SAMPLES]
    a, b = (
        np.array(c, dtype.numpy) for c in zip(*itertools.product(samples, repeat=2), strict=True)
    )
    with semantics.quiet():
        wide = a.astype(np.float64), b.astype(np.float64)
        exact = {
            Op.ADD: wide[0] + wide[1], Op.SUB: wide[0] - wide[1], Op.MUL: wide[0] * wide[1],
            Op.DIV: wide[0] / wide[1], Op.RECIP: 1 / wide[0], Op.SQRT: np.sqrt(wide[0]),
            Op.NEG: -wide[0], Op.MAX: np.maximum(*wide),
        }  # fmt: skip
        for op, wanted in exact.items():
            got = semantics.apply(op, (a, b)[: op.arity], dtype)
            assert got.dtype == dtype.numpy
            assert same(got.astype(float), (nearest(x, dtype) for x in wanted.tolist())), op
        product = np.array([nearest(x, dtype) for x in exact[Op.MUL].tolist()])
        fused = semantics.apply(Op.MULACC, (a, b, b), dtype)
        assert same(fused.astype(float), (nearest(x, dtype) for x in (product + wide[1]).tolist()))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_functions_are_close_and_have_the_dtype(dtype: DType) -> None:
    a = np.array([nearest(x, dtype) for x in (0.25, 1.0, 2.0, 7.5)], dtype.numpy)
    for op, function in ((Op.EXP2, np.exp2), (Op.LOG2, np.log2), (Op.SIN, np.sin)):
        got = semantics.apply(op, (a,), dtype)
        assert got.dtype == dtype.numpy
        error = np.abs(got.astype(float) - function(a.astype(float)))
        assert (error <= 2.0**-7 * np.abs(got.astype(float)) + 1e-12).all()


@pytest.mark.parametrize("source", SCALARS, ids=str)
@pytest.mark.parametrize("target", SCALARS, ids=str)
def test_casts_follow_c(source: DType, target: DType) -> None:
    if source.is_float:
        samples: list[float] = [
            nearest(x, source) for x in [*FLOAT_SAMPLES, 300.7, -0.9, 2.0**31, 2.0**63]
        ]
    else:
        samples = [0, 1] if source.kind is Kind.BOOL else list(corners(source))
    values = np.array(samples, source.numpy)
    with semantics.quiet():
        got = semantics.convert(values, source, target)
        undefined = semantics.conversion_undefined_where(values, source, target)
    assert got.dtype == target.numpy
    for i, sample in enumerate(samples):
        if target.kind is Kind.BOOL:
            assert got[i] == (sample != 0)
        elif target.is_float:
            wanted = float(sample)
            if target == BFLOAT16:
                wanted = nearest(float(np.float32(sample)), target)
            assert same([float(got[i])], [nearest(wanted, target)])
        elif not source.is_float:
            assert got[i] == wrap(int(sample), target)
        else:
            fits = math.isfinite(sample) and target.lowest <= math.trunc(sample) <= target.highest
            assert undefined is not None
            assert undefined[i] != fits
            assert got[i] == (math.trunc(sample) if fits else 0)


def test_bitcasts_keep_bits_and_refuse_other_widths() -> None:
    assert semantics.bitcast(np.array([1.0], np.float32), FLOAT, INT32)[0] == 0x3F800000
    assert semantics.bitcast(np.array([1.0], np.float32), BFLOAT16, HALF)[0] == np.array(
        [0x3F80], np.uint16
    ).view(np.float16)
    with pytest.raises(Unsupported, match="bitcast-width"):
        semantics.bitcast(np.array([1], np.int8), INT8, INT32)


@pytest.mark.parametrize("dtype", [*SCALARS, image(IMAGE_HALF, (1, 1, 4))], ids=str)
def test_storing_and_loading_again_keeps_values(dtype: DType) -> None:
    values = np.array([0, 1, 1, 0], dtype.numpy)
    stored = semantics.encode(values, dtype)
    assert stored.dtype == semantics.storage(dtype)
    assert semantics.decode(stored, dtype).tolist() == values.tolist()
    assert semantics.decode(stored, dtype).dtype == dtype.numpy


@pytest.mark.parametrize("dtype", SCALARS, ids=str)
def test_a_fold_is_its_steps(dtype: DType) -> None:
    random = np.random.default_rng(7)
    for shape in ((9, 1), (9, 5), (0, 3), (1, 2)):
        terms = semantics.convert(random.normal(0, 40, shape), DOUBLE, FLOAT)
        terms = semantics.convert(np.abs(terms), FLOAT, dtype)
        for op in ReduceOp:
            start = semantics.constant(semantics.identity(op, dtype), dtype)
            wanted = np.broadcast_to(start, shape[1:])
            with semantics.quiet():
                for term in terms:
                    wanted = semantics.combine(op, wanted, term, dtype)
                got = semantics.fold(op, start, terms, dtype)
            assert got.dtype == dtype.numpy
            assert got.tolist() == wanted.tolist()


def test_a_fold_over_bool_is_or_and_over_negative_numbers_starts_low() -> None:
    terms = np.array([[True], [True]])
    assert semantics.fold(ReduceOp.SUM, np.array(False), terms, BOOL).tolist() == [True]
    negative = np.array([[-5], [-3]], np.int8)
    start = semantics.constant(semantics.identity(ReduceOp.MAX, INT8), INT8)
    assert semantics.fold(ReduceOp.MAX, start, negative, INT8).tolist() == [-3]


def test_constants_wrap_and_truncate() -> None:
    assert semantics.constant(300, UINT8) == 44
    assert semantics.constant(-1, UINT64) == 2**64 - 1
    assert semantics.constant(-3.9, INT32) == -3
    assert semantics.constant(0.1, HALF) == np.float16(0.1)
    assert semantics.constant(2, BOOL)


def test_what_is_not_defined_is_refused() -> None:
    with pytest.raises(Unsupported, match="EXP2 of int"):
        semantics.apply(Op.EXP2, (np.array([1], np.int32),), INT32)
    with pytest.raises(Unsupported, match="MOD of float"):
        semantics.apply(Op.MOD, (np.ones(1, np.float32), np.ones(1, np.float32)), FLOAT)
