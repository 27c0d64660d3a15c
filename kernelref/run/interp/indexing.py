"""Index expressions of a Program, computed for all work-items, in the width the text uses.

Law: the value of `evaluate`, and where the text computes in int, every part fits 32 bits. Values
come with an interval that holds them; only where the interval leaves a limit are they looked at.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from kernelref.ir.index import Binary, Expr, IndexOp, Int, Sint, Var
from kernelref.ir.semantics import Array

INT_LOW, INT_HIGH = -(2**31), 2**31 - 1


@dataclass(frozen=True, slots=True)
class Index:
    """A value (int, or array that broadcasts over work-items and iterations) in [low, high]."""

    value: Any
    low: int
    high: int

    @staticmethod
    def of(value: int | Array) -> Index:
        """A known value with its tightest interval."""
        if isinstance(value, int):
            return Index(value, value, value)
        return Index(value, int(value.min()), int(value.max()))


@dataclass(slots=True)
class Indices:
    """The index variables of one block, and what was computed from them already.

    `check_int` gets each expression that may not fit int, with its value.
    """

    wide: frozenset[Expr]
    check_int: Callable[[Expr, Any], None]
    outer: Indices | None = None
    variables: dict[str, Index] = field(default_factory=dict)
    known: dict[tuple[Expr, bool], Index] = field(default_factory=dict)

    def inner(self) -> Indices:
        """The scope of a block inside this one."""
        return Indices(self.wide, self.check_int, self, dict(self.variables))

    def __call__(self, expr: Sint) -> Index:
        """The value of an expression."""
        if isinstance(expr, int):
            return Index(expr, expr, expr)
        return self._at(expr, is_wide=expr in self.wide)

    def _at(self, expr: Expr, *, is_wide: bool) -> Index:
        scope: Indices | None = self
        while scope is not None:
            if (found := scope.known.get((expr, is_wide))) is not None:
                return found
            scope = scope.outer
        match expr:
            case Int(value):
                result = Index(value, value, value)
            case Var(name):
                result = self.variables[name]
            case Binary(op, left, right):
                result = compute(
                    op, self._at(left, is_wide=is_wide), self._at(right, is_wide=is_wide)
                )
            case _:
                raise AssertionError(f"not an index expression: {expr!r}")
        if not is_wide and (result.low < INT_LOW or result.high > INT_HIGH):
            self.check_int(expr, result.value)
            result = Index.of(result.value)
        self.known[expr, is_wide] = result
        return result


def compute(op: IndexOp, a: Index, b: Index) -> Index:
    """One operation, as `ir.index.evaluate` defines it, with an interval for its results."""
    x, y = a.value, b.value
    match op:
        case IndexOp.ADD:
            return Index(x + y, a.low + b.low, a.high + b.high)
        case IndexOp.MUL:
            ends = (a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high)
            return Index(x * y, min(ends), max(ends))
        case IndexOp.LT:
            return Index((x < y) * 1, 0, 1)
        case IndexOp.AND:
            return Index((x != 0) * 1 & (y != 0) * 1, 0, 1)
        case IndexOp.FLOORDIV:
            if b.low == b.high > 0:
                return Index(x // y, a.low // b.low, a.high // b.low)
            return Index.of(x // y)
        case IndexOp.MOD:
            if b.low == b.high > 0:
                return Index(x % y, 0, b.low - 1)
            return Index.of(x % y)
        case IndexOp.CDIV | IndexOp.CMOD:
            sign = 1 - 2 * (((x < 0) * 1) ^ ((y < 0) * 1))
            quotient = abs(x) // abs(y) * sign
            return Index.of(quotient if op is IndexOp.CDIV else x - quotient * y)
    raise AssertionError(f"no index operation: {op}")
