"""Random index expressions over small ranges, with the points at which they have a value."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelref.ir.index import Binary, Expr, IndexOp, Int, Var, evaluate

DIVISIONS = (IndexOp.FLOORDIV, IndexOp.MOD, IndexOp.CDIV, IndexOp.CMOD)
DIVISORS = (1, 2, 3, 4, 5, 6, 8, 12, -1, -2, -3, -4)


@dataclass(frozen=True)
class IndexCase:
    """An expression, every point of its variables' ranges, and its value at each."""

    expr: Expr
    variables: tuple[Var, ...]
    grid: dict[str, Any]
    values: Any
    has_value: Any

    def differs(self, other: Any) -> bool:
        """Whether `other` has another value where this has one."""
        with np.errstate(all="ignore"):
            found = np.broadcast_to(evaluate(other, self.grid), self.values.shape)
        return bool((found != self.values)[self.has_value].any())

    def is_outside(self, low: int, high: int) -> bool:
        return bool(((self.values < low) | (self.values > high))[self.has_value].any())


def random_expr(rng: random.Random, depth: int, variables: tuple[Var, ...]) -> Expr:
    """A raw tree: nothing in it is canonical."""
    if depth == 0 or rng.random() < 0.15:
        return rng.choice(variables) if rng.random() < 0.7 else Int(rng.randint(-7, 9))
    if rng.random() < 0.06:
        return quotient_and_remainder(rng, random_expr(rng, depth - 1, variables))
    op = rng.choice(tuple(IndexOp))
    left = random_expr(rng, depth - 1, variables)
    if op in DIVISIONS and rng.random() < 0.9:
        return Binary(op, left, Int(rng.choice(DIVISORS)))
    return Binary(op, left, random_expr(rng, depth - 1, variables))


def quotient_and_remainder(rng: random.Random, x: Expr) -> Expr:
    """A quotient and a remainder that may belong together: x // c % d * k + x % c."""
    c = rng.choice((2, 3, 4))
    quotient = Binary(IndexOp.FLOORDIV, x, Int(c))
    if rng.random() < 0.5:
        quotient = Binary(IndexOp.MOD, quotient, Int(rng.choice((2, 3))))
    scaled = Binary(IndexOp.MUL, quotient, Int(rng.choice((c, c, 1, -c))))
    remainder = Binary(IndexOp.MOD, x, Int(rng.choice((c, c, c + 1))))
    return Binary(IndexOp.ADD, scaled, remainder)


def divides_by_zero(expr: Expr, grid: dict[str, Any]) -> Any:
    if not isinstance(expr, Binary):
        return np.False_
    below = divides_by_zero(expr.left, grid) | divides_by_zero(expr.right, grid)
    if expr.op not in DIVISIONS:
        return below
    return below | (np.asarray(evaluate(expr.right, grid)) == 0)


def index_cases(seed: int, count: int) -> Iterator[IndexCase]:
    rng = random.Random(seed)
    while count:
        lows = [rng.choice((0, 0, 0, -3)) for _ in "abc"]
        variables = tuple(
            Var(name, low, low + rng.randint(0, 6)) for name, low in zip("abc", lows, strict=True)
        )
        axes = np.ogrid[tuple(slice(v.low, v.high + 1) for v in variables)]
        grid = {variable.name: axis for variable, axis in zip(variables, axes, strict=True)}
        shape = tuple(v.high - v.low + 1 for v in variables)
        expr = random_expr(rng, rng.randint(1, 5), variables)
        with np.errstate(all="ignore"):
            try:
                values = np.broadcast_to(evaluate(expr, grid), shape)
            except ZeroDivisionError:
                continue
            has_value = np.broadcast_to(~divides_by_zero(expr, grid), shape)
        if not has_value.any():
            continue
        count -= 1
        yield IndexCase(expr, variables, grid, values, has_value)
