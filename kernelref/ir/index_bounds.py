"""Bounds of index expressions, and what can be decided from them.

Bounds hold for every value of the variables within their own bounds, and may be wider than what is
reached. Points where a divisor is 0 have no value and do not count.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product as pairs

from kernelref.ir.index_nodes import (
    Binary,
    Expr,
    IndexOp,
    Int,
    Monomial,
    Sint,
    Var,
    add,
    mul,
    polynomial,
    polynomial_sum,
    truncated,
)

Bounds = tuple[int, int]


def bounds(value: Sint) -> Bounds:
    """The inclusive bounds of an expression. A symbolic upper bound counts at its maximum."""
    return _bounds(value) if isinstance(value, Expr) else (int(value), int(value))


@lru_cache(maxsize=1 << 14)
def _bounds(expr: Expr) -> Bounds:
    match expr:
        case Int(value):
            return value, value
        case Var(_, low, high):
            return low, bounds(high)[1]
        case Binary(IndexOp.ADD):
            return _of_sum(expr)
        case Binary(op, left, right):
            return _OF_OP[op](left, right)
    raise AssertionError(f"not an index expression: {expr!r}")


def _of_sum(expr: Expr) -> Bounds:
    """A sum's bounds; a variable whose high is symbolic is first replaced by that high.

    In `idx - n` with idx <= n - 1 the two n cancel, and the sum is known to be negative.
    """
    low, high = _of_terms(expr)
    if any(_has_symbolic_high(monomial) for monomial, _ in polynomial(expr)):
        low = max(low, _of_terms(_extreme(expr, sign=-1))[0])
        high = min(high, _of_terms(_extreme(expr, sign=1))[1])
    return low, high


def _of_terms(value: Sint) -> Bounds:
    low = high = 0
    for monomial, coefficient in polynomial(value):
        a, b = _of_monomial(monomial)
        low += min(a * coefficient, b * coefficient)
        high += max(a * coefficient, b * coefficient)
    return low, high


def _of_monomial(monomial: Monomial) -> Bounds:
    low = high = 1
    for atom in monomial:
        corners = [a * b for a, b in pairs((low, high), _bounds(atom))]
        low, high = min(corners), max(corners)
    return low, high


def _has_symbolic_high(monomial: Monomial) -> bool:
    return any(isinstance(atom, Var) and isinstance(atom.high, Expr) for atom in monomial)


def _extreme(expr: Expr, *, sign: int) -> Sint:
    """An expression that is at least (sign 1) or at most (sign -1) `expr` everywhere."""
    total: Sint = 0
    for monomial, coefficient in polynomial(expr):
        if len(monomial) and coefficient * sign > 0 and _is_growing(monomial):
            term: Sint = coefficient
            for atom in monomial:
                symbolic = isinstance(atom, Var) and isinstance(atom.high, Expr)
                term = mul(term, atom.high if symbolic and isinstance(atom, Var) else atom)
            total = add(total, term)
        else:
            total = add(total, polynomial_sum([(monomial, coefficient)]))
    return total


def _is_growing(monomial: Monomial) -> bool:
    return all(_bounds(atom)[0] >= 0 for atom in monomial)


def _of_product(left: Expr, right: Expr) -> Bounds:
    corners = [a * b for a, b in pairs(_bounds(left), _bounds(right))]
    return min(corners), max(corners)


def _divisors(right: Expr) -> list[int]:
    """The divisors at which a quotient can be extreme: ends of the range and +-1, without 0."""
    low, high = _bounds(right)
    return [d for d in {low, high, -1, 1} if low <= d <= high and d != 0]


def _of_floordiv(left: Expr, right: Expr) -> Bounds:
    corners = [a // d for a, d in pairs(_bounds(left), _divisors(right))] or [0]
    return min(corners), max(corners)


def _of_cdiv(left: Expr, right: Expr) -> Bounds:
    corners = [truncated(a, d) for a, d in pairs(_bounds(left), _divisors(right))]
    return min(corners, default=0), max(corners, default=0)


def _of_mod(left: Expr, right: Expr) -> Bounds:
    (low, high), (small, large) = _bounds(left), _bounds(right)
    if small == large != 0 and low // small == high // small:
        return low % small, high % small
    if low >= 0 and high < small:
        return low, high
    top = min(large - 1, high) if low >= 0 else large - 1
    bottom = max(small + 1, low) if high <= 0 else small + 1
    return min(bottom, 0), max(top, 0)


def _of_cmod(left: Expr, right: Expr) -> Bounds:
    (low, high), (small, large) = _bounds(left), _bounds(right)
    if small == large != 0 and low >= 0 and low // abs(small) == high // abs(small):
        return low % abs(small), high % abs(small)
    most = max(abs(small), abs(large)) - 1
    return max(min(low, 0), -most), min(max(high, 0), most)


def _of_lt(left: Expr, right: Expr) -> Bounds:
    low, high = bounds(left - right)
    return int(high < 0), int(low < 0)


def _of_and(left: Expr, right: Expr) -> Bounds:
    sides = (_bounds(left), _bounds(right))
    always = all(low > 0 or high < 0 for low, high in sides)
    never = any(low == high == 0 for low, high in sides)
    return int(always), int(not never)


_OF_OP = {
    IndexOp.MUL: _of_product,
    IndexOp.FLOORDIV: _of_floordiv,
    IndexOp.CDIV: _of_cdiv,
    IndexOp.MOD: _of_mod,
    IndexOp.CMOD: _of_cmod,
    IndexOp.LT: _of_lt,
    IndexOp.AND: _of_and,
}


def is_possibly_lt(left: Sint, right: Sint) -> bool:
    """False only when `left < right` is known to be impossible: the heuristics' comparison."""
    return bounds(add(left, mul(right, -1)))[0] < 0


def is_surely_lt(left: Sint, right: Sint) -> bool:
    """True only when `left < right` is known to hold always."""
    return bounds(add(left, mul(right, -1)))[1] < 0


def is_possibly_ge(left: Sint, right: Sint) -> bool:
    """False only when `left >= right` is known to be impossible: the heuristics' comparison."""
    return not is_surely_lt(left, right)


def is_surely_ge(left: Sint, right: Sint) -> bool:
    """True only when `left >= right` is known to hold always."""
    return not is_possibly_lt(left, right)


def is_possibly_gt(left: Sint, right: Sint) -> bool:
    """False only when `left > right` is known to be impossible: the heuristics' comparison."""
    return is_possibly_lt(right, left)


def is_possibly_le(left: Sint, right: Sint) -> bool:
    """False only when `left <= right` is known to be impossible: the heuristics' comparison."""
    return is_possibly_ge(right, left)
