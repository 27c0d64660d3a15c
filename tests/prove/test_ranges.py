"""Ranges hold every value that the ops give; checked against the arithmetic of the oracle."""

from __future__ import annotations

import itertools
import math
import random

import numpy as np
import pytest

from kernelref.ir import semantics
from kernelref.ir.ast import COMPARES, Op, ReduceOp
from kernelref.ir.dtype import (
    BFLOAT16,
    BOOL,
    DOUBLE,
    FLOAT,
    HALF,
    INT8,
    INT32,
    INT64,
    SCALARS,
    UINT8,
    UINT32,
    DType,
)
from kernelref.prove.ranges import (
    PLUS_ZERO,
    ZERO,
    Range,
    anything,
    applied,
    converted,
    hull,
    literal,
    reduced,
)

FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, 3.0, -2.5, 1e-3, 200.0, -200.0, math.inf, -math.inf, math.nan]
INTS = [0, 1, -1, 2, 5, -7, 100]


def values(dtype: DType) -> list[float]:
    if dtype.is_float:
        return FLOATS
    if dtype is BOOL:
        return [0, 1]
    return [*(v for v in INTS if dtype.lowest <= v), dtype.lowest, dtype.highest]


def around(rng: random.Random, value: float, dtype: DType) -> Range:
    """A range that holds the value: itself, or as far as another value."""
    if value != value:
        return rng.choice((Range(0, 0, nan=True), anything(dtype)))
    other = rng.choice([value, value, *(v for v in values(dtype) if v == v)])
    return Range(min(value, other), max(value, other), nan=rng.random() < 0.2 and dtype.is_float)


def lies_in(value: np.ndarray, held: Range) -> bool:
    number = value.item()
    if number != number:
        return held.nan
    return held.low <= number <= held.high


@pytest.mark.parametrize("dtype", SCALARS, ids=str)
@pytest.mark.parametrize("op", Op, ids=lambda op: op.name)
def test_the_result_lies_in_the_range(op, dtype) -> None:
    if not semantics.is_defined(op, dtype):
        return
    rng = random.Random(f"{op} {dtype}")
    for _ in range(150):
        chosen = [rng.choice(values(dtype)) for _ in range(op.arity)]
        dtypes = [dtype] * op.arity
        if op is Op.WHERE:
            chosen[0], dtypes[0] = rng.choice((0, 1)), BOOL
        operands = [semantics.constant(v, d) for v, d in zip(chosen, dtypes, strict=True)]
        with semantics.quiet():
            bad = semantics.undefined_where(op, operands, dtype)
            if bad is not None and np.any(bad):
                continue
            result = np.asarray(semantics.apply(op, operands, dtype))
        held = [around(rng, o.item(), d) for o, d in zip(operands, dtypes, strict=True)]
        found = applied(op, held, dtype)
        assert lies_in(result, found), (chosen, held, result, found)
        assert op not in COMPARES or (found.low, found.high) in ((0, 0), (1, 1), (0, 1))


@pytest.mark.parametrize(("source", "target"), list(itertools.product(SCALARS, SCALARS)), ids=str)
def test_a_cast_lies_in_the_range(source, target) -> None:
    rng = random.Random(f"{source} {target}")
    for _ in range(40):
        value = semantics.constant(rng.choice(values(source)), source)
        with semantics.quiet():
            undefined = semantics.conversion_undefined_where(value, source, target)
            if undefined is not None and np.any(undefined):
                continue
            result = np.asarray(semantics.convert(value, source, target))
        held = around(rng, value.item(), source)
        found = converted(held, source, target, bitcast=False)
        assert lies_in(result, found), (value, held, result, found)
        if source.itemsize == target.itemsize and BOOL not in (source, target):
            bits = np.asarray(semantics.bitcast(value, source, target))
            assert lies_in(bits, converted(held, source, target, bitcast=True))


@pytest.mark.parametrize("dtype", SCALARS, ids=str)
@pytest.mark.parametrize("op", ReduceOp)
def test_a_reduction_lies_in_the_range(op, dtype) -> None:
    rng = random.Random(f"{op} {dtype}")
    for _ in range(60):
        terms = [semantics.constant(rng.choice(values(dtype)), dtype) for _ in range(3)]
        held = around(rng, terms[0].item(), dtype)
        for term in terms[1:]:
            held = hull(held, around(rng, term.item(), dtype))
        start = semantics.constant(semantics.identity(op, dtype), dtype)
        with semantics.quiet():
            result = semantics.fold(op, start, np.stack(terms), dtype)
        assert lies_in(np.asarray(result), reduced(op, held, dtype)), (terms, held)


@pytest.mark.parametrize("dtype", [FLOAT, HALF, BFLOAT16, DOUBLE, INT8, UINT8, INT32, INT64, BOOL])
def test_a_literal_is_what_the_dtype_holds(dtype) -> None:
    for value in (0, 1, -1, 300, -300, 0.1, 1e9, 1e300, math.inf, True):
        with semantics.quiet():
            held = semantics.constant(value, dtype)
        assert lies_in(held, literal(value, dtype)), (value, dtype, held)


def test_what_is_known_exactly_stays_exact() -> None:
    """Padding asks for exactly 0, and for a lower bound that is exactly 0."""
    anyone = anything(FLOAT)
    assert applied(Op.MUL, [ZERO, Range(-5, 7)], FLOAT).is_zero
    assert not applied(Op.MUL, [ZERO, anyone], FLOAT).is_zero
    assert applied(Op.MUL, [ZERO, anything(INT32)], INT32).is_zero
    assert applied(Op.ADD, [ZERO, ZERO], FLOAT).is_zero
    assert applied(Op.MAX, [anyone, ZERO], FLOAT).low == 0
    assert applied(Op.EXP2, [anyone], FLOAT).low == 0
    assert applied(Op.SIN, [ZERO], FLOAT).is_zero
    assert applied(Op.SQRT, [ZERO], FLOAT).is_zero
    assert not applied(Op.RECIP, [ZERO], FLOAT).is_zero
    assert applied(Op.WHERE, [ZERO, anyone, ZERO], FLOAT).is_zero
    assert applied(Op.NEG, [ZERO], BOOL) == Range(1, 1)
    assert applied(Op.MULACC, [ZERO, anything(BOOL), ZERO], BOOL).is_zero
    assert applied(Op.LOG2, [ZERO], FLOAT).high == -math.inf
    assert converted(ZERO, INT32, FLOAT, bitcast=False).is_zero
    assert applied(Op.ADD, [Range(0, 3), Range(1, 2)], UINT32) == Range(1, 5)


def test_a_range_reads_as_words() -> None:
    assert str(Range(1, 1)) == "1"
    assert str(Range(-2, 3.5)) == "-2 to 3.5"
    assert str(Range(0, 0, nan=True, minus=False)) == "0 or NaN"


def test_the_bits_of_a_zero_are_known_with_its_sign() -> None:
    assert converted(PLUS_ZERO, FLOAT, UINT32, bitcast=True).is_zero
    assert not converted(ZERO, FLOAT, UINT32, bitcast=True).is_zero
    assert converted(ZERO, INT32, FLOAT, bitcast=False) == PLUS_ZERO
    assert converted(ZERO, HALF, FLOAT, bitcast=False) == ZERO
    assert hull(PLUS_ZERO, ZERO).minus
    assert applied(Op.NEG, [PLUS_ZERO], FLOAT).minus
