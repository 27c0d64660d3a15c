"""Integer index expressions: what an address or a validity condition is, as a function of axes.

Read `evaluate` first: it alone says what an expression means. Everything else (`bounds`,
`simplify`, the operators' canonical forms) is tested against it. This module is the door to
`index_nodes` (nodes and operators), `index_bounds` and `index_simplify`.

An extent, stride or offset is a `Sint`: a plain int, or an `Expr` when it depends on a symbolic
variable. Canonical Sints never hold an `Int` node: `sint` turns one back into a plain int.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from kernelref.ir.index_bounds import (
    bounds,
    is_possibly_ge,
    is_possibly_gt,
    is_possibly_le,
    is_possibly_lt,
    is_surely_ge,
    is_surely_lt,
)
from kernelref.ir.index_nodes import (
    Binary,
    Expr,
    IndexOp,
    Int,
    Monomial,
    Sint,
    Var,
    add,
    and_,
    as_expr,
    cdiv,
    cmod,
    floordiv,
    ge,
    lt,
    mod,
    mul,
    polynomial,
    polynomial_sum,
    product,
    sint,
)
from kernelref.ir.index_simplify import simplify

__all__ = [
    "Binary",
    "Expr",
    "IndexOp",
    "Int",
    "Sint",
    "Var",
    "add",
    "and_",
    "as_expr",
    "bounds",
    "cdiv",
    "cmod",
    "evaluate",
    "floordiv",
    "ge",
    "is_possibly_ge",
    "is_possibly_gt",
    "is_possibly_le",
    "is_possibly_lt",
    "is_surely_ge",
    "is_surely_lt",
    "lt",
    "mod",
    "mul",
    "polynomial",
    "polynomial_sum",
    "product",
    "simplify",
    "sint",
    "substitute",
    "variables",
]


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


@lru_cache(maxsize=1 << 14)
def variables(expr: Sint) -> frozenset[Var]:
    """The variables that `expr` reads, those in symbolic bounds too."""
    match expr:
        case Var(_, _, high):
            return variables(high) | {expr}
        case Binary(_, left, right):
            return variables(left) | variables(right)
        case _:
            return frozenset()


def substitute(expr: Sint, values: Mapping[str, Sint]) -> Sint:
    """`expr` with variables replaced by name, in canonical form; bounds of the others as well."""
    return _substitute(expr, values, {}) if isinstance(expr, Expr) else expr


def _substitute(expr: Expr, values: Mapping[str, Sint], known: dict[Expr, Sint]) -> Sint:
    """`known` holds what is done: an address shares most of its parts."""
    result: Sint
    if type(expr) is Var:
        if expr.name in values:
            return sint(values[expr.name])
        if isinstance(expr.high, int):
            return expr
    if expr in known:
        return known[expr]
    match expr:
        case Var(name, low, high):
            result = Var(name, low, _substitute(as_expr(high), values, known))
        case Binary(IndexOp.ADD | IndexOp.MUL):
            # One sum of all terms, not one for each node of the chain.
            terms: list[tuple[Monomial, int]] = []
            for monomial, c in polynomial(expr):
                atoms = [_substitute(atom, values, known) for atom in monomial]
                inner = atoms[0] if len(atoms) == 1 else product(atoms)
                if isinstance(inner, int):
                    terms.append(((), c * inner))
                elif len(atoms) == 1 and inner is monomial[0]:
                    terms.append((monomial, c))
                else:
                    terms += [(names, c * k) for names, k in polynomial(inner)]
            result = polynomial_sum(terms)
        case Binary(op, left, right):
            ends = _substitute(left, values, known), _substitute(right, values, known)
            result = _APPLY[op](*ends)
        case Int(value):
            result = value
        case _:
            raise AssertionError(f"not an index expression: {expr!r}")
    known[expr] = result
    return result


_APPLY: dict[IndexOp, Callable[[Sint, Sint], Sint]] = {
    IndexOp.ADD: add,
    IndexOp.MUL: mul,
    IndexOp.FLOORDIV: floordiv,
    IndexOp.MOD: mod,
    IndexOp.CDIV: cdiv,
    IndexOp.CMOD: cmod,
    IndexOp.LT: lt,
    IndexOp.AND: and_,
}
