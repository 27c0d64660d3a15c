"""Integer index expressions: what an address or a validity condition is, as a function of axes.

Read `evaluate` first: it alone says what an expression means. Everything else (`bounds`,
`simplify`, the operators' canonical forms) is tested against it.

An extent, stride or offset is a `Sint`: a plain int, or an `Expr` when it depends on a symbolic
variable. Canonical Sints never hold an `Int` node: `sint` turns one back into a plain int.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True, eq=False)
class Expr(Interned):
    """Base of index expressions."""


@dataclass(frozen=True, slots=True, eq=False)
class Int(Expr):
    """A constant."""

    value: int


@dataclass(frozen=True, slots=True, eq=False)
class Var(Expr):
    """A bounded variable: an axis, a launch id or a symbolic extent. Both bounds are inclusive."""

    name: str
    low: int
    high: Sint


@dataclass(frozen=True, slots=True, eq=False)
class Binary(Expr):
    """One operation on two expressions."""

    op: IndexOp
    left: Expr
    right: Expr


Sint: TypeAlias = int | Expr


def evaluate(expr: Sint, values: Mapping[str, Any]) -> Any:
    """What `expr` means: an int, or a numpy array where `values` holds arrays (they broadcast).

    Raises: KeyError for a variable without a value; ZeroDivisionError for a scalar division by 0.
    """
    match expr:
        case int():
            return expr
        case Int(value):
            return value
        case Var(name):
            return values[name]
        case Binary(op, left, right):
            a, b = evaluate(left, values), evaluate(right, values)
            match op:
                case IndexOp.ADD:
                    return a + b
                case IndexOp.MUL:
                    return a * b
                case IndexOp.FLOORDIV:
                    return a // b
                case IndexOp.MOD:
                    return a % b
                case IndexOp.CDIV:
                    return _truncating_quotient(a, b)
                case IndexOp.CMOD:
                    return a - _truncating_quotient(a, b) * b
                case IndexOp.LT:
                    return (a < b) * 1
                case IndexOp.AND:
                    return (a != 0) * 1 & (b != 0) * 1
    raise AssertionError(f"not an index expression: {expr!r}")


def _truncating_quotient(a: Any, b: Any) -> Any:
    """C division: the quotient of the magnitudes, negated when the signs differ."""
    return abs(a) // abs(b) * (1 - 2 * (((a < 0) * 1) ^ ((b < 0) * 1)))
