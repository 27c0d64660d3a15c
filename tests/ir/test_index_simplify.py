"""Simplification and bounds against every point, and the folds that the views need."""

from __future__ import annotations

import itertools

import pytest

from kernelref.ir import index_simplify
from kernelref.ir.index import (
    IndexOp,
    Sint,
    Var,
    and_,
    as_expr,
    bounds,
    cdiv,
    cmod,
    evaluate,
    ge,
    is_possibly_ge,
    is_possibly_gt,
    is_possibly_le,
    is_possibly_lt,
    is_surely_ge,
    is_surely_lt,
    lt,
    polynomial,
    simplify,
    substitute,
)
from tests.ir.index_cases import index_cases
from tests.shared_bugs import load_bug

A = Var("a", 0, 9)
B = Var("b", 0, 3)
C = Var("c", 0, 7)
S = Var("s", -5, 5)
N = Var("n", 1, 10)
M = Var("m", 1, 4)
X = Var("x", 0, N - 1)
Y = Var("y", 0, M - 1)


def test_simplify_and_bounds_against_every_point() -> None:
    for case in index_cases(seed=5, count=1500):
        simple = simplify(case.expr)
        assert not case.differs(simple), f"{case.expr} became {simple}"
        assert not case.is_outside(*bounds(case.expr)), f"{case.expr} in {bounds(case.expr)}"
        assert not case.is_outside(*bounds(simple)), f"{simple} in {bounds(simple)}"
        assert simplify(simple) == simple, f"{simple} goes on to {simplify(simple)}"


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("_bucket", lambda value, divisor: bounds(value)[0] // divisor),
        ("_whole", lambda other, above, x, c: x),
        ("_cdiv", index_simplify._floordiv),
        ("_mod_rest", lambda rest, divisor: rest),
        ("_without_inner_mods", lambda left, divisor: polynomial(left)[:1]),
    ],
)
def test_planted_faults_are_seen(name: str, fault, monkeypatch: pytest.MonkeyPatch) -> None:
    index_simplify._simplify.cache_clear()
    monkeypatch.setattr(index_simplify, name, fault)
    if name == "_cdiv":
        monkeypatch.setitem(index_simplify._RULES, IndexOp.CDIV, fault)
    try:
        seen = any(case.differs(simplify(case.expr)) for case in index_cases(seed=5, count=1500))
    finally:
        index_simplify._simplify.cache_clear()
    assert seen


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        ((A * 4 + B) // 4, A),
        ((A * 4 + B) % 4, B),
        ((A * 4 + B) // 8, A // 2),
        ((A * 4 + B) % 8, A % 2 * 4 + B),
        ((A * 12 + B * 3) // 6, (A * 4 + B) // 2),
        ((A * 6 + 4) % 9, (A * 2 + 1) % 3 * 3 + 1),
        (A // 2 // 3, A // 6),
        ((A // 2 + 1) // 3, (A + 2) // 6),
        (A % 6 // 2, A // 2 % 3),
        (A % 6 % 3, A % 3),
        ((A % 6 + B) % 3, (A + B) % 3),
        (A // 4 * 4 + A % 4, A),
        (A % 4 + A // 4 % 2 * 4, A % 8),
        ((A + 20) % 10, A),
        ((A + 20) // 10, 2),
        ((S * 4 + B) // 4, S),
        ((S * 4 + B) % 4, B),
        (A // -3, (A * -1) // 3),
        (A % 1, 0),
        (B // 4, 0),
        (B % 4, B),
        (lt(A * 4 + B, 20), lt(A, 5)),
        (lt(A * 4 + B, 40), 1),
        (lt(A, 0), 0),
        (ge(A, 0), 1),
        (ge(A, 10), 0),
        (and_(lt(A, 5), ge(A, 0), lt(B, 4)), lt(A, 5)),
        (and_(lt(A, 5), lt(B, 2)), and_(lt(A, 5), lt(B, 2))),
        (and_(lt(B, 2), lt(A, 5), lt(B, 2)), and_(lt(A, 5), lt(B, 2))),
        (and_(lt(A, 5), lt(A, 0)), 0),
        (cdiv(A, 3), A // 3),
        (cdiv(A * -1, 3), A // 3 * -1),
        (cdiv(A, -3), A // 3 * -1),
        (cmod(A * -1, 4), A % 4 * -1),
        (cdiv(S, 3), cdiv(S, 3)),
        ((C * 1200000001) % 60000, C),
        ((X * M + Y) // M, X),
        ((X * M + Y) % M, Y),
        ((X * (M + 1) + Y) // (M + 1), X),
        (X % N, X),
        (X // N, 0),
        ((X + N) % N, X),
        (lt(X, N), 1),
        (lt(N, X), 0),
        ((X * 4 + B) // 4, X),
        ((X * N * 2 + X * 2) % 2, 0),
    ],
    ids=str,
)
def test_folds(expr: Sint, expected: Sint) -> None:
    assert str(simplify(expr)) == str(simplify(expected))
    assert simplify(expr) == simplify(expected)


def test_the_folds_are_not_identities() -> None:
    """The table above would pass if `simplify` undid nothing on both sides."""
    assert simplify((A * 4 + B) // 4) is A
    assert simplify(A // 4 * 4 + A % 4) is A
    assert simplify((X * M + Y) % M) is Y


def test_c_and_floor_division_stay_apart_where_they_differ() -> None:
    assert simplify(cdiv(S, 2)) != simplify(S // 2)
    assert simplify(cmod(S, 2)) != simplify(S % 2)
    assert simplify(cdiv(A, 2)) == simplify(A // 2)


def test_symbolic_expressions_at_every_binding() -> None:
    exprs = [
        (X * M + Y + 3) // M,
        (X * M + Y) % (M + 1),
        (X * 3 + Y) // 3,
        (X + N * 2) % N,
        and_(lt(X, N), ge(X + M, N), lt(Y * 2, M)),
        (X * M * 4 + Y * 4 + B) // 4 % M,
        lt(X * M, N * M),
    ]
    for expr in exprs:
        simple = simplify(expr)
        for n, m in itertools.product(range(1, 11), range(1, 5)):
            for x, y, b in itertools.product(range(n), range(m), range(4)):
                values = {"n": n, "m": m, "x": x, "y": y, "b": b}
                assert evaluate(expr, values) == evaluate(simple, values), (str(expr), values)
                assert bounds(simple)[0] <= evaluate(simple, values) <= bounds(simple)[1]


def test_bounds_take_the_maximum_of_a_symbolic_bound() -> None:
    assert bounds(X) == (0, 9)
    assert bounds(X - N) == (-10, -1)
    assert bounds(N - X) == (1, 10)
    assert bounds(X * M) == (0, 36)
    assert bounds(S * S) == (-25, 25)
    assert bounds(S * -3) == (-15, 15)
    assert bounds(7) == (7, 7)


def test_comparisons_of_the_heuristics_are_true_unless_impossible() -> None:
    """i in 1..10: i*200 >= 1024 holds, i*100 >= 1024 does not."""
    assert is_possibly_ge(N * 200, 1024)
    assert not is_possibly_ge(N * 100, 1024)
    assert is_possibly_lt(N, 2)
    assert not is_possibly_lt(N, 1)
    assert is_possibly_gt(N, 9)
    assert not is_possibly_gt(N, 10)
    assert is_possibly_le(N, 1)
    assert not is_possibly_le(N, 0)
    assert is_surely_lt(X, N)
    assert not is_surely_lt(X, 9)
    assert is_surely_ge(N, 1)
    assert not is_surely_ge(N, 2)
    assert is_possibly_ge(5, 5)
    assert not is_possibly_lt(5, 5)


@pytest.mark.parametrize("bug", ["X06", "X10", "X17"])
def test_the_symbolic_bugs(bug: str) -> None:
    """C division as written in the file, simplified, at every point; and inside the bounds."""
    entry = load_bug(bug).document["symbolic"]
    variables = {name: Var(name, *ends) for name, ends in entry["vars"].items()}
    expr = _read(entry["expr"], variables)
    simple = simplify(expr)
    low, high = bounds(simple)
    reached = set()
    for point in itertools.product(*(range(v.low, v.high + 1) for v in variables.values())):
        values = dict(zip(variables, point, strict=True))
        assert evaluate(simple, values) == evaluate(expr, values)
        reached.add(evaluate(expr, values))
    assert low <= min(reached)
    assert max(reached) <= high


def test_a_wrong_rewrite_of_those_would_be_seen() -> None:
    i = Var("i", 0, 5)
    wrong = cmod(i * 3 + 1, 4)
    right = cmod(i * 3 - 7, 4)
    assert any(evaluate(wrong, {"i": x}) != evaluate(right, {"i": x}) for x in range(6))


def _read(entry: object, variables: dict[str, Var]) -> Sint:
    match entry:
        case int():
            return entry
        case str():
            return variables[entry]
        case [op, left, right]:
            a, b = _read(left, variables), _read(right, variables)
            match op:
                case "+":
                    return as_expr(a) + b
                case "*":
                    return as_expr(a) * b
                case "//":
                    return cdiv(a, b)
                case "%":
                    return cmod(a, b)
    raise AssertionError(f"unknown entry {entry!r}")


def test_substitute_binds_what_simplify_left() -> None:
    simple = simplify((X * M + Y + 1) // M)
    assert simplify(substitute(simple, {"n": 3, "m": 2, "x": 1, "y": 1})) == 2
