"""Simplification of index expressions under the bounds of their variables.

Every rule keeps the value at every point where the expression has one; the rule's law stands in its
docstring. Nothing believes these rules: they are tested by brute force against `evaluate`.
"""

from __future__ import annotations

from functools import lru_cache
from math import gcd

from kernelref.ir.index_bounds import bounds, is_surely_ge, is_surely_lt
from kernelref.ir.index_nodes import (
    Binary,
    Expr,
    IndexOp,
    Int,
    Monomial,
    Polynomial,
    Sint,
    Var,
    add,
    and_,
    as_expr,
    cdiv,
    cmod,
    floordiv,
    lt,
    mod,
    mul,
    order_key,
    polynomial,
    polynomial_sum,
)


def simplify(value: Sint) -> Sint:
    """An expression of the same value, as simple as the rules get it; a plain int if constant."""
    return _simplify(value) if isinstance(value, Expr) else value


@lru_cache(maxsize=1 << 14)
def _simplify(expr: Expr) -> Sint:
    match expr:
        case Int(value):
            return value
        case Var():
            low, high = bounds(expr)
            return low if low == high else expr
        case Binary(IndexOp.ADD | IndexOp.MUL):
            result = _sum(polynomial(expr))
        case Binary(op, left, right):
            result = _RULES[op](_simplify(left), _simplify(right))
        case _:
            raise AssertionError(f"not an index expression: {expr!r}")
    low, high = bounds(result)
    return low if low == high else result


def _sum(terms: Polynomial) -> Sint:
    """Simplify the atoms, then join quotients with their remainders."""
    total: Sint = 0
    for monomial, coefficient in terms:
        term: Sint = coefficient
        for atom in monomial:
            term = mul(term, _simplify(atom))
        total = add(total, term)
    joined = _join_remainders(total)
    while joined is not total:
        total, joined = joined, _join_remainders(joined)
    return total


def _join_remainders(value: Sint) -> Sint:
    """Law: x // c * c + x % c = x, and (x // c) % d * c + x % c = x % (c * d)."""
    terms = dict(polynomial(value))
    for monomial, coefficient in terms.items():
        match monomial:
            case (Binary(IndexOp.MOD, x, Int(c)),) if c > 0:
                above = floordiv(x, c) if not isinstance(x, Int) else 0
                for other, factor in terms.items():
                    if factor != coefficient * c or len(other) != 1:
                        continue
                    whole = _whole(other[0], simplify(above), x, c)
                    if whole is not None:
                        rest = add(value, polynomial_sum([(monomial, -coefficient)]))
                        rest = add(rest, polynomial_sum([(other, -factor)]))
                        return add(rest, mul(simplify(whole), coefficient))
            case _:
                pass
    return value


def _whole(other: Expr, above: Sint, x: Expr, c: int) -> Sint | None:
    """What x % c makes together with `other` * c, if `other` is the quotient it lacks."""
    if other is above:
        return x
    match other:
        case Binary(IndexOp.MOD, quotient, Int(d)) if quotient is above and d > 0:
            return mod(x, c * d)
    return None


