"""Bounds of normal forms: what interval arithmetic says, and remainders recognised.

A normal form spells x % d as x - d * (x // d); its own interval would be far too wide, so a
quotient is joined with what it is the quotient of. Law: every value lies within the span, for all
values of the variables within theirs; None means no bound is known.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TypeAlias

from kernelref.ir.index import (
    Binary,
    Expr,
    IndexOp,
    Int,
    Sint,
    Var,
    add,
    mul,
    polynomial,
    polynomial_sum,
    variables,
)
from kernelref.ir.index_nodes import Monomial

Span: TypeAlias = tuple[int | None, int | None]
UNKNOWN: Span = (None, None)


def span(p: Sint) -> Span:
    """The bounds of a normal form."""
    return _span(p) if isinstance(p, Expr) else (p, p)


@lru_cache(maxsize=1 << 16)
def _span(p: Expr) -> Span:
    best = _plain(p)
    if any(_is_symbolic(monomial) for monomial, _ in polynomial(p)):
        best = _meet(best, (_extreme(p, sign=-1)[0], _extreme(p, sign=1)[1]))
    for monomial, c in polynomial(p):
        match monomial:
            case (Binary(IndexOp.FLOORDIV, numerator, Int(d)) as quotient,) if d > 0:
                for size, rest in _remainders(p, quotient, numerator, d, c):
                    best = _meet(best, _sum(span(rest), size))
            case _:
                pass
    return best


def _remainders(
    p: Expr, quotient: Expr, numerator: Expr, d: int, c: int
) -> list[tuple[Span, Sint]]:
    """Ways to read p as k * ((numerator // e) % (d // e)) + rest, with the first part's span.

    Law: (n // e) % (d // e) = n // e - (d // e) * (n // d), so c = -k * (d // e).
    """
    found: list[tuple[Span, Sint]] = []
    terms = dict(polynomial(p))
    top = polynomial(numerator)
    if top and c % d == 0:
        k = -c // d
        if all(terms.get(monomial) == k * a for monomial, a in top if monomial):
            rest = add(p, mul(add(numerator, mul(quotient, -d)), -k))
            found.append((_times((0, d - 1), k), rest))
    for monomial, k in terms.items():
        match monomial:
            case (Binary(IndexOp.FLOORDIV, other, Int(e)),) if (
                other is numerator and 0 < e < d and d % e == 0 and c == -k * (d // e)
            ):
                rest = add(p, polynomial_sum([(monomial, -k), ((quotient,), -c)]))
                found.append((_times((0, d // e - 1), k), rest))
            case _:
                pass
    return found


def _plain(p: Sint) -> Span:
    total: Span = (0, 0)
    for monomial, c in polynomial(p):
        total = _sum(total, _times(_of_monomial(monomial), c))
    return total


def _of_monomial(monomial: Monomial) -> Span:
    bounds: Span = (1, 1)
    for atom in monomial:
        bounds = _product(bounds, _of_atom(atom))
    return bounds


def _of_atom(atom: Expr) -> Span:
    match atom:
        case Var(_, low, high):
            return low, span(high)[1]
        case Binary(IndexOp.FLOORDIV, left, Int(d)) if d > 0:
            least, most = span(left)
            return None if least is None else least // d, None if most is None else most // d
        case Binary(IndexOp.LT | IndexOp.AND):
            return 0, 1
        case _:
            return UNKNOWN


def _is_symbolic(monomial: Monomial) -> bool:
    """Whether bounds may cancel: a product of variables, or one bounded by another."""
    return len(monomial) > 1 or any(
        isinstance(atom, Var) and isinstance(atom.high, Expr) for atom in monomial
    )


def _extreme(p: Sint, *, sign: int) -> Span:
    """A bound of p from above (sign 1) or below (-1): variables give way to their own bounds.

    In x - n with x <= n - 1 the two n cancel, and the sum is known to be negative. A variable in
    which p is linear takes the bound at which p is the greatest (least), if that is known.
    """
    best = _plain(p)
    for var in _innermost_first(p):
        slope, rest = _linear(p, var)
        if slope is None:
            continue
        low, high = _plain(slope)
        if low is not None and low >= 0:
            p = add(rest, mul(slope, var.high if sign > 0 else var.low))
        elif high is not None and high <= 0:
            p = add(rest, mul(slope, var.low if sign > 0 else var.high))
        else:
            continue
        low, high = _plain(p)
        # From here on p is only a bound of what it was, from this side.
        best = _meet(best, (None, high) if sign > 0 else (low, None))
    return best


def _innermost_first(p: Sint) -> list[Var]:
    """The variables of p, those bounded by others first, then by how many values they take."""
    found = {atom for monomial, _ in polynomial(p) for atom in monomial if isinstance(atom, Var)}
    return sorted(
        found, key=lambda var: (isinstance(var.high, int), span(var.high)[1] or 0, var.name)
    )


def _linear(p: Sint, var: Var) -> tuple[Sint | None, Sint]:
    """(a, b) with p = a * var + b and var in neither; a is None when p is not linear in it."""
    slope: list[tuple[Monomial, int]] = []
    rest: list[tuple[Monomial, int]] = []
    for monomial, c in polynomial(p):
        others = tuple(atom for atom in monomial if atom is not var)
        if len(others) < len(monomial) - 1 or any(var in variables(atom) for atom in others):
            return None, p
        (slope if len(others) < len(monomial) else rest).append((others, c))
    return polynomial_sum(slope), polynomial_sum(rest)


def _sum(left: Span, right: Span) -> Span:
    low = None if left[0] is None or right[0] is None else left[0] + right[0]
    high = None if left[1] is None or right[1] is None else left[1] + right[1]
    return low, high


def _times(bounds: Span, c: int) -> Span:
    low = None if bounds[0] is None else bounds[0] * c
    high = None if bounds[1] is None else bounds[1] * c
    return (low, high) if c >= 0 else (high, low)


def _product(left: Span, right: Span) -> Span:
    if None in left or None in right:
        return _half_open(left, right)
    corners = [a * b for a in left for b in right if a is not None and b is not None]
    return min(corners), max(corners)


def _half_open(left: Span, right: Span) -> Span:
    """Of two that are not negative the product is not negative either."""
    if left[0] is not None and left[0] >= 0 and right[0] is not None and right[0] >= 0:
        return left[0] * right[0], None
    return UNKNOWN


def _meet(left: Span, right: Span) -> Span:
    lows = [low for low in (left[0], right[0]) if low is not None]
    highs = [high for high in (left[1], right[1]) if high is not None]
    return max(lows, default=None), min(highs, default=None)
