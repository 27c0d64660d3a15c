"""Index expressions: what they mean, and that equal polynomials are one object."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest

from kernelref.ir.index import (
    Binary,
    Expr,
    IndexOp,
    Int,
    Sint,
    Var,
    and_,
    as_expr,
    cdiv,
    cmod,
    evaluate,
    floordiv,
    ge,
    lt,
    mod,
    polynomial,
    sint,
    substitute,
    variables,
)
from tests.ir.index_cases import index_cases

A, B, C = (Var(name, 0, 9) for name in "abc")
BYTES = range(-128, 128)


def raw(op: IndexOp, a: int, b: int) -> Binary:
    return Binary(op, Int(a), Int(b))


@pytest.mark.parametrize(
    ("op", "build"),
    [
        (IndexOp.FLOORDIV, floordiv),
        (IndexOp.MOD, mod),
        (IndexOp.CDIV, cdiv),
        (IndexOp.CMOD, cmod),
    ],
)
def test_division_over_the_int8_square(op: IndexOp, build) -> None:
    a, b = np.meshgrid(np.arange(-128, 128), [d for d in BYTES if d], indexing="ij")
    quotient = np.trunc(a / b) if op in (IndexOp.CDIV, IndexOp.CMOD) else np.floor(a / b)
    truth = quotient if op in (IndexOp.CDIV, IndexOp.FLOORDIV) else a - quotient * b
    found = evaluate(Binary(op, A, B), {"a": a, "b": b})
    assert np.array_equal(found, truth)
    assert all(
        build(x, y) == evaluate(raw(op, x, y), {}) for x in BYTES for y in range(-9, 10) if y
    )


def test_c_division_is_what_c_does() -> None:
    """int32 arrays: numpy's fmod follows C."""
    a, b = np.meshgrid(np.arange(-128, 128), [d for d in BYTES if d], indexing="ij")
    assert np.array_equal(evaluate(Binary(IndexOp.CMOD, A, B), {"a": a, "b": b}), np.fmod(a, b))
    assert math.fmod(-7, 2) == evaluate(raw(IndexOp.CMOD, -7, 2), {}) == -1
    assert evaluate(raw(IndexOp.MOD, -7, 2), {}) == 1


def test_conditions_are_zero_or_one() -> None:
    assert evaluate(lt(A, 3), {"a": np.arange(5)}).tolist() == [1, 1, 1, 0, 0]
    assert evaluate(ge(A, 3), {"a": 3}) == 1
    assert evaluate(Binary(IndexOp.AND, A, B), {"a": 2, "b": 4}) == 1
    assert evaluate(Binary(IndexOp.AND, A, B), {"a": 2, "b": 0}) == 0


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (A + B, B + A),
        (A + B + 1, 1 + (B + A)),
        ((A + B) * 3, A * 3 + 3 * B),
        (A * 4 - A, A * 3),
        (A * B, B * A),
        ((A + 1) * (B + 2), A * B + 2 * A + B + 2),
        ((A + B) + (C - B), C + A),
        (2 - (A - B), B - A + 2),
        (A - A, 0),
        (A * 0 + 5, 5),
        (-A, A * -1),
    ],
)
def test_equal_polynomials_are_the_same_object(left: Sint, right: Sint) -> None:
    assert left is right or left == right
    assert type(left) is type(right)


def test_different_polynomials_are_not() -> None:
    different = [A + B, A + C, A * 2 + B, A + B + 1, A * B, A - B, Var("a", 0, 8) + B]
    assert len(set(different)) == len(different)


def test_the_constant_is_last_and_terms_are_ordered() -> None:
    expr = 7 + C * 2 + A
    assert str(expr) == "((a+(c*2))+7)"
    assert polynomial(expr) == (((A,), 1), ((C,), 2), ((), 7))
    ten, nine = Var("idx10", 0, 3), Var("idx9", 0, 3)
    assert str(ten + nine) == "(idx9+idx10)"


def test_constants_are_plain_ints() -> None:
    assert type(A - A) is int
    assert sint(Int(3)) == 3
    assert as_expr(3) is Int(3)
    assert as_expr(A) is A
    assert type(sint(as_expr(4))) is int
    assert Int(3) + 4 == 7
    assert lt(2, 3) == 1
    assert lt(A, A) == 0
    assert and_(1, 1) == 1
    assert and_() == 1
    assert and_(lt(A, 3), 0) == 0
    assert and_(1, lt(A, 3)) is lt(A, 3)


def test_a_number_as_condition_stays_a_condition() -> None:
    assert evaluate(and_(1, A), {"a": 5}) == 1


def test_comparisons_are_not_overloaded() -> None:
    with pytest.raises(TypeError):
        A < 3  # type: ignore[operator]  # noqa: B015 - the point is that it fails
    with pytest.raises(TypeError):
        max(A, 3)  # type: ignore[type-var]


def test_operators_mean_what_evaluate_says() -> None:
    for case in index_cases(seed=11, count=400):
        rebuilt = substitute(case.expr, {})
        assert not case.differs(rebuilt), f"{case.expr} became {rebuilt}"


def test_substitute_replaces_by_name() -> None:
    expr = A * 3 + (B % 4)
    assert substitute(expr, {"a": 2, "b": 7}) == 9
    assert substitute(expr, {"a": C}) is C * 3 + (B % 4)
    axis = Var("idx0", 0, A - 1)
    assert substitute(axis, {"a": 5}) is Var("idx0", 0, 4)


def test_variables_include_those_of_bounds() -> None:
    axis = Var("idx0", 0, A - 1)
    assert variables(axis * 2 + B) == {axis, A, B}
    assert variables(3) == frozenset()


def test_expressions_pickle_to_themselves() -> None:
    expr = (A * 3 + B) % 4
    assert isinstance(expr, Expr)
    assert pickle.loads(pickle.dumps(expr)) is expr


def test_evaluate_names_what_is_missing() -> None:
    with pytest.raises(KeyError, match="b"):
        evaluate(A + B, {"a": 1})
    with pytest.raises(ZeroDivisionError):
        evaluate(raw(IndexOp.MOD, 1, 0), {})
