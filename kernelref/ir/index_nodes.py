"""Nodes of index expressions, and the arithmetic that keeps them in one canonical form.

A canonical expression is a polynomial over atoms (variables, divisions, remainders, conditions):
monomials in a fixed order with integer coefficients, the constant last. So two expressions that
are equal as polynomials are the same object. Nothing here looks at bounds: `index_simplify` does.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, TypeAlias

from kernelref.ir.interned import Interned


class IndexOp(enum.Enum):
    """Integer operations. Conditions are integers too: 1 is true, 0 is false.

    FLOORDIV and MOD round towards minus infinity (Python); CDIV and CMOD towards zero (C).
    """

    ADD = "+"
    MUL = "*"
    FLOORDIV = "//"
    MOD = "%"
    CDIV = "cdiv"
    CMOD = "cmod"
    LT = "<"
    AND = "and"

    # A member is one object, so its identity tells it; Enum's own hash runs Python code.
    __hash__ = object.__hash__


@dataclass(frozen=True, slots=True, eq=False)
class Expr(Interned):
    """Base of index expressions. Operators give canonical forms, a plain int when constant.

    `<` is not overloaded, so that an undecided comparison never passes for a bool: see `lt`.
    """

    def __add__(self, other: Sint) -> Sint:
        return add(self, other)

    def __radd__(self, other: int) -> Sint:
        return add(self, other)

    def __sub__(self, other: Sint) -> Sint:
        return add(self, mul(other, -1))

    def __rsub__(self, other: int) -> Sint:
        return add(mul(self, -1), other)

    def __neg__(self) -> Sint:
        return mul(self, -1)

    def __mul__(self, other: Sint) -> Sint:
        return mul(self, other)

    def __rmul__(self, other: int) -> Sint:
        return mul(self, other)

    def __floordiv__(self, other: Sint) -> Sint:
        return floordiv(self, other)

    def __rfloordiv__(self, other: int) -> Sint:
        return floordiv(other, self)

    def __mod__(self, other: Sint) -> Sint:
        return mod(self, other)

    def __rmod__(self, other: int) -> Sint:
        return mod(other, self)


@dataclass(frozen=True, slots=True, eq=False)
class Int(Expr):
    """A constant, as an operand of a node; on its own a constant is a plain int."""

    value: int

    def __str__(self) -> str:
        return str(self.value)


@dataclass(frozen=True, slots=True, eq=False)
class Var(Expr):
    """A bounded variable: an axis, a launch id or a symbolic extent. Both bounds are inclusive."""

    name: str
    low: int
    high: Sint

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True, eq=False)
class Binary(Expr):
    """One operation on two expressions. `terms` of a sum or product: `polynomial`, once asked."""

    op: IndexOp
    left: Expr
    right: Expr
    terms: Polynomial | None = field(init=False, default=None, repr=False)

    def __str__(self) -> str:
        return f"({self.left}{_SPELLING[self.op]}{self.right})"


_OF_TERMS = frozenset({IndexOp.ADD, IndexOp.MUL})
_SPELLING = {op: op.value if len(op.value) < 3 else f" {op.value} " for op in IndexOp}

Sint: TypeAlias = int | Expr
Monomial: TypeAlias = tuple[Expr, ...]
"""A product of atoms in order; () is the monomial of the constant."""
Polynomial: TypeAlias = tuple[tuple[Monomial, int], ...]
"""Monomials in order with coefficients that are not 0; the constant, if any, last."""


def sint(value: Sint) -> Sint:
    """The canonical Sint: a constant as a plain int, anything else unchanged."""
    return value.value if type(value) is Int else value


def as_expr(value: Sint) -> Expr:
    """A plain int as a node, for consumers that want nodes only."""
    return value if isinstance(value, Expr) else Int(int(value))


@lru_cache(maxsize=1 << 14)
def order_key(expr: Expr) -> tuple[Any, ...]:
    """Orders expressions by structure, so that canonical forms do not depend on history."""
    match expr:
        case Int(value):
            return (0, value)
        case Var(name, low, high):
            return (1, len(name), name, low, order_key(as_expr(high)))
        case Binary(op, left, right):
            return (2, op.value, order_key(left), order_key(right))
    raise AssertionError(f"not an index expression: {expr!r}")


@lru_cache(maxsize=1 << 14)
def _monomial_key(monomial: Monomial) -> tuple[Any, ...]:
    return (not monomial, *(order_key(atom) for atom in monomial))


def _sorted_polynomial(coefficients: dict[Monomial, int]) -> Polynomial:
    kept = [term for term in coefficients.items() if term[1]]
    if len(kept) > 1:
        kept.sort(key=_term_key)
    return tuple(kept)


def _term_key(term: tuple[Monomial, int]) -> tuple[Any, ...]:
    return _monomial_key(term[0])


def _sum_polynomials(*polynomials: Polynomial) -> Polynomial:
    total: dict[Monomial, int] = {}
    for polynomial in polynomials:
        for monomial, c in polynomial:
            if monomial in total:
                total[monomial] += c
            else:
                total[monomial] = c
    return _sorted_polynomial(total)


def _product_of_polynomials(left: Polynomial, right: Polynomial) -> Polynomial:
    total: dict[Monomial, int] = {}
    for a, ca in left:
        for b, cb in right:
            monomial = tuple(sorted(a + b, key=order_key)) if a and b else a + b
            total[monomial] = total.get(monomial, 0) + ca * cb
    return _sorted_polynomial(total)


def polynomial(value: Sint) -> Polynomial:
    """The monomials and coefficients of an expression, canonical or not."""
    if isinstance(value, Expr):
        return _polynomial(value)
    return (((), int(value)),) if value else ()


def _polynomial(expr: Expr) -> Polynomial:
    match expr:
        case Binary(IndexOp.ADD | IndexOp.MUL as op, left, right):
            if expr.terms is None:
                combine = _sum_polynomials if op is IndexOp.ADD else _product_of_polynomials
                _remember(expr, combine(_polynomial(left), _polynomial(right)))
            assert expr.terms is not None
            return expr.terms
        case Int(value):
            return polynomial(value)
        case _:
            return (((expr,), 1),)


def _remember(node: Binary, terms: Polynomial) -> None:
    # Terms hold what is below the node, so they are no cycle, and go when it goes.
    object.__setattr__(node, "terms", terms)


@lru_cache(maxsize=1 << 14)
def from_polynomial(terms: Polynomial) -> Sint:
    """The canonical expression of a polynomial whose monomials are in order."""
    total: Expr | None = None
    for monomial, coefficient in terms:
        term: Expr
        if not monomial:
            if total is None:
                return coefficient
            term = Int(coefficient)
        else:
            term = monomial[0]
            for atom in monomial[1:]:
                term = Binary(IndexOp.MUL, term, atom)
            if coefficient != 1:
                term = Binary(IndexOp.MUL, term, Int(coefficient))
        total = term if total is None else Binary(IndexOp.ADD, total, term)
    if total is None:
        return 0
    if isinstance(total, Binary) and total.op in _OF_TERMS:
        _remember(total, terms)
    return total


def polynomial_sum(terms: Iterable[tuple[Monomial, int]]) -> Sint:
    """The canonical sum of monomials in any order, with coefficients."""
    return from_polynomial(_sum_polynomials(tuple(terms)))


def add(*values: Sint) -> Sint:
    """The sum."""
    constant = 0
    parts: list[Expr] = []
    for value in values:
        if isinstance(value, int):
            constant += value
        else:
            parts.append(value)
    if not parts:
        return constant
    return _sum(tuple(parts), constant)


@lru_cache(maxsize=1 << 14)
def _sum(parts: tuple[Expr, ...], constant: int) -> Sint:
    return from_polynomial(_sum_polynomials(*map(_polynomial, parts), polynomial(constant)))


def mul(left: Sint, right: Sint) -> Sint:
    """The product, distributed over sums."""
    if isinstance(left, int):
        if isinstance(right, int):
            return left * right
        return _product(right, left)
    return _product(left, right)


@lru_cache(maxsize=1 << 14)
def _product(left: Expr, right: Sint) -> Sint:
    return from_polynomial(_product_of_polynomials(_polynomial(left), polynomial(right)))


def product(values: Iterable[Sint]) -> Sint:
    """The product of all values, 1 if there is none."""
    total: Sint = 1
    for value in values:
        total = mul(total, value)
    return total


def _binary(op: IndexOp, left: Sint, right: Sint) -> Expr:
    return Binary(op, as_expr(left), as_expr(right))


def truncated(a: int, b: int) -> int:
    """The quotient rounded towards zero."""
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def floordiv(left: Sint, right: Sint) -> Sint:
    """Division that rounds towards minus infinity."""
    left, right = sint(left), sint(right)
    if isinstance(left, int) and isinstance(right, int) and right:
        return left // right
    return left if right == 1 else _binary(IndexOp.FLOORDIV, left, right)


def mod(left: Sint, right: Sint) -> Sint:
    """The remainder of `floordiv`: it has the sign of the divisor."""
    left, right = sint(left), sint(right)
    if isinstance(left, int) and isinstance(right, int) and right:
        return left % right
    return 0 if right == 1 else _binary(IndexOp.MOD, left, right)


def cdiv(left: Sint, right: Sint) -> Sint:
    """Division that rounds towards zero, as in C."""
    left, right = sint(left), sint(right)
    if isinstance(left, int) and isinstance(right, int) and right:
        return truncated(left, right)
    return left if right == 1 else _binary(IndexOp.CDIV, left, right)


def cmod(left: Sint, right: Sint) -> Sint:
    """The remainder of `cdiv`: it has the sign of the dividend."""
    left, right = sint(left), sint(right)
    if isinstance(left, int) and isinstance(right, int) and right:
        return left - truncated(left, right) * right
    return 0 if right in (1, -1) else _binary(IndexOp.CMOD, left, right)


def lt(left: Sint, right: Sint) -> Sint:
    """The condition `left < right`."""
    left, right = sint(left), sint(right)
    if isinstance(left, int) and isinstance(right, int):
        return int(left < right)
    return 0 if left is right else _binary(IndexOp.LT, left, right)


def ge(left: Sint, right: Sint) -> Sint:
    """The condition `left >= right`."""
    return lt(right, add(left, 1))


def and_(*conditions: Sint) -> Sint:
    """The condition that all hold; 1 if there is none. Any integer but 0 counts as true."""
    kept: Expr | None = None
    for condition in map(sint, conditions):
        if condition == 0:
            return 0
        if isinstance(condition, Expr):
            kept = condition if kept is None else Binary(IndexOp.AND, kept, condition)
    match kept:
        case None:
            return 1
        case Binary(IndexOp.LT | IndexOp.AND):
            return kept
        case _:
            return Binary(IndexOp.AND, kept, kept)
