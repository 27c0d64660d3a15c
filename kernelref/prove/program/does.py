"""What a Program does: every store that it carries out, and the term that it stores.

One walk over the text. Work-items stay symbolic: the coordinates that the launch gives them are
the Kernel's output axes. A loop is walked once; what its body adds to an accumulator becomes items
under a bound variable. Shared memory is read by solving for the work-item that wrote the element.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from kernelref.codegen import program as lir
from kernelref.ir.dtype import DType
from kernelref.ir.index import (
    Expr,
    Sint,
    Var,
    add,
    polynomial,
    polynomial_sum,
    substitute,
    variables,
)
from kernelref.prove.digits import narrowings
from kernelref.prove.program.asked import Stored, fresh_binder
from kernelref.prove.program.values import Applied, Id, Items, NotModelled, Table, under
from kernelref.prove.spans import span

Lanes = tuple[Id, ...]
AxesOf = Callable[[Sequence[Sint]], Sequence[int]]
"""A guess at the axes that loops in each other run over, from their extents."""


@dataclass(slots=True)
class Batch:
    """What work-items have written to a shared array since the last barrier: (address, term)."""

    written: list[tuple[Sint, Id]] = field(default_factory=list)
    is_closed: bool = False


@dataclass(frozen=True, slots=True)
class Done:
    """A store, with the coordinates at which it is carried out where not all do."""

    stored: Stored
    pinned: tuple[tuple[str, Var], ...]


class Walk:
    """A Program under way. `names` gives index variables their normal forms over coordinates."""

    def __init__(
        self,
        program: lir.Program,
        table: Table,
        names: Mapping[str, Sint],
        work_items: Sequence[Var],
        axes_of: AxesOf,
    ) -> None:
        self.table = table
        self.names = dict(names)
        self.work_items = work_items
        self.axes_of = axes_of
        self.numbers = {buffer.name: buffer.number for buffer in program.buffers}
        self.dtypes = {array.name: array.dtype for array in program.shared}
        self.symbols = set(program.variables)
        self.registers: dict[str, Lanes] = {}
        self.pending: dict[str, Items] = {}
        self.batches: dict[str, Batch] = {}
        self.loops: list[Var] = []
        self.planned: dict[int, int] = {}
        self.pins: dict[str, Var] = {}
        self.indices: dict[Expr, Sint] = {}
        self.frozen: set[str] = set()
        self.stores: list[Done] = []

    def run(self, body: Sequence[lir.Statement]) -> None:
        """Carry out the statements of a block."""
        for statement in body:
            self.step(statement)

    def step(self, statement: lir.Statement) -> None:
        """Carry out one statement."""
        match statement:
            case lir.Define(register, value):
                self.registers[register.name] = self.value(value)
                self.pending.pop(register.name, None)
            case lir.Assign(register) if register.name in self.frozen:
                raise NotModelled(f"some work-items alone change {register.name}")
            case lir.Assign(register, lir.Combine(op, left, right, dtype)) if left == register:
                (term,) = self.value(right)
                items = self.table.items(op, dtype, term)
                if register.name in self.pending:
                    self.pending[register.name].update(items)
                else:
                    items = self.table.items(op, dtype, self.registers[register.name][0]) + items
                    self.registers[register.name] = (self.table.summed(op, dtype, items),)
            case lir.Assign():
                raise NotModelled("an assignment that is no reduction")
            case lir.DefineIndex(variable, value):
                self.define(variable.name, self.index(value))
            case lir.StoreGlobal(name, address, guard, operand):
                self.store(name, self.index(address), self.index(guard), self.value(operand))
            case lir.StoreShared(name, address, operand):
                self.store_shared(name, self.index(address), self.value(operand))
            case lir.Loop():
                self.loop(statement)
            case lir.Guarded(condition, body):
                self.guarded(self.index(condition), body)
            case lir.Barrier():
                for batch in self.batches.values():
                    batch.is_closed = True

    def define(self, name: str, value: Sint) -> None:
        """A name for an index, once."""
        if name in self.names:
            raise NotModelled(f"two index variables are called {name}")
        self.names[name] = value

    def index(self, value: Sint) -> Sint:
        """The normal form of an index over coordinates, bound variables and symbols."""
        if isinstance(value, int):
            return value
        if value not in self.indices:
            for var in variables(value):
                if var.name not in self.names and var not in self.symbols:
                    raise NotModelled(f"{var} has no value here")
            self.indices[value] = self.table.moved(substitute(value, self.names), self.pins)
        return self.indices[value]

    def value(self, value: lir.ProgramValue) -> Lanes:
        """The terms of a value, one a lane."""
        table = self.table
        match value:
            case lir.Register(name):
                if name in self.pending or name not in self.registers:
                    raise NotModelled(f"{name} is read while it is added to")
                return self.registers[name]
            case lir.Lane(register, lane):
                return (self.value(register)[lane],)
            case lir.Literal(number, dtype):
                return (table.constant(number, dtype),)
            case lir.Masked(guard, operand):
                (term,) = self.value(operand)
                return (table.guarded(self.index(guard), term),)
            case lir.LoadGlobal(name, address, guard, dtype, lanes):
                at, valid, number = self.index(address), self.index(guard), self.numbers[name]
                places = [table.form(add(at, i)) for i in range(lanes)]
                return tuple(table.load(number, dtype, place, valid) for place in places)
            case lir.LoadShared(name, address, _, lanes):
                at = self.index(address)
                return tuple(
                    self.load_shared(name, self.table.form(add(at, i))) for i in range(lanes)
                )
            case lir.Pack(parts):
                return tuple(lane for part in parts for lane in self.value(part))
            case lir.Apply(op, operands, dtype):
                terms = tuple(self.value(operand)[0] for operand in operands)
                return (table.add(Applied(op, dtype, terms)),)
            case lir.Convert(operand, dtype, bitcast):
                (term,) = self.value(operand)
                source = dtype_of(operand)
                return (table.converted(term, source, dtype, bitcast=bitcast),)
            case lir.Combine(op, left, right, dtype):
                items = [table.items(op, dtype, self.value(side)[0]) for side in (left, right)]
                return (table.summed(op, dtype, items[0] + items[1]),)
        raise AssertionError(f"not a value: {value!r}")

    def loop(self, loop: lir.Loop) -> None:
        """Walk the body once, then close what it added under the loop's variable."""
        extent = self.index(loop.extent)
        axis = self.shared_axis(loop)
        if axis is None:
            axis = self.own_axis(loop)
        var = fresh_binder(axis, extent, self.loops)
        if loop.variable.name in self.names:
            raise NotModelled(f"two index variables are called {loop.variable.name}")
        carried = accumulators(loop)
        outer = {name: self.pending.get(name) for name in carried}
        before = {name: self.registers[name][0] for name in carried if name not in self.pending}
        for name in carried:
            self.pending[name] = Counter()
        self.loops.append(var)
        batches = dict(self.batches)
        self.scoped(loop.body, {loop.variable.name: 0 if extent == 1 else var})
        # What was written in a loop holds the last iteration's values after it.
        self.batches = {n: b for n, b in self.batches.items() if batches.get(n) is b}
        self.loops.pop()
        for name, combine in carried.items():
            items = under(var, self.pending.pop(name))
            held = outer[name]
            if held is not None:
                held.update(items)
                self.pending[name] = held
                continue
            items = self.table.items(combine.op, combine.dtype, before[name]) + items
            self.registers[name] = (self.table.summed(combine.op, combine.dtype, items),)

    def own_axis(self, loop: lir.Loop) -> int:
        """The axis of a loop of this work-item's own."""
        if id(loop) not in self.planned:
            loops = nest(loop)
            axes = self.axes_of([self.index(inner.extent) for inner in loops])
            self.planned.update((id(inner), axis) for inner, axis in zip(loops, axes, strict=True))
        return self.planned[id(loop)]

    def shared_axis(self, loop: lir.Loop) -> int | None:
        """The axis of a loop that combines what other work-items wrote, by its step in memory."""
        for statement in lir.nested(loop.body):
            match statement:
                case lir.Define(_, lir.LoadShared(name, address)):
                    step = coefficient(address, loop.variable.name)
                    batch = self.batches.get(name)
                    if step is None or batch is None or not batch.written:
                        continue
                    for var in self.work_items:
                        if coefficient(batch.written[0][0], var.name) == step:
                            return int(var.name.removeprefix("x."))
        return None

    def guarded(self, condition: Sint, body: Sequence[lir.Statement]) -> None:
        """A block that some work-items pass over: those that stay have coordinates in a range."""
        if condition == 0:
            return
        ranges, others = narrowings(condition)
        if others or not all(name.startswith("x.") for name in ranges):
            raise NotModelled(f"a block where {condition}")
        outer, self.pins = self.pins, {**self.pins, **ranges}
        known, self.indices = self.indices, {}
        frozen, self.frozen = self.frozen, {*self.registers, *self.pending}
        self.scoped(body, {})
        self.pins, self.indices, self.frozen = outer, known, frozen

    def scoped(self, body: Sequence[lir.Statement], names: Mapping[str, Sint]) -> None:
        """A block: what is defined in it ends with it."""
        registers, outer = set(self.registers), dict(self.names)
        self.names.update(names)
        self.run(body)
        for name in set(self.registers) - registers:
            del self.registers[name]
        ended = self.names.keys() - outer.keys()
        self.names = outer
        self.indices = {
            index: form
            for index, form in self.indices.items()
            if not any(var.name in ended for var in variables(index))
        }

    def store(self, name: str, address: Sint, valid: Sint, lanes: Lanes) -> None:
        """Stores to a buffer, one a lane."""
        if self.loops:
            raise NotModelled("a store in a loop")
        for i, term in enumerate(lanes):
            if valid != 0:
                stored = Stored(self.numbers[name], self.table.form(add(address, i)), valid, term)
                self.stores.append(Done(stored, tuple(sorted(self.pins.items()))))

    def store_shared(self, name: str, address: Sint, lanes: Lanes) -> None:
        """Stores to a shared array; after a barrier they start a new batch."""
        if self.pins:
            raise NotModelled("some work-items alone write shared memory")
        batch = self.batches.setdefault(name, Batch())
        if batch.is_closed:
            batch = self.batches[name] = Batch()
        batch.written += [(self.table.form(add(address, i)), term) for i, term in enumerate(lanes)]

    def load_shared(self, name: str, address: Sint) -> Id:
        """The term that the work-item wrote whose place this is."""
        batch = self.batches.get(name)
        if batch is None or not batch.is_closed:
            raise NotModelled(f"{name} is read before a barrier")
        linear, constants = self.layout(batch)
        values, rest = self.solve(linear, address)
        if rest not in constants:
            raise NotModelled(f"nobody wrote element {address} of {name}")
        return self.table.substituted(constants[rest], values, {})

    def layout(self, batch: Batch) -> tuple[list[tuple[int, Var]], dict[int, Id]]:
        """The work-items' weights in an array, the largest first, and what each constant holds.

        Law: address = sum of weight * coordinate + constant, one-to-one.
        """
        first = batch.written[0][0]
        weights = [(coefficient(first, var.name), var) for var in self.work_items]
        found = sorted(
            ((w, var) for w, var in weights if isinstance(w, int) and w > 0),
            key=lambda pair: -pair[0],
        )
        if len(found) != len(self.work_items):
            raise NotModelled(f"work-items share elements of {first}")
        linear = add(0, *(var * w for w, var in found))
        constants: dict[int, Id] = {}
        for address, term in batch.written:
            rest = self.table.form(address - linear)
            if not isinstance(rest, int) or rest in constants:
                raise NotModelled(f"element {address} is written twice or elsewhere")
            constants[rest] = term
        room = 1 + max(constants) - min(0, *constants)
        for w, var in reversed(found):
            high = span(var)[1]
            if w < room or high is None:
                raise NotModelled(f"work-items share elements of {first}")
            room = w * (high + 1)
        return found, constants

    def solve(
        self, linear: Sequence[tuple[int, Var]], address: Sint
    ) -> tuple[dict[str, Sint], int]:
        """The coordinates of the work-item at an address, and what is left of it."""
        values: dict[str, Sint] = {}
        rest = address
        for w, var in linear:
            part = polynomial_sum(
                [
                    (monomial, c // w)
                    for monomial, c in polynomial(rest)
                    if not monomial or not c % w
                ]
            )
            low, high = span(part)
            most = span(var)[1]
            if low is None or high is None or most is None or low < 0 or high > most:
                raise NotModelled(f"no work-item is at {address}")
            values[var.name] = part
            rest = self.table.form(add(rest, part * -w))
        if not isinstance(rest, int):
            raise NotModelled(f"no work-item is at {address}")
        return {name: v for name, v in values.items() if not is_itself(name, v)}, rest


def is_itself(name: str, value: Sint) -> bool:
    """Whether a coordinate keeps its value."""
    return isinstance(value, Var) and value.name == name


def coefficient(value: Sint, name: str) -> int | None:
    """What a variable is multiplied by; None where it does not stand alone."""
    found = None
    for monomial, c in polynomial(value):
        if any(var.name == name for atom in monomial for var in variables(atom)):
            if found is not None or len(monomial) != 1 or not isinstance(monomial[0], Var):
                return None
            found = c
    return found


def accumulators(loop: lir.Loop) -> dict[str, lir.Combine]:
    """The registers from outside that the body adds to. Raises: NotModelled for other changes."""
    own: set[str] = set()
    carried: dict[str, lir.Combine] = {}
    for statement in lir.nested(loop.body):
        match statement:
            case lir.Define(register):
                own.add(register.name)
            case lir.Assign(register, lir.Combine(op, left) as combine) if left == register:
                if register.name not in own and carried.setdefault(register.name, combine).op != op:
                    raise NotModelled(f"{register.name} is reduced in two ways")
            case lir.Assign(register) if register.name not in own:
                raise NotModelled(f"{register.name} changes from one iteration to the next")
    return carried


def nest(loop: lir.Loop) -> list[lir.Loop]:
    """The loops of one reduction, outermost first: while all accumulators of a loop are added to
    in one loop inside it."""
    loops = [loop]
    carried = accumulators(loop)
    while True:
        inner = [
            statement
            for statement in loop.body
            if isinstance(statement, lir.Loop) and accumulators(statement).keys() >= carried.keys()
        ]
        if len(inner) != 1 or not carried:
            return loops
        loop = inner[0]
        loops.append(loop)


def dtype_of(operand: lir.Operand) -> DType:
    """The dtype of an operand."""
    return (operand.register if isinstance(operand, lir.Lane) else operand).dtype.value
