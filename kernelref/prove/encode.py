"""Index expressions as Z3 terms: in integers (`structured`) or in bit-vectors.

In integers a quotient by a constant is a fresh variable: p = d*q + r, 0 <= r < d. That is linear,
and the only divisions are those of views, because axis maps are sums of digits. Bit-vectors are
wide enough that nothing wraps; the caller says how wide.

C's division truncates, Python's floors and Z3's is Euclidean: `floor_quotient` and
`truncated_quotient` say how the first two follow from what Z3 has, and are tested against numpy.
"""

from __future__ import annotations

from typing import Any

import z3  # type: ignore[import-untyped]  # z3 ships without types

from kernelref.errors import Unsupported
from kernelref.ir.index import Binary, Expr, IndexOp, Int, Sint, Var


class Encoding:
    """Terms of one context. `bits` None: integers. `facts` hold of all variables that occur."""

    def __init__(self, context: Any, bits: int | None = None) -> None:
        self.context = context
        self.bits = bits
        self.facts: list[Any] = []
        self.variables: dict[str, Any] = {}
        self._known: dict[Expr, Any] = {}

    def constant(self, value: int) -> Any:
        """A number."""
        if self.bits is None:
            return z3.IntVal(value, self.context)
        return z3.BitVecVal(value, self.bits, self.context)

    def number(self, expr: Sint) -> Any:
        """The term of an expression; a condition counts 1 or 0."""
        if isinstance(expr, int):
            return self.constant(expr)
        if expr not in self._known:
            self._known[expr] = self._number(expr)
        return self._known[expr]

    def condition(self, expr: Sint) -> Any:
        """The truth of an expression: whether it is not 0."""
        match expr:
            case Binary(IndexOp.LT, left, right):
                return self.number(left) < self.number(right)
            case Binary(IndexOp.AND, left, right):
                return z3.And(self.condition(left), self.condition(right))
            case int():
                return z3.BoolVal(expr != 0, self.context)
            case _:
                return self.number(expr) != self.constant(0)

    def _number(self, expr: Expr) -> Any:
        match expr:
            case Int(value):
                return self.constant(value)
            case Var():
                return self._variable(expr)
            case Binary(IndexOp.ADD, left, right):
                return self.number(left) + self.number(right)
            case Binary(IndexOp.MUL, left, right):
                return self.number(left) * self.number(right)
            case Binary(IndexOp.FLOORDIV, left, right):
                return self._floor(left, right)
            case Binary(IndexOp.MOD, left, right):
                return self.number(left) - self.number(right) * self._floor(left, right)
            case Binary(IndexOp.CDIV, left, right):
                return truncated_quotient(self, self.number(left), self.number(right))
            case Binary(IndexOp.CMOD, left, right):
                a, b = self.number(left), self.number(right)
                return a - b * truncated_quotient(self, a, b)
            case Binary(IndexOp.LT | IndexOp.AND):
                return z3.If(self.condition(expr), self.constant(1), self.constant(0))
        raise AssertionError(f"not an index expression: {expr!r}")

    def _variable(self, var: Var) -> Any:
        if var.name in self.variables:
            raise AssertionError(f"two variables are called {var.name}")
        term = (
            z3.Int(var.name, self.context)
            if self.bits is None
            else z3.BitVec(var.name, self.bits, self.context)
        )
        self.variables[var.name] = term
        self.facts += [self.constant(var.low) <= term, term <= self.number(var.high)]
        return term

    def _floor(self, left: Expr, right: Expr) -> Any:
        quotient = Binary(IndexOp.FLOORDIV, left, right)
        if quotient in self._known:
            return self._known[quotient]
        p, d = self.number(left), self.number(right)
        if self.bits is None and isinstance(right, Int) and right.value > 0:
            result = z3.FreshInt("q", self.context)
            rest = p - d * result
            self.facts += [rest >= 0, rest < d]
        else:
            result = floor_quotient(self, p, d)
        self._known[quotient] = result
        return result


def floor_quotient(encoding: Encoding, a: Any, b: Any) -> Any:
    """The quotient rounded towards minus infinity, for b != 0."""
    zero, one = encoding.constant(0), encoding.constant(1)
    if encoding.bits is None:
        # Euclid's remainder is not negative, so for b > 0 his quotient is the floor.
        return z3.If(b > zero, a / b, (-a) / (-b))
    quotient = a / b
    rest = a - b * quotient
    inexact = z3.And(rest != zero, (rest < zero) != (b < zero))
    return z3.If(inexact, quotient - one, quotient)


def truncated_quotient(encoding: Encoding, a: Any, b: Any) -> Any:
    """The quotient rounded towards zero, as in C, for b != 0."""
    zero = encoding.constant(0)
    if encoding.bits is not None:
        return a / b
    size = z3.If(a < zero, -a, a) / z3.If(b < zero, -b, b)
    return z3.If((a < zero) != (b < zero), -size, size)


def check_divisors(expr: Sint, low_of: Any) -> None:
    """Refuse a division by something that may be 0. Raises: Unsupported."""
    match expr:
        case Binary(op, left, right):
            check_divisors(left, low_of)
            check_divisors(right, low_of)
            divides = (IndexOp.FLOORDIV, IndexOp.MOD, IndexOp.CDIV, IndexOp.CMOD)
            if op in divides and not (low_of(right) or 0) > 0:
                raise Unsupported("division-by-unknown", str(right))
        case _:
            pass
