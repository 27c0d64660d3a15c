"""Terms: index expressions that stand where the meaning functions expect numbers.

`ShapeTracker.address` and `AxisMap.apply` use `+ * // % < >= &` on what they are given. Given Terms
they write down, in canonical but unsimplified form, what they would have computed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kernelref.ir.index import (
    Binary,
    IndexOp,
    Sint,
    Var,
    add,
    evaluate,
    floordiv,
    ge,
    lt,
    mod,
    mul,
    substitute,
    variables,
)
from kernelref.prove.claim import Claim, Fact, Lift


class Term:
    """One expression. Law: evaluating `expr` gives what the same operations give on ints.

    A sum is kept as its parts until it is asked for: an address adds up axis by axis.
    """

    __slots__ = ("_parts",)

    def __init__(self, *parts: Sint) -> None:
        self._parts = parts

    @property
    def expr(self) -> Sint:
        """The expression."""
        if len(self._parts) > 1:
            self._parts = (add(*self._parts),)
        return self._parts[0]

    def __add__(self, other: Any) -> Term:
        return Term(*self._parts, *(other._parts if isinstance(other, Term) else (raw(other),)))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Term:
        return Term(*self._parts, mul(raw(other), -1))

    def __rsub__(self, other: Any) -> Term:
        return Term(raw(other), mul(self.expr, -1))

    def __mul__(self, other: Any) -> Term:
        return Term(mul(self.expr, raw(other)))

    __rmul__ = __mul__

    def __floordiv__(self, other: Any) -> Term:
        return Term(floordiv(self.expr, raw(other)))

    def __rfloordiv__(self, other: Any) -> Term:
        return Term(floordiv(raw(other), self.expr))

    def __mod__(self, other: Any) -> Term:
        return Term(mod(self.expr, raw(other)))

    def __rmod__(self, other: Any) -> Term:
        return Term(mod(raw(other), self.expr))

    def __lt__(self, other: Any) -> Term:
        return Term(lt(self.expr, raw(other)))

    def __ge__(self, other: Any) -> Term:
        return Term(ge(self.expr, raw(other)))

    def __gt__(self, other: Any) -> Term:
        return Term(lt(raw(other), self.expr))

    def __le__(self, other: Any) -> Term:
        return Term(ge(raw(other), self.expr))

    def __and__(self, other: Any) -> Term:
        # Not by the canonical `and_`, which optimizer and lowering use: a fault there would hide.
        left, right = self.expr, raw(other)
        if isinstance(left, int) or isinstance(right, int):
            return Term(left * right)
        return Term(Binary(IndexOp.AND, left, right))

    __rand__ = __and__


def raw(value: Any) -> Sint:
    """The expression of a Term, of a plain number or of a truth value."""
    if isinstance(value, Term):
        return value.expr
    return int(value) if isinstance(value, bool) else value


def coordinates(claim: Claim, mark: str = "x") -> tuple[Any, ...]:
    """One Term an axis of the box, named x.0, x.1, ...: no symbol is spelled so. 0 for one of 1."""
    return tuple(
        0 if extent == 1 else Term(Var(f"{mark}.{axis}", 0, add(extent, -1)))
        for axis, extent in enumerate(claim.box)
    )


def written(fact: Fact) -> tuple[Sint, Sint, Sint]:
    """A fact about Terms as expressions: where, left, right."""
    return raw(fact.where), raw(fact.left), raw(fact.right)


def at(expr: Sint, named: Mapping[str, Any], lift: Lift) -> Any:
    """An index expression where its variables stand as `named` says; symbols are lifted."""
    if isinstance(expr, int):
        return expr
    values = {v.name: named[v.name] if v.name in named else lift(v) for v in variables(expr)}
    if any(isinstance(value, Term) for value in values.values()):
        return Term(substitute(expr, {name: raw(value) for name, value in values.items()}))
    return evaluate(expr, values)
