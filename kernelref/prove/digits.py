"""The engine `digits`: one normal form for index expressions, with quotients as the only atoms.

Axes are digits, and an address is a number written in them; splitting an axis or stacking a view
regroups digits. Each rule below is an equation that holds for all integers, under the stated bounds
of a remainder, so equal normal forms mean equal values. Nothing needs a solver here; extents may be
symbolic.

Rules, for d > 0 and `//`, `%` rounding towards minus infinity:
  p % d = p - d * (p // d)
  (d*q + r) // d = q + t             if t*d <= r < (t+1)*d everywhere
  (g*a + b) // (g*e) = a // e        if 0 <= b < g everywhere
  (q // e + t) // d = (q + e*t) // (e*d)
  (d*q + r) // d = q + r // d         (d may be symbolic)
  p < 0  =  (p // g) < 0             for any g > 0
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from kernelref.ir.index import (
    Binary,
    Expr,
    IndexOp,
    Int,
    Sint,
    Var,
    add,
    as_expr,
    mul,
    polynomial,
    polynomial_sum,
    product,
    substitute,
    variables,
)
from kernelref.ir.index_nodes import Monomial, order_key
from kernelref.prove.spans import Span, span

ENGINE = "digits"


def normal(value: Sint) -> Sint:
    """An expression of the same value at every point; equal for most that are equal."""
    return _normal(value) if isinstance(value, Expr) else value


@lru_cache(maxsize=1 << 16)
def _normal(expr: Expr) -> Sint:
    match expr:
        case Binary(IndexOp.ADD | IndexOp.MUL):
            return _sum(expr)
        case Binary(IndexOp.FLOORDIV, left, right):
            return quotient(normal(left), normal(right))
        case Binary(IndexOp.MOD, left, right):
            p, d = normal(left), normal(right)
            return add(p, mul(mul(d, quotient(p, d)), -1))
        case Binary(IndexOp.LT, left, right):
            return conjunction([negative(add(normal(left), mul(normal(right), -1)))])
        case Binary(IndexOp.AND):
            return conjunction(_conditions(expr))
        case Binary(op, left, right):
            return Binary(op, as_expr(normal(left)), as_expr(normal(right)))
        case Var(_, low, high):
            return low if low == high else expr
        case Int(value):
            return value
    raise AssertionError(f"not an index expression: {expr!r}")


def _sum(expr: Expr) -> Sint:
    terms: list[tuple[Monomial, int]] = []
    for monomial, c in polynomial(expr):
        atoms = [normal(atom) for atom in monomial]
        inner = atoms[0] if len(atoms) == 1 else product(atoms)
        terms += [(names, c * k) for names, k in polynomial(inner)]
    return polynomial_sum(terms)


def quotient(p: Sint, d: Sint) -> Sint:
    """p // d of normal forms."""
    if not isinstance(d, int):
        return _symbolic_quotient(p, d)
    if d <= 0:
        return Binary(IndexOp.FLOORDIV, as_expr(p), Int(d))
    if isinstance(p, int):
        return p // d
    return p if d == 1 else _quotient(p, d)


