"""Where two terms differ, down to the index expressions that must be equal for them to be equal."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import assert_never

import numpy as np

from kernelref.ir.index import Binary, Expr, IndexOp, Int, Sint, Var, bounds, evaluate, variables
from kernelref.ir.semantics import Array
from kernelref.prove.claim import Everywhere, Fact, Lift, Point, ordered
from kernelref.prove.program.asked import Stored
from kernelref.prove.program.values import (
    Applied,
    Binders,
    Const,
    Converted,
    Guarded,
    Id,
    Loaded,
    Node,
    Summed,
    Symbol,
    Table,
)
from kernelref.prove.terms import at

PLACES = 64
"""Places at which terms are looked at, to see which of them to compare."""


@dataclass(frozen=True, slots=True)
class Equation:
    """Two accesses that must agree: equal validity, and equal addresses where valid."""

    valid: Sint
    wanted_valid: Sint
    address: Sint
    wanted_address: Sint

    def __str__(self) -> str:
        return (
            f"{self.address} where {self.valid}, asked for {self.wanted_address} "
            f"where {self.wanted_valid}"
        )


class Unlike(Exception):  # noqa: N818 - the answer of a search, nothing is wrong with it
    """Terms that differ in more than index expressions."""


def store_equations(
    table: Table, does: Sequence[Stored], asks: Sequence[Stored]
) -> tuple[Equation, ...]:
    """What must hold for the stores to be those asked for, taken in their order.

    Raises: Unlike.
    """
    if len(does) != len(asks):
        raise Unlike(f"{len(does)} stores for {len(asks)}")
    found: dict[Equation, None] = {}
    look = Look(table)
    pairs = zip(sorted(does, key=look.of_store), sorted(asks, key=look.of_store), strict=True)
    for mine, wanted in pairs:
        if mine.buffer != wanted.buffer:
            raise Unlike(f"a store to buffer {mine.buffer} for one to {wanted.buffer}")
        found[Equation(mine.valid, wanted.valid, mine.address, wanted.address)] = None
        found.update(dict.fromkeys(equations(table, mine.term, wanted.term)))
    return tuple(e for e in found if e.valid != e.wanted_valid or e.address != e.wanted_address)


def equations(table: Table, mine: Id, wanted: Id) -> Iterator[Equation]:
    """What must hold for two terms to be equal. Raises: Unlike."""
    seen: set[tuple[Id, Id]] = set()
    look = Look(table)
    pending = [(mine, wanted)]
    while pending:
        pair = pending.pop()
        if pair[0] == pair[1] or pair in seen:
            continue
        seen.add(pair)
        match table.nodes[pair[0]], table.nodes[pair[1]]:
            case Loaded(b, dtype, a, v), Loaded(c, other, w, u) if (b, dtype) == (c, other):
                yield Equation(v, u, a, w)
            case Const("0"), (Loaded() | Guarded()) as never:
                yield Equation(0, never.valid, 0, 0)
            case (Loaded() | Guarded()) as never, Const("0"):
                yield Equation(never.valid, 0, 0, 0)
            case Guarded(v, term), Guarded(u, other_term):
                yield Equation(v, u, 0, 0)
                pending.append((term, other_term))
            case Applied(op, dtype, some), Applied(op2, dtype2, others) if (op, dtype) == (
                op2,
                dtype2,
            ):
                pending += zip(some, others, strict=True)
            case Converted(term, dtype, bits), Converted(other_term, dtype2, bits2) if (
                dtype,
                bits,
            ) == (dtype2, bits2):
                pending.append((term, other_term))
            case ((Summed() as one), (Summed() as two)) if one.op is two.op:
                pending += _items(look, one, two)
            case one_node, two_node:
                raise Unlike(f"{spelled(one_node)} for {spelled(two_node)}")


def spelled(node: Node) -> str:
    """A term in a few words."""
    match node:
        case Loaded(buffer, _, address, valid):
            return f"element {address} of buffer {buffer} where {valid}"
        case Summed(op, _, items):
            over = sorted({f"{v.name} <= {v.high}" for binders, _, _ in items for v in binders})
            number = sum(n for _, _, n in items)
            terms = f"{op.name} of {number} term{'' if number == 1 else 's'}"
            return f"{terms} over {', '.join(over)}" if over else terms
        case Applied(op):
            return op.name
        case Guarded(valid):
            return f"a term where {valid}"
        case Const(text):
            return text
        case Symbol(value):
            return str(value)
        case Converted(_, dtype, bitcast):
            return f"{'BITCAST' if bitcast else 'CAST'} to {dtype}"
        case _:
            assert_never(node)


def _items(look: Look, one: Summed, two: Summed) -> list[tuple[Id, Id]]:
    """The items that only one side has, in pairs under equal bound variables."""
    mine = Counter({(binders, term): n for binders, term, n in one.items})
    wanted = Counter({(binders, term): n for binders, term, n in two.items})
    extra = sorted((mine - wanted).elements(), key=look.order)
    lacking = sorted((wanted - mine).elements(), key=look.order)
    if [binders for binders, _ in extra] != [binders for binders, _ in lacking]:
        raise Unlike(f"{spelled(one)} for {spelled(two)}")
    return [(a, b) for (_, a), (_, b) in zip(extra, lacking, strict=True)]


class Look:
    """What terms are at a few places: equal terms look alike, so that they are paired."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.known: dict[Id, int] = {}
        self.numbers: dict[tuple[object, ...], int] = {}
        self.accesses: dict[tuple[Sint, Sint], tuple[int, ...]] = {}

    def of_store(self, stored: Stored) -> tuple[int, ...]:
        """A store: where it goes, then what it stores."""
        return stored.buffer, *self.access(stored.address, stored.valid), self.of(stored.term)

    def of_item(self, item: tuple[Binders, Id]) -> tuple[list[str], int]:
        """An item of a sum: its bound variables, then its term."""
        return sorted(var.name for var in item[0]), self.of(item[1])

    def order(self, item: tuple[Binders, Id]) -> tuple[list[str], int, Id]:
        """The same; of items that look alike the one that was met first."""
        return *self.of_item(item), item[1]

    def of(self, term: Id) -> int:
        """A term."""
        if term not in self.known:
            look = self._of(self.table.nodes[term])
            self.known[term] = self.numbers.setdefault(look, len(self.numbers))
        return self.known[term]

    def _of(self, node: Node) -> tuple[object, ...]:
        match node:
            case Loaded(buffer, dtype, address, valid):
                return buffer, dtype, *self.access(address, valid)
            case Guarded(valid, operand):
                return *self.access(0, valid), self.of(operand)
            case Applied(op, dtype, operands):
                return op.name, dtype, *map(self.of, operands)
            case Converted(operand, dtype, bitcast):
                return dtype, bitcast, self.of(operand)
            case Summed(op, dtype, items):
                looks = sorted((*self.of_item((b, term)), n) for b, term, n in items)
                return op.name, dtype, str(looks)
            case _:
                return (str(node),)

    def access(self, address: Sint, valid: Sint) -> tuple[int, ...]:
        """An address at each place where it is valid, -1 elsewhere."""
        key = address, valid
        if key not in self.accesses:
            at = self._places(address, valid)
            seen = np.where(evaluate(valid, at), evaluate(address, at), -1)
            self.accesses[key] = tuple(np.broadcast_to(seen, PLACES).tolist())
        return self.accesses[key]

    def _places(self, *values: Sint) -> dict[str, Array]:
        """Values for the variables of expressions, the same wherever a variable occurs."""
        found: dict[str, Array] = {}
        for var in ordered({var for value in values for var in variables(value)}):
            count = np.maximum(evaluate(var.high, found) - var.low, 0) + 1
            found[var.name] = var.low + _draws(var.name) % count
        return found


