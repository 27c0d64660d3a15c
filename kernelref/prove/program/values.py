"""What a value is computed from: terms over loads at index expressions, each kept once.

Two terms with one number are equal at every point. A sum (of either reduction) is a multiset of
terms under bound variables, so that the order in which it is carried out, and how it is cut into
partial sums, do not show: equal *modulo reassociation*.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias, assert_never

from kernelref.ir.ast import Op, ReduceOp
from kernelref.ir.dtype import DType
from kernelref.ir.index import Expr, Sint, Var, substitute, variables
from kernelref.prove.digits import normal

Id: TypeAlias = int
Binders: TypeAlias = frozenset[Var]


class NotModelled(Exception):  # noqa: N818 - it says what the model lacks, nothing is wrong
    """A Program does something that this model has no word for."""


@dataclass(frozen=True, slots=True)
class Const:
    """A literal; `text` is its value as Python spells it, 0 for every zero but -0.0."""

    text: str
    dtype: DType


@dataclass(frozen=True, slots=True)
class Symbol:
    """The value of a symbolic expression, converted to `dtype`."""

    value: Expr
    dtype: DType


@dataclass(frozen=True, slots=True)
class Loaded:
    """An element of a buffer; 0 where `valid` is."""

    buffer: int
    dtype: DType
    address: Sint
    valid: Sint


@dataclass(frozen=True, slots=True)
class Guarded:
    """`operand` where `valid` is not 0, else 0."""

    valid: Sint
    operand: Id


@dataclass(frozen=True, slots=True)
class Applied:
    """An element-wise op on operands of `dtype`."""

    op: Op
    dtype: DType
    operands: tuple[Id, ...]


@dataclass(frozen=True, slots=True)
class Converted:
    """A cast, or with `bitcast` the same bits."""

    operand: Id
    dtype: DType
    bitcast: bool


@dataclass(frozen=True, slots=True)
class Summed:
    """A reduction: each item is a term, once for every value of its bound variables, `n` times."""

    op: ReduceOp
    dtype: DType
    items: frozenset[tuple[Binders, Id, int]]


Node: TypeAlias = Const | Symbol | Loaded | Guarded | Applied | Converted | Summed
Items: TypeAlias = Counter[tuple[Binders, Id]]


@dataclass(slots=True)
class Table:
    """All terms, by number; `forms` remembers which normal form every index expression got."""

    nodes: list[Node] = field(default_factory=list)
    numbers: dict[Node, Id] = field(default_factory=dict)
    forms: dict[Expr, Sint] = field(default_factory=dict)

    def form(self, value: Sint) -> Sint:
        """The normal form of an index expression."""
        if isinstance(value, int):
            return value
        if value not in self.forms:
            self.forms[value] = normal(value)
        return self.forms[value]

    def moved(self, value: Sint, values: Mapping[str, Sint]) -> Sint:
        """The normal form of an expression with variables replaced."""
        return self.form(substitute(value, values))

    def add(self, node: Node) -> Id:
        """The number of a term."""
        known = self.numbers.get(node)
        if known is None:
            known = self.numbers[node] = len(self.nodes)
            self.nodes.append(node)
        return known

    def constant(self, value: bool | int | float | Expr, dtype: DType) -> Id:
        """A literal."""
        if isinstance(value, Expr):
            return self.add(Symbol(value, dtype))
        is_zero = value == 0 and str(value) != "-0.0"
        return self.add(Const("0" if is_zero else repr(value), dtype))

    def load(self, buffer: int, dtype: DType, address: Sint, valid: Sint) -> Id:
        """An element of a buffer; nothing is loaded where it is never valid."""
        if valid == 0:
            return self.constant(0, dtype)
        return self.add(Loaded(buffer, dtype, address, valid))

    def guarded(self, valid: Sint, operand: Id) -> Id:
        """A value with a mask."""
        node = self.nodes[operand]
        if valid == 1 or (isinstance(node, Const) and node.text == "0"):
            return operand
        if valid == 0:
            assert isinstance(node, Const | Symbol)
            return self.constant(0, node.dtype)
        return self.add(Guarded(valid, operand))

    def converted(self, operand: Id, source: DType, dtype: DType, *, bitcast: bool) -> Id:
        """A cast; none where the dtype stays."""
        return operand if source == dtype else self.add(Converted(operand, dtype, bitcast))

    def items(self, op: ReduceOp, dtype: DType, term: Id) -> Items:
        """What a term adds to a reduction: its own items when it is one, nothing when neutral."""
        node = self.nodes[term]
        if isinstance(node, Summed) and node.op is op and node.dtype == dtype:
            return Counter({(binders, item): n for binders, item, n in node.items})
        neutral = dtype.lowest if op is ReduceOp.MAX else 0
        if term == self.constant(neutral, dtype):
            return Counter()
        return Counter({(frozenset(), term): 1})

    def summed(self, op: ReduceOp, dtype: DType, items: Items) -> Id:
        """A reduction."""
        held = frozenset((binders, term, n) for (binders, term), n in items.items())
        return self.add(Summed(op, dtype, held))

    def substituted(self, term: Id, values: Mapping[str, Sint], known: dict[Id, Id]) -> Id:
        """A term with variables replaced by name. `known` remembers what became of each."""
        if term not in known:
            known[term] = self._substituted(self.nodes[term], values, known)
        return known[term]

    def _substituted(self, node: Node, values: Mapping[str, Sint], known: dict[Id, Id]) -> Id:
        def inner(term: Id) -> Id:
            return self.substituted(term, values, known)

        match node:
            case Const() | Symbol():
                return self.numbers[node]
            case Loaded(buffer, dtype, address, valid):
                return self.load(
                    buffer, dtype, self.moved(address, values), self.moved(valid, values)
                )
            case Guarded(valid, operand):
                return self.guarded(self.moved(valid, values), inner(operand))
            case Applied(op, dtype, operands):
                return self.add(Applied(op, dtype, tuple(map(inner, operands))))
            case Converted(operand, dtype, bitcast):
                return self.add(Converted(inner(operand), dtype, bitcast))
            case Summed(op, dtype, items):
                captured = {var for value in values.values() for var in variables(value)}
                total: Items = Counter()
                for binders, item, n in items:
                    changed = inner(item)
                    if changed != item and binders & captured:
                        raise NotModelled(f"a bound variable is captured: {binders & captured}")
                    total[binders, changed] += n
                return self.summed(op, dtype, total)
            case _:
                assert_never(node)


def under(binder: Var, items: Items) -> Items:
    """The items once for every value of one more bound variable."""
    total: Items = Counter()
    for (binders, term), n in items.items():
        if binder in binders:
            raise NotModelled(f"{binder} is bound twice")
        total[binders | {binder}, term] += n
    return total


def joined(parts: Iterable[Items]) -> Items:
    """All items of several."""
    total: Items = Counter()
    for part in parts:
        total.update(part)
    return total