@lru_cache(maxsize=1 << 16)
def _quotient(p: Expr, d: int) -> Sint:
    whole, rest = divided(p, d)
    constant = same_quotient(span(rest), d)
    if constant is not None:
        return add(whole, constant)
    for g in _factors(rest, d):
        upper, lower = divided(rest, g)
        extra = same_quotient(span(lower), g)
        if extra is not None:
            return add(whole, quotient(add(upper, extra), d // g))
    turned, balanced = _balanced(rest, d)
    if turned != 0:
        return add(whole, turned, quotient(balanced, d))
    inner = _lone_quotient(rest)
    if inner is not None:
        q, e, others = inner
        return add(whole, quotient(add(q, mul(others, e)), e * d))
    return add(whole, Binary(IndexOp.FLOORDIV, as_expr(rest), Int(d)))


def divided(p: Sint, d: int) -> tuple[Sint, Sint]:
    """(q, r) with p = d*q + r; q takes the terms that d divides, and of the constant all it can."""
    whole: list[tuple[Monomial, int]] = []
    rest: list[tuple[Monomial, int]] = []
    for monomial, c in polynomial(p):
        if monomial and c % d:
            rest.append((monomial, c))
        else:
            whole.append((monomial, c // d))
            rest.append((monomial, c % d))
    return polynomial_sum(whole), polynomial_sum(rest)


def _balanced(p: Sint, d: int) -> tuple[Sint, Sint]:
    """(q, r) with p = d*q + r and the coefficients of r as near to 0 as they get, ties above."""
    whole: list[tuple[Monomial, int]] = []
    rest: list[tuple[Monomial, int]] = []
    for monomial, c in polynomial(p):
        k = (c + (d - 1) // 2) // d if monomial else 0
        whole.append((monomial, k))
        rest.append((monomial, c - d * k))
    return polynomial_sum(whole), polynomial_sum(rest)


def same_quotient(bounds: Span, d: int) -> int | None:
    """t when t*d <= r < (t+1)*d for every r within the bounds."""
    low, high = bounds
    if low is None or high is None or low // d != high // d:
        return None
    return low // d


def _factors(p: Sint, d: int) -> list[int]:
    """Coefficients that divide d, the largest first."""
    found = {abs(c) for monomial, c in polynomial(p) if monomial}
    return sorted((g for g in found if 1 < g < d and d % g == 0), reverse=True)


def _lone_quotient(p: Sint) -> tuple[Sint, int, Sint] | None:
    """(q, e, t) with p = q // e + t, when p has exactly one quotient, once and alone."""
    found: tuple[Sint, int, Sint] | None = None
    for monomial, c in polynomial(p):
        if not any(isinstance(atom, Binary) for atom in monomial):
            continue
        match monomial:
            case (Binary(IndexOp.FLOORDIV, q, Int(e)),) if found is None and c == 1 and e > 0:
                others = add(p, polynomial_sum([(monomial, -1)]))
                found = q, e, others
            case _:
                return None
    return found


def _symbolic_quotient(p: Sint, d: Sint) -> Sint:
    """p // d with p = d*q + r by long division: q, if 0 <= r < d everywhere, else q + r // d."""
    low = span(d)[0]
    if low is None or low <= 0:
        return Binary(IndexOp.FLOORDIV, as_expr(p), as_expr(d))
    q, r = _long_division(p, d)
    floor = span(r)[0]
    if floor is not None and floor >= 0 and _is_below(r, d):
        return q
    return add(q, Binary(IndexOp.FLOORDIV, as_expr(r), as_expr(d)))


def _is_below(r: Sint, d: Sint) -> bool:
    """Whether r < d everywhere; n // e + t < d where n + e*t < e*d."""
    inner = _lone_quotient(r)
    if inner is not None:
        n, e, t = inner
        r, d = add(n, mul(t, e)), mul(d, e)
    above = span(add(r, mul(d, -1)))[1]
    return above is not None and above < 0


def _names(monomial: Monomial) -> list[object]:
    return [order_key(atom) for atom in monomial]


def _long_division(p: Sint, d: Sint) -> tuple[Sint, Sint]:
    """Divide by the leading monomial of d, term by term."""
    leading, factor = max(polynomial(d), key=lambda term: (len(term[0]), _names(term[0])))
    q: Sint = 0
    r = p
    for monomial, c in polynomial(p):
        left = list(monomial)
        for atom in leading:
            if atom not in left:
                break
            left.remove(atom)
        else:
            if c % factor == 0:
                part = polynomial_sum([(tuple(left), c // factor)])
                q, r = add(q, part), add(r, mul(mul(part, d), -1))
    return q, r


@lru_cache(maxsize=1 << 16)
def negative(p: Sint) -> Sint:
    """The condition p < 0 for a normal p: 1, 0, or a condition in lowest terms."""
    low, high = span(p)
    if high is not None and high < 0:
        return 1
    if low is not None and low >= 0:
        return 0
    for g in sorted({abs(c) for monomial, c in polynomial(p) if monomial}, reverse=True):
        if g > 1:
            upper, lower = divided(p, g)
            extra = same_quotient(span(lower), g)
            if extra is not None:
                return negative(add(upper, extra))
    return Binary(IndexOp.LT, as_expr(p), Int(0))


def _conditions(expr: Expr) -> list[Sint]:
    match expr:
        case Binary(IndexOp.AND, left, right):
            return [*_conditions(left), *_conditions(right)]
        case Binary(IndexOp.LT):
            return [normal(expr)]
        case _:
            return [_truth(normal(expr))]


def _truth(value: Sint) -> Sint:
    """What counts as true of an integer, as a condition."""
    match value:
        case int():
            return int(value != 0)
        case Binary(IndexOp.LT | IndexOp.AND):
            return value
        case _:
            return Binary(IndexOp.AND, as_expr(value), as_expr(value))


def conjunction(conditions: list[Sint]) -> Sint:
    """All of them: each once, in one order, and of p + a < 0 and p + b < 0 the narrower.

    What a condition says of a single variable is assumed of the others: A and B is A and (B where
    A). It may say so of one among several: c*x + r < 0 with r >= r0 leaves x <= (-1 - r0) // c.
    """
    kept = _narrowest(conditions)
    while kept is not None:
        ranges: dict[str, Var] = {}
        others = [condition for condition in kept if not _narrow(condition, ranges)]
        if any(isinstance(var.high, int) and var.low > var.high for var in ranges.values()):
            return 0
        if not others:
            break
        wide: dict[str, Sint] = {
            var.name: var for condition in kept for var in variables(condition)
        }
        own = [condition for condition in kept if condition not in others]
        under = [_under(other, ranges) for other in others]
        implied = [bound for other in under for bound in _implied(other)]
        again = [
            other if narrowed is other else substitute(narrowed, wide)
            for other, narrowed in zip(others, under, strict=True)
        ]
        if not implied and again == others:
            break
        kept = _narrowest([*own, *(substitute(bound, wide) for bound in implied), *again])
    if kept is None:
        return 0
    total: Sint = 1
    for condition in sorted(map(as_expr, kept), key=order_key):
        total = condition if total == 1 else Binary(IndexOp.AND, as_expr(total), condition)
    return total


def _under(condition: Sint, ranges: Mapping[str, Var]) -> Sint:
    """A condition in lowest terms where variables have these ranges."""
    if not any(var.name in ranges for var in variables(condition)):
        return condition
    return _again(substitute(condition, ranges))


def _again(condition: Sint) -> Sint:
    """A condition in lowest terms, by itself."""
    match condition:
        case Binary(IndexOp.LT, left, right):
            return negative(add(normal(left), mul(normal(right), -1)))
        case _:
            return normal(condition)


def _implied(condition: Sint) -> list[Sint]:
    """What p < 0 says of each variable in it, where that is more than its own range."""
    match condition:
        case Binary(IndexOp.LT, p, _):
            terms = polynomial(p)
        case _:
            return []
    found: list[Sint] = []
    for monomial, c in terms:
        match monomial:
            case (Var(_, low, int(high)) as var,):
                rest = span(add(p, mul(var, -c)))[0]
                if rest is None:
                    continue
                if c > 0 and (most := (-1 - rest) // c) < high:
                    found.append(negative(add(var, -1 - most)))
                if c < 0 and (least := -((-1 - rest) // -c)) > low:
                    found.append(negative(add(mul(var, -1), least - 1)))
            case _:
                continue
    return found


def _narrowest(conditions: list[Sint]) -> list[Sint] | None:
    """Conditions that are not always true, each once; None when one is never true, or two never
    together: p + a < 0 and -p + b < 0 leave no integer when a + b > -2."""
    kept: dict[object, Sint] = {}
    pending = list(conditions)
    while pending:
        condition = pending.pop()
        match condition:
            case int():
                if condition == 0:
                    return None
            case Binary(IndexOp.AND, left, right) if left is not right:
                pending += [left, right]
            case Binary(IndexOp.LT, p):
                terms = polynomial(p)
                key = tuple(term for term in terms if term[0])
                known = kept.get(key)
                constant = sum(c for monomial, c in terms if not monomial)
                if known is None or constant > _constant(known):
                    kept[key] = condition
                    against = kept.get(tuple((monomial, -c) for monomial, c in key))
                    if against is not None and constant + _constant(against) > -2:
                        return None
            case _:
                kept[condition] = condition
    return list(kept.values())


def _constant(condition: Sint) -> int:
    assert isinstance(condition, Binary)
    return sum(c for monomial, c in polynomial(condition.left) if not monomial)


def assuming(where: Sint, value: Sint) -> Sint:
    """`value` where the normal condition `where` holds: the ranges it leaves the variables."""
    ranges, _ = narrowings(where)
    return normal(substitute(value, ranges)) if ranges else normal(value)


def narrowings(where: Sint) -> tuple[dict[str, Var], list[Sint]]:
    """The ranges that a normal condition leaves single variables, and its other conditions.

    Law: `where` holds exactly where every variable lies in its range and the others hold.
    """
    ranges: dict[str, Var] = {}
    others: list[Sint] = [0] if where == 0 else []
    for condition in _conditions(where) if isinstance(where, Expr) else []:
        if not _narrow(condition, ranges):
            others.append(condition)
    return ranges, others


def _narrow(condition: Sint, ranges: dict[str, Var]) -> bool:
    """Take x + c < 0 or -x + c < 0 into the range of x."""
    match condition:
        case Binary(IndexOp.LT, left, _):
            terms = polynomial(left)
        case _:
            return False
    constant = sum(c for monomial, c in terms if not monomial)
    match [term for term in terms if term[0]]:
        case [((Var() as var,), (1 | -1) as sign)]:
            now = ranges.get(var.name, var)
            if not isinstance(now.high, int):
                return False
            low, high = now.low, now.high
            if sign == 1:
                high = min(high, -constant - 1)
            else:
                low = max(low, constant + 1)
            ranges[var.name] = Var(var.name, low, high)
            return True
        case _:
            return False