def _split(terms: Polynomial, divisor: int) -> tuple[Sint, Sint]:
    """(q, r) with value = q * divisor + r, q from the terms that `divisor` divides."""
    whole = [(m, c // divisor) for m, c in terms if m and c % divisor == 0]
    rest = [(m, c) for m, c in terms if m and c % divisor]
    constant = next((c for m, c in terms if not m), 0)
    return (
        polynomial_sum([*whole, ((), constant // divisor)]),
        polynomial_sum([*rest, ((), constant % divisor)]),
    )


def _bucket(value: Sint, divisor: int) -> int | None:
    """The quotient by `divisor` when it is the same at every point."""
    low, high = bounds(value)
    return low // divisor if low // divisor == high // divisor else None


def _factors(value: Sint, divisor: int) -> list[int]:
    """Divisors of `divisor` that also divide a coefficient: the largest first."""
    found = {gcd(c, divisor) for m, c in polynomial(value) if m}
    return sorted((g for g in found if 1 < g < divisor), reverse=True)


def _floordiv(left: Sint, right: Sint) -> Sint:
    if isinstance(right, int) and right < 0:
        return _floordiv(mul(left, -1), -right)
    if not isinstance(right, int):
        return _floordiv_symbolic(left, right)
    if right == 0:
        return floordiv(left, right)
    quotient, rest = _split(polynomial(left), right)
    return add(quotient, _floordiv_rest(rest, right))


def _floordiv_rest(rest: Sint, divisor: int) -> Sint:
    """`rest` // `divisor` where no term is a multiple and the constant lies in [0, divisor).

    Law: if value = g*a + b with g | divisor and b // g = k everywhere,
    value // divisor = (a + k) // (divisor / g).
    """
    known = _bucket(rest, divisor)
    if known is not None:
        return known
    for factor in _factors(rest, divisor):
        above, below = _split(polynomial(rest), factor)
        below_quotient = _bucket(below, factor)
        if below_quotient is not None:
            return _floordiv(add(above, below_quotient), divisor // factor)
    return _floordiv_atom(rest, divisor)


def _floordiv_atom(rest: Sint, divisor: int) -> Sint:
    """Law: (x // d + k) // c = (x + k*d) // (d*c), x % (c*m) // c = x // c % m, for d, c > 0."""
    match polynomial(rest):
        case (((Binary(IndexOp.FLOORDIV, x, Int(d)),), 1), *constant) if d > 0:
            shift = constant[0][1] if constant else 0
            if len(constant) <= 1 and not (constant and constant[0][0]):
                return _floordiv(add(x, shift * d), d * divisor)
        case (((Binary(IndexOp.MOD, x, Int(d)),), 1),) if d > 0 and d % divisor == 0:
            return _mod(_floordiv(sint_of(x), divisor), d // divisor)
        case _:
            pass
    return floordiv(rest, divisor)


def sint_of(expr: Expr) -> Sint:
    """The canonical Sint of a node that may be a constant."""
    return expr.value if isinstance(expr, Int) else expr


def _mod(left: Sint, right: Sint) -> Sint:
    if not isinstance(right, int):
        return _mod_symbolic(left, right)
    if right <= 0:
        return mod(left, right) if right == 0 else mul(_mod(mul(left, -1), -right), -1)
    _, rest = _split(_without_inner_mods(left, right), right)
    return _mod_rest(rest, right)


def _without_inner_mods(left: Sint, divisor: int) -> Polynomial:
    """Law: (x % (c*m) + y) % c = (x + y) % c, as often as it applies."""
    total: Sint = 0
    for monomial, coefficient in polynomial(left):
        match monomial:
            case (Binary(IndexOp.MOD, x, Int(d)),) if d and coefficient * d % divisor == 0:
                total = add(total, mul(sint_of(x), coefficient))
            case _:
                total = add(total, polynomial_sum([(monomial, coefficient)]))
    terms = polynomial(total)
    return terms if terms == polynomial(left) else _without_inner_mods(total, divisor)


def _mod_rest(rest: Sint, divisor: int) -> Sint:
    """Law: value % c = value - k*c where value // c = k everywhere; coefficients count modulo c.

    Law: if value = g*a + b with g | c and b // g = k everywhere,
    value % c = g * ((a + k) % (c / g)) + b - k*g.
    """
    reduced = polynomial_sum((m, c % divisor) for m, c in polynomial(rest))
    for form in (rest, reduced):
        known = _bucket(form, divisor)
        if known is not None:
            return add(form, -known * divisor)
    for form in (rest, reduced):
        for factor in _factors(form, divisor):
            above, below = _split(polynomial(form), factor)
            known = _bucket(below, factor)
            if known is not None:
                outer = _mod(add(above, known), divisor // factor)
                return add(mul(outer, factor), below, -known * factor)
    return mod(reduced, divisor)


def _divide_polynomial(value: Sint, divisor: Expr) -> tuple[Sint, Sint]:
    """(q, r) with value = q * divisor + r; q takes what divides term by term."""
    lead, lead_coefficient = max(polynomial(divisor), key=lambda term: len(term[0]))
    quotient: Sint = 0
    for monomial, coefficient in polynomial(value):
        cofactor = _cofactor(monomial, lead)
        if cofactor is None or coefficient % lead_coefficient:
            continue
        part = polynomial_sum([(cofactor, coefficient // lead_coefficient)])
        smaller = add(value, mul(mul(part, divisor), -1))
        if len(polynomial(smaller)) <= len(polynomial(value)) - len(polynomial(divisor)):
            quotient, value = add(quotient, part), smaller
    return quotient, value


def _cofactor(monomial: Monomial, factor: Monomial) -> Monomial | None:
    left = list(monomial)
    for atom in factor:
        if atom not in left:
            return None
        left.remove(atom)
    return tuple(left)


def _floordiv_symbolic(left: Sint, right: Expr) -> Sint:
    """Law: (q*n + r) // n = q + r // n for n != 0, and r // n = 0 where 0 <= r < n."""
    if not is_surely_lt(0, right):
        return floordiv(left, right)
    quotient, rest = _divide_polynomial(left, right)
    if is_surely_ge(rest, 0) and is_surely_lt(rest, right):
        return quotient
    return add(quotient, floordiv(rest, right))


def _mod_symbolic(left: Sint, right: Expr) -> Sint:
    """Law: (q*n + r) % n = r % n for n != 0, and r % n = r where 0 <= r < n."""
    if not is_surely_lt(0, right):
        return mod(left, right)
    _, rest = _divide_polynomial(left, right)
    if is_surely_ge(rest, 0) and is_surely_lt(rest, right):
        return rest
    return mod(rest, right)


def _cdiv(left: Sint, right: Sint) -> Sint:
    """Law: C division is floor division of the magnitudes, with the sign of both."""
    if is_surely_lt(right, 0):
        return mul(_cdiv(left, mul(right, -1)), -1)
    if is_surely_lt(0, right):
        if is_surely_ge(left, 0):
            return _floordiv(left, right)
        if is_surely_ge(0, left):
            return mul(_floordiv(mul(left, -1), right), -1)
    return cdiv(left, right)


def _cmod(left: Sint, right: Sint) -> Sint:
    """Law: the C remainder is the floor remainder of the magnitudes, with the dividend's sign."""
    if is_surely_lt(right, 0):
        return _cmod(left, mul(right, -1))
    if is_surely_lt(0, right):
        if is_surely_ge(left, 0):
            return _mod(left, right)
        if is_surely_ge(0, left):
            return mul(_mod(mul(left, -1), right), -1)
    return cmod(left, right)


def _lt(left: Sint, right: Sint) -> Sint:
    """One side each for positive and negative terms, the constant moved to one side, gcd out.

    Law: if left - right = g*a + b with b // g = k everywhere, then g*a + b < 0 <=> a + k < 0.
    """
    difference = add(left, mul(right, -1))
    low, high = bounds(difference)
    if high < 0 or low >= 0:
        return int(high < 0)
    for factor in sorted({abs(c) for m, c in polynomial(difference) if m}, reverse=True):
        if factor > 1:
            above, below = _split(polynomial(difference), factor)
            known = _bucket(below, factor)
            if known is not None:
                return _lt(add(above, known), 0)
    terms = polynomial(difference)
    positive = polynomial_sum((m, c) for m, c in terms if m and c > 0)
    negative = polynomial_sum((m, -c) for m, c in terms if m and c < 0)
    constant = next((c for m, c in terms if not m), 0)
    if positive == 0:
        return lt(constant, negative)
    return lt(positive, add(negative, -constant))


def _and(left: Sint, right: Sint) -> Sint:
    """Each condition once, in order; a false one makes all false, a true one drops out."""
    kept: set[Expr] = set()
    for condition in (*_conditions(left), *_conditions(right)):
        low, high = bounds(condition)
        if low == high == 0:
            return 0
        if not (low > 0 or high < 0):
            kept.add(condition)
    return and_(*sorted(kept, key=order_key))


def _conditions(value: Sint) -> tuple[Expr, ...]:
    match value:
        case Binary(IndexOp.AND, left, right):
            return (*_conditions(left), *_conditions(right))
        case _:
            return (as_expr(value),)


_RULES = {
    IndexOp.FLOORDIV: _floordiv,
    IndexOp.MOD: _mod,
    IndexOp.CDIV: _cdiv,
    IndexOp.CMOD: _cmod,
    IndexOp.LT: _lt,
    IndexOp.AND: _and,
}
