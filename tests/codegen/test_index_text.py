"""Index expressions as C: at every point the text says what `evaluate` says."""

from __future__ import annotations

import itertools
import random
import re

import pytest

from kernelref.codegen.lower.widths import leaves_int32
from kernelref.codegen.opencl.index import IndexPrinter
from kernelref.ir.index import (
    Binary,
    Expr,
    IndexOp,
    Int,
    Sint,
    Var,
    and_,
    bounds,
    evaluate,
    floordiv,
    lt,
    mod,
    mul,
    simplify,
)

A, B, C = Var("a", 0, 4), Var("b", -3, 3), Var("c", 1, 3)
NAMES = {"a": "a", "b": "b", "c": "c"}


class Wrapping(int):
    """An integer with C's division, that fails where a 32-bit int would wrap."""

    def _of(self, value: int) -> Wrapping:
        assert -(2**31) <= value < 2**31, "int overflow"
        return Wrapping(value)

    def __add__(self, other: int) -> Wrapping:
        return self._of(int(self) + int(other))

    def __sub__(self, other: int) -> Wrapping:
        return self._of(int(self) - int(other))

    def __mul__(self, other: int) -> Wrapping:
        return self._of(int(self) * int(other))

    def __neg__(self) -> Wrapping:
        return self._of(-int(self))

    def __lt__(self, other: int) -> Wrapping:
        return Wrapping(int(self) < int(other))

    def __truediv__(self, other: int) -> Wrapping:
        quotient = abs(int(self)) // abs(int(other))
        return self._of(quotient if (self < 0) == (other < 0) else -quotient)

    def __mod__(self, other: int) -> Wrapping:
        return self._of(int(self) - int(self / other) * int(other))


def run_c(text: str, values: dict[str, int]) -> int:
    """Evaluate the C text of one of our own expressions, by Python's rules of precedence."""
    helpers = {
        "floor_div": lambda a, b: Wrapping(int(a) // int(b)),
        "floor_mod": lambda a, b: Wrapping(int(a) % int(b)),
        "W": Wrapping,
    }
    python = re.sub(r"\b(\d+)\b", r"W(\1)", text).replace("&&", " and ")
    scope = {**helpers, **{name: Wrapping(value) for name, value in values.items()}}
    return int(eval(python, {"__builtins__": {}}, scope))


def points() -> list[dict[str, int]]:
    ranges = [range(v.low, bounds(v)[1] + 1) for v in (A, B, C)]
    return [dict(zip("abc", point, strict=True)) for point in itertools.product(*ranges)]


def random_expr(rng: random.Random, depth: int) -> Sint:
    if depth == 0:
        return rng.choice([A, B, C, rng.randint(-5, 9)])
    left, right = random_expr(rng, depth - 1), random_expr(rng, depth - 1)
    match rng.randrange(7):
        case 0 | 1:
            return left + right
        case 2:
            return mul(left, rng.choice([-3, -1, 2, 5]))
        case 3:
            return floordiv(left, rng.choice([2, 3, 7]))
        case 4:
            return mod(left, rng.choice([2, 3, 7]))
        case 5:
            return lt(left, right)
        case _:
            return and_(lt(left, 2), lt(right, left))


@pytest.mark.parametrize("seed", range(4))
def test_text_means_what_the_expression_means(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(150):
        expr = random_expr(rng, rng.randint(1, 4))
        if rng.random() < 0.5:
            expr = simplify(expr)
        if isinstance(expr, Expr) and leaves_int32(expr):
            continue
        text = IndexPrinter(NAMES, frozenset(), set()).text(expr)
        for point in points():
            assert run_c(text, point) == int(evaluate(expr, point)), (text, expr, point)


def test_floor_helpers_only_where_the_dividend_may_be_negative() -> None:
    used: set[str] = set()
    printer = IndexPrinter(NAMES, frozenset(), used)
    assert printer.text(floordiv(A, 3)) == "a/3"
    assert printer.text(mod(A, 3)) == "a%3"
    assert not used
    assert printer.text(floordiv(B, 3)) == "floor_div(b, 3)"
    assert printer.text(mod(B - 1, 3)) == "floor_mod(b - 1, 3)"
    assert used == {"floor_div", "floor_mod"}


def test_parentheses_follow_the_tree() -> None:
    product = Binary(IndexOp.MUL, Binary(IndexOp.FLOORDIV, A, Int(2)), Int(2))
    other = Binary(IndexOp.FLOORDIV, A, Binary(IndexOp.MUL, C, Int(2)))
    printer = IndexPrinter(NAMES, frozenset(), set())
    assert printer.text(product) == "a/2*2"
    assert printer.text(other) == "a/(c*2)"


def test_wide_expressions_are_computed_in_long() -> None:
    far = mul(A, 1_200_000_001)
    assert isinstance(far, Expr)
    assert leaves_int32(far)
    assert not leaves_int32(A)
    back = floordiv(far, 60000)
    assert isinstance(back, Expr)
    assert leaves_int32(back), "a part leaves 32 bits even where the whole does not"
    assert bounds(back)[1] < 2**31
    printer = IndexPrinter(NAMES, frozenset({back}), set())
    assert printer.text(back) == "(long)a*1200000001L/60000L"
    assert printer.text(A) == "a"