@lru_cache(maxsize=1 << 10)
def _draws(name: str) -> Array:
    """Numbers drawn for a variable, one a place."""
    rng = random.Random(name)
    return np.array([rng.getrandbits(40) for _ in range(PLACES)])


def equation_claim(equation: Equation, symbols: Sequence[Var]) -> Everywhere:
    """An equation as a claim over its variables."""
    parts = (equation.valid, equation.wanted_valid, equation.address, equation.wanted_address)
    axes = _axes(symbols, *parts)

    def facts(point: Point, lift: Lift) -> list[Fact]:
        named = {var.name: x for var, x in zip(axes, point, strict=True)}
        valid, wanted_valid, address, wanted = (at(part, named, lift) for part in parts)
        is_valid = valid != 0 if isinstance(valid, int) else valid > 0
        was_valid = wanted_valid != 0 if isinstance(wanted_valid, int) else wanted_valid > 0
        return [
            Fact("valid", True, is_valid, was_valid),
            Fact("address", is_valid & was_valid, address, wanted),
        ]

    reach = max(map(magnitude, parts))
    box = tuple(var.high + 1 for var in axes)
    return Everywhere(f"access {equation.address}", box, tuple(symbols), reach, facts)


def _axes(symbols: Sequence[Var], *values: Sint) -> list[Var]:
    """The variables of expressions but for symbols; of several of one name the widest."""
    names = {var.name for var in symbols}
    widest: dict[str, Var] = {}
    for var in ordered({var for value in values for var in variables(value)}):
        known = widest.get(var.name)
        if var.name not in names and (known is None or bounds(var)[1] > bounds(known)[1]):
            widest[var.name] = var
    return list(widest.values())


def form_claim(value: Expr, form: Sint, symbols: Sequence[Var]) -> Everywhere:
    """That an index expression equals its normal form (a condition: is true where that is)."""
    axes = _axes(symbols, value, form)
    is_condition = isinstance(value, Binary) and value.op in (IndexOp.LT, IndexOp.AND)

    def facts(point: Point, lift: Lift) -> list[Fact]:
        named = {var.name: x for var, x in zip(axes, point, strict=True)}
        mine, wanted = at(value, named, lift), at(form, named, lift)
        if is_condition:
            mine, wanted = mine > 0, wanted > 0
        return [Fact("normal form", True, mine, wanted)]

    box = tuple(var.high + 1 for var in axes)
    reach = max(magnitude(value), magnitude(form))
    return Everywhere(f"index {value}", box, tuple(symbols), reach, facts)


@lru_cache(maxsize=1 << 12)
def magnitude(value: Sint) -> int:
    """A bound of every number met in computing an expression."""
    match value:
        case int():
            return abs(value)
        case Int(number):
            return abs(number)
        case Var():
            return max(map(abs, bounds(value)))
        case Binary(IndexOp.MUL, left, right):
            return max(1, magnitude(left)) * max(1, magnitude(right))
        case Binary(IndexOp.LT | IndexOp.AND | IndexOp.ADD, left, right):
            return magnitude(left) + magnitude(right) + 1
        case Binary(_, left, right):
            return max(magnitude(left), magnitude(right)) + 1
        case Expr():
            raise AssertionError(f"not an index expression: {value!r}")
