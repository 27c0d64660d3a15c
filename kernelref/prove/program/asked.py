"""What a Kernel asks for: every element that it stores, and the term that belongs there.

The AST is read at the Kernel's own axes: an output axis is a variable, an axis of registers a
number, a summed axis a bound variable (or, unrolled, one item for each number).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, product

from kernelref.ir.ast import (
    Alu,
    Cast,
    Constant,
    Load,
    Reduce,
    Store,
    Value,
    children,
    postorder,
)
from kernelref.ir.index import Sint, Var, add, variables
from kernelref.opt.axis import REDUCES, UPCASTS, AxisType
from kernelref.opt.kernel import Kernel
from kernelref.prove.claim import Claim, Everywhere
from kernelref.prove.digit_claims import term_lift
from kernelref.prove.program.values import Applied, Id, Items, NotModelled, Table, under
from kernelref.prove.step import Access, side_of
from kernelref.prove.terms import Term, coordinates, raw

REGISTERS = UPCASTS | {AxisType.GROUP_UPCAST}


@dataclass(frozen=True, slots=True)
class Stored:
    """One store: an element of a buffer, where it happens, and what is stored."""

    buffer: int
    address: Sint
    valid: Sint
    term: Id


def coordinate(axis: int, extent: Sint) -> Sint:
    """An output axis as a variable, named as in claims."""
    return 0 if extent == 1 else Var(f"x.{axis}", 0, add(extent, -1))


def fresh_binder(axis: int, extent: Sint, around: Iterable[Var]) -> Var:
    """A summed axis as a bound variable, named unlike those of the loops around it."""
    taken = {var.name for var in around}
    height = next(i for i in count() if f"b.{axis}.{i}" not in taken)
    return Var(f"b.{axis}.{height}", 0, add(extent, -1))


@dataclass(frozen=True, slots=True)
class Env:
    """Where each axis stands, and the bound variables of the loops around, outermost first."""

    at: Mapping[int, Sint]
    loops: tuple[Var, ...] = ()


class Asked:
    """A Kernel read at its axes, into the terms of a table."""

    def __init__(self, kernel: Kernel, table: Table) -> None:
        self.kernel = kernel
        self.table = table
        self.side = side_of(kernel)
        self.point = _point(self.side.extents)
        self.known: dict[object, Id] = {}
        self.general: dict[Access, tuple[Sint, Sint]] = {}
        self.located: dict[object, tuple[Sint, Sint]] = {}
        self.varying = [tuple(sorted(access.axes)) for access in self.side.accesses]
        self.orders: dict[Value, list[Value]] = {}
        self.free = self._free_axes()

    def stores(self) -> Iterator[Stored]:
        """Every store that the Kernel asks for."""
        kinds = dict(enumerate(self.side.types))
        registers = [axis for axis, kind in kinds.items() if kind in REGISTERS - REDUCES]
        base: dict[int, Sint] = {
            axis: coordinate(axis, self.side.extents[axis])
            for axis, kind in kinds.items()
            if kind not in REDUCES
        }
        for store in self.kernel.ast:
            number = self.kernel.buffer_of(store)
            along = [axis for axis in registers if axis in self.side.accesses[number].axes]
            for point in product(*(range(self._count(axis)) for axis in along)):
                at = dict(zip(along, point, strict=True))
                env = Env({**base, **dict.fromkeys(registers, 0), **at})
                address, valid = self.locate(number, env)
                if valid != 0:
                    yield Stored(store.buffer, address, valid, self.value(store.value, env))

    def locate(self, number: int, env: Env) -> tuple[Sint, Sint]:
        """Address and validity of a buffer at a point."""
        access = self.side.accesses[number]
        key = access, tuple(env.at.get(axis, -1) for axis in self.varying[number])
        if key not in self.located:
            address, valid = self._general(access)
            names = {var.name for part in (address, valid) for var in variables(part)}
            along = [axis for axis in access.axes if f"x.{axis}" in names]
            if any(axis not in env.at for axis in along):
                raise NotModelled(f"buffer {number} varies along an axis that nobody iterates here")
            at = {f"x.{axis}": env.at[axis] for axis in along if not self._is_itself(axis, env)}
            if at:
                address, valid = self.table.moved(address, at), self.table.moved(valid, at)
            self.located[key] = address, valid
        return self.located[key]

    def _is_itself(self, axis: int, env: Env) -> bool:
        """Whether an axis stands at its own variable."""
        stands = self.point[axis]
        return isinstance(stands, Term) and env.at[axis] == stands.expr

    def _general(self, access: Access) -> tuple[Sint, Sint]:
        """Address and validity on the axes' own variables."""
        if access not in self.general:
            address, valid = access.address(self.point, term_lift)
            self.general[access] = self.table.form(raw(address)), self.table.form(raw(valid))
        return self.general[access]

    def value(self, root: Value, env: Env) -> Id:
        """The term of an AST node at a point; reductions below it open bound variables."""
        for node in self._order(root):
            key = self._key(node, env)
            if key not in self.known:
                self.known[key] = self._value(node, env)
        return self.known[self._key(root, env)]

    def _value(self, node: Value, env: Env) -> Id:
        """A node whose sources are known at this point."""
        table = self.table
        match node:
            case Load(buffer, dtype):
                return table.load(buffer, dtype.value, *self.locate(self._number(node), env))
            case Constant(value, dtype):
                valid = self.locate(self._number(node), env)[1]
                return table.guarded(valid, table.constant(value, dtype.value))
            case Alu(op, sources):
                operands = tuple(self.known[self._key(source, env)] for source in sources)
                return table.add(Applied(op, sources[-1].dtype.value, operands))
            case Cast(source, dtype, bitcast):
                operand = self.known[self._key(source, env)]
                return table.converted(operand, source.dtype.value, dtype.value, bitcast=bitcast)
            case Reduce(op):
                return table.summed(op, node.dtype.value, self._items(node, env))
        raise AssertionError(f"not a value node: {node!r}")

    def _items(self, reduce: Reduce, env: Env) -> Items:
        axes = sorted(self.side.sums[self.kernel.reduces.index(reduce)])
        unrolled = [axis for axis in axes if self.side.types[axis] is AxisType.UNROLL]
        loops = [axis for axis in axes if axis not in unrolled]
        around = self._around(reduce, env)
        bound = {axis: self._binder(axis, around) for axis in loops}
        inner = tuple(bound[axis] for axis in loops if self.side.types[axis] is AxisType.REDUCE)
        dtype = reduce.dtype.value
        items: Items = Counter()
        for point in product(*(range(self._count(axis)) for axis in unrolled)):
            registers = dict(zip(unrolled, point, strict=True))
            at = Env({**env.at, **bound, **registers}, (*around, *inner))
            items.update(self.table.items(reduce.op, dtype, self.value(reduce.value, at)))
        for var in bound.values():
            items = under(var, items)
        return items

    def _around(self, reduce: Reduce, env: Env) -> tuple[Var, ...]:
        """The loops that a Program has around this reduction: up to the innermost along which it
        varies."""
        needed = {env.at[axis] for axis in self.free[reduce] if axis in env.at}
        last = max((i for i, loop in enumerate(env.loops) if loop in needed), default=-1)
        return env.loops[: last + 1]

    def _binder(self, axis: int, around: Sequence[Var]) -> Var:
        return fresh_binder(axis, self.side.extents[axis], around)

    def _count(self, axis: int) -> int:
        extent = self.side.extents[axis]
        assert isinstance(extent, int)
        return extent

    def _number(self, node: Load | Constant | Store) -> int:
        return self.kernel.buffer_of(node)

    def _key(self, node: Value, env: Env) -> object:
        at = tuple(env.at.get(axis, -1) for axis in self.free[node])
        # The names that a reduction gives its own loops depend on the loops around it.
        around = self._around(node, env) if isinstance(node, Reduce) else ()
        return node, at, around

    def _order(self, root: Value) -> list[Value]:
        """The nodes under `root`, sources first, down to reductions."""
        if root not in self.orders:
            order: dict[Value, None] = {}
            pending: list[tuple[Value, bool]] = [(root, False)]
            while pending:
                node, is_open = pending.pop()
                if is_open or (isinstance(node, Reduce) and node not in order):
                    order[node] = None
                elif node not in order:
                    pending.append((node, True))
                    pending.extend((source, False) for source in reversed(children(node)))
            self.orders[root] = list(order)
        return self.orders[root]

    def _free_axes(self) -> dict[Value, tuple[int, ...]]:
        free: dict[Value, tuple[int, ...]] = {}
        for node in postorder(self.kernel.ast):
            match node:
                case Store():
                    continue
                case Load() | Constant():
                    found = set(self.side.accesses[self._number(node)].axes)
                case _:
                    found = {axis for source in children(node) for axis in free[source]}
                    if isinstance(node, Reduce):
                        found -= self.side.sums[self.kernel.reduces.index(node)]
            free[node] = tuple(sorted(found))
        return free


def _point(extents: tuple[Sint, ...]) -> tuple[object, ...]:
    """The side's axes as Terms."""
    claim: Claim = Everywhere("", extents, (), None, lambda _, __: [])
    return coordinates(claim)
