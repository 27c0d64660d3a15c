"""Index expressions as JSON: an int, a variable's name, or [operator, operands...].

`(1+pos)*64` is ["*", ["+", 1, "pos"], 64] as a person may write it; reading gives the canonical
form, and writing a canonical form gives the same text again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from kernelref.errors import InvalidInput
from kernelref.ir.index import (
    Binary,
    IndexOp,
    Int,
    Sint,
    Var,
    add,
    and_,
    cdiv,
    cmod,
    floordiv,
    lt,
    mod,
    mul,
    polynomial,
    variables,
)

Json: TypeAlias = Any
MAX_OPERANDS = 64
MAX_DEPTH = 32
MAX_TERMS = 256

_FUNCTIONS: dict[IndexOp, Callable[[Sint, Sint], Sint]] = {
    IndexOp.ADD: add,
    IndexOp.MUL: mul,
    IndexOp.FLOORDIV: floordiv,
    IndexOp.MOD: mod,
    IndexOp.CDIV: cdiv,
    IndexOp.CMOD: cmod,
    IndexOp.LT: lt,
    IndexOp.AND: and_,
}
_DIVISIONS = frozenset({IndexOp.FLOORDIV, IndexOp.MOD, IndexOp.CDIV, IndexOp.CMOD})
_JOINING = frozenset({IndexOp.ADD, IndexOp.MUL, IndexOp.AND})


def expression_to_json(value: Sint) -> Json:
    """The JSON form of an index expression."""
    match value:
        case int():
            return value
        case Int(number):
            return number
        case Var(name):
            return name
        case Binary(op, left, right):
            first, last = expression_to_json(left), expression_to_json(right)
            if op in _JOINING and isinstance(first, list) and first[0] == op.value:
                return [*first, last]
            return [op.value, first, last]
    raise AssertionError(f"not an index expression: {value!r}")


def expression_from_json(document: Json, symbols: Mapping[str, Var], where: str) -> Sint:
    """The expression that `document` is.

    Raises: InvalidInput naming `where`.
    """
    return _expression(document, symbols, where, MAX_DEPTH)


def _expression(document: Json, symbols: Mapping[str, Var], where: str, depth: int) -> Sint:
    match document:
        case bool():
            pass
        case int():
            return document
        case str():
            if document in symbols:
                return symbols[document]
            raise InvalidInput(f"variable {document} is not in vars", where=where)
        case [str() as spelling, _, _, *_]:
            if spelling not in _SPELLINGS:
                raise InvalidInput(f"unknown operator {spelling[:20]}", where=where)
            if depth == 0 or len(document) > MAX_OPERANDS + 1:
                raise InvalidInput("an expression too large to be meant", where=where)
            operands = [_expression(item, symbols, where, depth - 1) for item in document[1:]]
            return _applied(IndexOp(spelling), operands, where)
    raise InvalidInput(f"{str(document)[:40]} is no index expression", where=where)


_SPELLINGS = frozenset(op.value for op in IndexOp)


def _applied(op: IndexOp, operands: list[Sint], where: str) -> Sint:
    if op not in _JOINING and len(operands) != 2:
        raise InvalidInput(f"{op.value} has {len(operands)} operands, not 2", where=where)
    if op in _DIVISIONS and (not isinstance(operands[1], int) or operands[1] < 1):
        raise InvalidInput(f"{op.value} by {operands[1]}", where=where)
    result = operands[0]
    for operand in operands[1:]:
        # A product of sums is expanded: without a bound a short text takes for ever.
        if op is IndexOp.MUL and _terms(result) * _terms(operand) > MAX_TERMS:
            raise InvalidInput(f"a product of more than {MAX_TERMS} terms", where=where)
        result = _FUNCTIONS[op](result, operand)
    return result


def _terms(value: Sint) -> int:
    return len(polynomial(value))


def variables_to_json(symbols: Iterable[Var], values: Mapping[str, int]) -> Json:
    """`{name: {low, high, value}}`, those that a bound refers to first; no value, no key."""
    document = {}
    for symbol in _dependencies_first(symbols):
        bounds = {"low": symbol.low, "high": expression_to_json(symbol.high)}
        given = {"value": values[symbol.name]} if symbol.name in values else {}
        document[symbol.name] = bounds | given
    return document


def _dependencies_first(symbols: Iterable[Var]) -> list[Var]:
    every = frozenset[Var]().union(*map(variables, symbols))
    return sorted(every, key=lambda symbol: (len(variables(symbol)), symbol.name))


def variables_from_json(document: Json) -> tuple[dict[str, Var], dict[str, int]]:
    """The variables by name, and the values given for them."""
    symbols: dict[str, Var] = {}
    values: dict[str, int] = {}
    for name, entry in document.items():
        where = f"vars.{name}"
        high = expression_from_json(entry["high"], symbols, f"{where}.high")
        if isinstance(high, int) and high < entry["low"]:
            raise InvalidInput(f"no value from {entry['low']} to {high}", where=where)
        symbols[name] = Var(name, entry["low"], high)
        if "value" in entry:
            values[name] = entry["value"]
            if not entry["low"] <= values[name] or (isinstance(high, int) and values[name] > high):
                raise InvalidInput(f"{values[name]} is outside its bounds", where=where)
    return symbols, values
