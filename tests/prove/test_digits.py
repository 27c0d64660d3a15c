"""The normal form keeps every value, and finds equal what opts and views make equal."""

from __future__ import annotations

import random

import pytest

from kernelref.ir.index import Var, add, evaluate, floordiv, lt, mod, mul
from kernelref.prove.digits import assuming, narrowings, normal
from kernelref.prove.spans import span
from tests.prove.expressions import axes, condition, number, points


@pytest.mark.parametrize("seed", range(400))
def test_a_normal_form_keeps_the_value_and_lies_in_its_span(seed) -> None:
    rng = random.Random(seed)
    over = axes(rng)
    expr = number(rng, over, 4)
    form = normal(expr)
    low, high = span(form)
    for values in points(over):
        value = evaluate(expr, values)
        assert evaluate(form, values) == value, (expr, form, values)
        assert low is None or low <= value, (form, low)
        assert high is None or value <= high, (form, high)


@pytest.mark.parametrize("seed", range(300))
def test_a_normal_condition_holds_where_the_condition_does(seed) -> None:
    rng = random.Random(seed)
    over = axes(rng)
    expr = condition(rng, over, 3)
    form = normal(expr)
    for values in points(over):
        assert bool(evaluate(form, values)) == bool(evaluate(expr, values)), (expr, form, values)


@pytest.mark.parametrize("seed", range(300))
def test_assuming_keeps_the_value_where_the_condition_holds(seed) -> None:
    rng = random.Random(seed)
    over = axes(rng)
    where, value = normal(condition(rng, over, 2)), number(rng, over, 3)
    ranges, others = narrowings(where)
    form = assuming(where, value)
    for values in points(over):
        inside = all(var.low <= values[name] <= var.high for name, var in ranges.items())
        holds = inside and all(evaluate(other, values) for other in others)
        assert holds == bool(evaluate(where, values)), (where, ranges, others, values)
        if holds:
            assert evaluate(form, values) == evaluate(value, values)


@pytest.mark.parametrize("seed", range(200))
def test_symbolic_extents_keep_the_value(seed) -> None:
    rng = random.Random(seed)
    n = Var("n", 1, 4)
    extent = add(mul(n, rng.choice((1, 2, 3))), rng.choice((0, 0, 1, 2)))
    x, y = Var("x.0", 0, add(extent, -1)), Var("x.1", 0, rng.randint(0, 3))
    flat = add(mul(y, extent), x) if rng.random() < 0.7 else number(rng, [x, y], 2)
    part = rng.choice((floordiv(flat, extent), mod(flat, extent), lt(flat, extent), flat))
    form = normal(part)
    for values in points([n, x, y]):
        assert evaluate(form, values) == evaluate(part, values), (part, form, values)


X, Y, Z = Var("x.0", 0, 7), Var("x.1", 0, 3), Var("x.2", 0, 2)
N = Var("n", 1, 50)
EQUAL = [
    (floordiv(X * 4 + Y, 4), X),
    (mod(X * 4 + Y, 4), Y),
    (floordiv(mod(X, 6), 2), mod(floordiv(X, 2), 3)),
    (mod(mod(X * 5 + Y, 12), 4), mod(X * 5 + Y, 4)),
    (floordiv(floordiv(X * 3 + Z, 2), 5), floordiv(X * 3 + Z, 10)),
    (floordiv(X * 12 + Y * 3 + Z, 6), floordiv(X * 4 + Y, 2)),
    (mod(X * 12 + Y * 3 + Z, 12), Y * 3 + Z),
    (lt(X * 4 + Y, 20), lt(X, 5)),
    (lt(X * 4 + Y, 32), 1),
    (lt(X * -4 + Y, 0), lt(0, X)),
    (floordiv(X * N + Var("x.3", 0, N - 1), N), X),
    (mod(X * N + Var("x.3", 0, N - 1), N), Var("x.3", 0, N - 1)),
    (floordiv(floordiv(X, 4) + Y, 5), floordiv(X + Y * 4, 20)),
]


@pytest.mark.parametrize(("left", "right"), EQUAL, ids=str)
def test_equal_expressions_have_one_form(left, right) -> None:
    assert normal(left) == normal(right)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (floordiv(X * 4 + Y, 3), X),
        (mod(X * 4 + Y, 3), Y),
        (lt(X * 4 + Y, 21), lt(X, 5)),
        (floordiv(X * 4 + Y + 1, 4), X),
        (floordiv(X * N + Var("x.3", 0, N), N), X),
    ],
    ids=str,
)
def test_different_expressions_have_different_forms(left, right) -> None:
    assert normal(left) != normal(right)
