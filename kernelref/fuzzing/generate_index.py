"""Random index expressions: raw trees, nothing in them canonical, over a few small variables."""

from __future__ import annotations

from kernelref.fuzzing.choose import Chooser
from kernelref.ir.index import Binary, Expr, IndexOp, Int, Var

DIVISIONS = (IndexOp.FLOORDIV, IndexOp.MOD, IndexOp.CDIV, IndexOp.CMOD)
DIVISORS = (2, 3, 4, 5, 6, 8, 12, 1, -1, -2, -3, -4)
SUMS = (IndexOp.ADD, IndexOp.MUL, IndexOp.LT, IndexOp.AND)


def generate_variables(chooser: Chooser) -> tuple[Var, ...]:
    """Three variables of a few values each, at times below 0."""
    lows = [chooser.choice((0, 0, 0, -3)) for _ in "abc"]
    return tuple(
        Var(name, low, low + chooser.integer(0, 6)) for name, low in zip("abc", lows, strict=True)
    )


def generate_index(chooser: Chooser, variables: tuple[Var, ...], depth: int) -> Expr:
    """A tree of at most this depth; every divisor is a number that is not 0."""
    if depth == 0 or chooser.chance(12):
        leaf: Expr = chooser.choice(variables)
        return Int(chooser.integer(-7, 9)) if chooser.chance(30) else leaf
    left = generate_index(chooser, variables, depth - 1)
    match chooser.weighted((("sum", 50), ("division", 42), ("both", 8))):
        case "division":
            return Binary(chooser.choice(DIVISIONS), left, Int(chooser.choice(DIVISORS)))
        case "both":
            return _quotient_and_remainder(chooser, left)
    right = generate_index(chooser, variables, depth - 1)
    return Binary(chooser.choice(SUMS), left, right)


def _quotient_and_remainder(chooser: Chooser, x: Expr) -> Expr:
    """A quotient and a remainder that may belong together: x // c % d * k + x % c."""
    c = chooser.choice((2, 3, 4))
    quotient = Binary(IndexOp.FLOORDIV, x, Int(c))
    if chooser.chance(50):
        quotient = Binary(IndexOp.MOD, quotient, Int(chooser.choice((2, 3))))
    scaled = Binary(IndexOp.MUL, quotient, Int(chooser.choice((c, 1, -c))))
    remainder = Binary(IndexOp.MOD, x, Int(chooser.choice((c, c, c + 1))))
    return Binary(IndexOp.ADD, scaled, remainder)
