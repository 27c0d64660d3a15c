"""The meaning of a Program: what its statements do to registers and memories, rule by rule.

Read `Machine.step` first. All work-items of a box of groups step together. A register holds arrays
with axes (group z, y, x, local z, y, x), of extent 1 where the work-items agree; a batch of loop
iterations (`batching`) is one more axis in front.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kernelref.codegen import program as lir
from kernelref.ir import semantics
from kernelref.ir.dtype import INT64, DType
from kernelref.ir.index import Expr
from kernelref.ir.semantics import Array
from kernelref.run.interp.batching import accumulators
from kernelref.run.interp.fault import Fault, MachineStop, WorkItem, spell
from kernelref.run.interp.indexing import INT_HIGH, INT_LOW, Index, Indices
from kernelref.run.interp.memory import Memory, Race
from kernelref.run.interp.shake import Turns, segments
from kernelref.run.outcome import Outcome

Lanes = tuple[Array, ...]
RANK = 6


@dataclass(frozen=True, slots=True)
class Frame:
    """Where statements run: index variables, which work-items (None: all), batched iterations.

    `pending` collects, per accumulator of the innermost batched loop, arrays of terms: steps first,
    then the axes of `shape`, which is that of all work-items and iterations.
    """

    indices: Indices
    active: Array | None
    shape: tuple[int, ...]
    pending: Mapping[str, list[Array]]


class Machine:
    """A Program on boxes of groups. `limit` bounds the elements of one array.

    With `turns` the work-items of a group run one after the other, up to each barrier.
    """

    def __init__(
        self,
        program: lir.Program,
        memories: Mapping[str, Memory],
        groups: tuple[int, int, int],
        limit: int,
        turns: Turns | None = None,
    ) -> None:
        self.program = program
        self.groups = groups
        self.limit = limit
        self.turns = turns
        self.group_size = math.prod(program.local)
        self.memories = dict(memories)
        self.elements = {name: memory.elements for name, memory in memories.items()}
        self.elements.update((array.name, array.elements) for array in program.shared)
        self.batched: dict[int, dict[str, lir.Combine] | None] = {}
        self.registers: dict[str, Lanes] = {}

    def run_box(self, box: Sequence[range], variables: Mapping[str, int]) -> None:
        """Run the groups of a box of (z, y, x) ranges. Raises: MachineStop at the first fault."""
        program = self.program
        ranges = (*box, *(range(n) for n in reversed(program.local)))
        axes = [
            np.arange(r.start, r.stop).reshape([-1 if i == axis else 1 for i in range(RANK)])
            for axis, r in enumerate(ranges)
        ]
        gz, gy, gx, lz, ly, lx = axes
        group = (gz * self.groups[1] + gy) * self.groups[0] + gx
        self.local = (lz * program.local[1] + ly) * program.local[0] + lx
        self.items = group * self.group_size + self.local
        self.slots = np.arange(group.size).reshape(group.shape)
        for array in program.shared:
            self.memories[array.name] = Memory(
                array.dtype, group.size * array.elements, None, writes=True, reads=True
            )
        indices = Indices(program.wide, self.check_int)
        names = (*reversed(lir.GROUP_IDS), *reversed(lir.LOCAL_IDS), *variables)
        values: tuple[Any, ...] = (*axes, *variables.values())
        indices.variables.update((n, Index.of(v)) for n, v in zip(names, values, strict=True))
        self.registers = {}
        self.run(program.body, Frame(indices, None, tuple(map(len, ranges)), {}))

    def run(self, body: Sequence[lir.Statement], frame: Frame) -> None:
        """Carry out the statements of a block; what it defines ends with it."""
        if self.turns is None or frame.pending:
            for statement in body:
                self.step(statement, frame)
        else:
            for segment in segments(body):
                for turn in self.turns.of(segment, self.local):
                    active = turn if frame.active is None or turn is None else turn & frame.active
                    inside = replace(frame, active=frame.active if turn is None else active)
                    for statement in segment:
                        self.step(statement, inside)
        for statement in body:
            if isinstance(statement, lir.Define):
                self.registers.pop(statement.register.name, None)

    def step(self, statement: lir.Statement, frame: Frame) -> None:
        """Carry out one statement."""
        self.statement, self.frame = statement, frame
        index = frame.indices
        match statement:
            case lir.Define(register, value):
                self.registers[register.name] = self.merged(
                    self.value(value), self.registers.get(register.name)
                )
            case lir.Assign(register, lir.Combine(op, _, right, dtype)) if (
                register.name in frame.pending
            ):
                neutral = semantics.constant(semantics.identity(op, dtype), dtype)
                (term,) = self.merged((self.scalar(right),), (neutral,))
                ones = (1,) * (1 + len(frame.shape) - term.ndim)
                frame.pending[register.name].append(term.reshape(*ones, *term.shape))
            case lir.Assign(register, value):
                self.registers[register.name] = self.merged(self.value(value), self.value(register))
            case lir.DefineIndex(variable, expr):
                index.variables[variable.name] = index(expr)
            case lir.StoreGlobal(name, address, guard, operand):
                self.store(name, index(address), self.where(index(guard)), operand)
            case lir.StoreShared(name, address, operand):
                self.store(name, index(address), frame.active, operand)
            case lir.Guarded(condition, inner):
                active = self.where(index(condition))
                if active is None or active.any():
                    self.run(inner, replace(frame, indices=index.inner(), active=active))
            case lir.Loop():
                self.loop(statement, frame)
            case lir.Barrier():
                self.meet()

    def merged(self, new: Lanes, old: Lanes | None) -> Lanes:
        """The new value where the work-item is active, else the old, if there is one."""
        active = self.frame.active
        if active is None or old is None:
            return new
        return tuple(np.where(active, n, o) for n, o in zip(new, old, strict=True))

    def where(self, condition: Index) -> Array | None:
        """The active work-items for which a condition holds; None for all of them."""
        active = self.frame.active
        if condition.low > 0:
            return active
        holds = np.asarray(condition.value != 0)
        return holds if active is None else holds & active

    def value(self, value: lir.ProgramValue) -> Lanes:
        """What an expression gives, one array a lane."""
        index = self.frame.indices
        match value:
            case lir.Register(name):
                if name not in self.registers:
                    self.stop(Outcome.UNINITIALISED, f"register {name} has no value here")
                return self.registers[name]
            case lir.Lane(register, lane):
                return (self.value(register)[lane],)
            case lir.Literal(number, dtype):
                if isinstance(number, Expr):
                    return (semantics.convert(np.asarray(index(number).value), INT64, dtype),)
                return (semantics.constant(number, dtype),)
            case lir.Masked(guard, operand, dtype):
                inside = self.scalar(operand)
                return (np.where(index(guard).value != 0, inside, dtype.numpy.type(0)),)
            case lir.LoadGlobal(name, address, guard, dtype, lanes):
                loaded = self.load(name, index(address), self.where(index(guard)), lanes)
                stored = self.memories[name].dtype
                return tuple(semantics.convert(lane, stored, dtype) for lane in loaded)
            case lir.LoadShared(name, address, _, lanes):
                return self.load(name, index(address), self.frame.active, lanes)
            case lir.Pack(parts):
                return tuple(self.scalar(part) for part in parts)
            case lir.Apply(op, operands, dtype):
                values = [self.scalar(operand) for operand in operands]
                undefined = semantics.undefined_where(op, values, dtype)
                if undefined is not None and op in semantics.DIVISIONS:
                    self.check(undefined, self.frame.active, Outcome.TRAP, "the division traps")
                return (semantics.apply(op, values, dtype),)
            case lir.Convert(operand, dtype, bitcast):
                convert = semantics.bitcast if bitcast else semantics.convert
                return (convert(self.scalar(operand), dtype_of(operand), dtype),)
            case lir.Combine(op, left, right, dtype):
                return (semantics.combine(op, self.scalar(left), self.scalar(right), dtype),)
        raise AssertionError(f"not a value: {value!r}")

    def scalar(self, operand: lir.Operand) -> Array:
        """A value of one lane."""
        (lane,) = self.value(operand)
        return lane

    def loop(self, loop: lir.Loop, frame: Frame) -> None:
        """All iterations in order, or batches of them at once where that is the same."""
        extent = frame.indices(loop.extent)
        assert extent.low == extent.high, f"work-items differ in how often they run {spell(loop)}"
        if id(loop) not in self.batched:
            self.batched[id(loop)] = accumulators(loop)
        carried = self.batched[id(loop)]
        step = 1 if carried is None else max(1, self.limit // math.prod(frame.shape))
        for begin in range(0, extent.low, step):
            end = min(begin + step, extent.low)
            indices = frame.indices.inner()
            if carried is None:
                indices.variables[loop.variable.name] = Index.of(begin)
                self.run(loop.body, replace(frame, indices=indices))
                continue
            counter = np.arange(begin, end).reshape(-1, *(1 for _ in frame.shape))
            indices.variables[loop.variable.name] = Index(counter, begin, end - 1)
            pending: dict[str, list[Array]] = {name: [] for name in carried}
            shape = (end - begin, *frame.shape)
            self.run(loop.body, Frame(indices, frame.active, shape, pending))
            self.statement, self.frame = loop, frame
            for name, terms in pending.items():
                if terms:
                    self.fold(name, carried[name], terms, end - begin)

    def fold(self, name: str, combine: lir.Combine, terms: list[Array], iterations: int) -> None:
        """Add the terms of a batch to an accumulator: by iteration, then by place in the body."""
        points = np.broadcast_shapes(*(term.shape[2:] for term in terms))
        rows = [np.broadcast_to(term, (len(term), iterations, *points)) for term in terms]
        steps = np.moveaxis(np.concatenate(rows), 1, 0).reshape(-1, *points)
        if name in self.frame.pending:
            self.frame.pending[name].append(steps)
            return
        start = self.scalar(combine.left)
        points = np.broadcast_shapes(start.shape, points)
        steps = np.broadcast_to(steps, (len(steps), *points))
        self.registers[name] = (semantics.fold(combine.op, start, steps, combine.dtype),)

    def place(
        self, name: str, index: Index, mask: Array | None, lanes: int
    ) -> tuple[Memory, Array]:
        """The memory, and flat places that lie in it (in the group's part of a shared one)."""
        memory, elements = self.memories[name], self.elements[name]
        address = np.asarray(index.value)
        if index.low < 0 or index.high + lanes > elements:
            outside = (address < 0) | (address + lanes > elements)
            detail = f"outside the {elements} elements of {name}"
            self.check(outside, mask, Outcome.OUT_OF_BOUNDS, detail, address)
            address = np.where(outside, 0, address)
        if lanes > 1:
            detail = f"not aligned to {lanes} elements"
            self.check(address % lanes != 0, mask, Outcome.OUT_OF_BOUNDS, detail, address)
        is_shared = memory.elements != elements
        return memory, address + self.slots * elements if is_shared else address

    def load(self, name: str, index: Index, mask: Array | None, lanes: int) -> Lanes:
        """Elements of a memory where `mask` holds, else 0."""
        memory, places = self.place(name, index, mask, lanes)
        zero = memory.dtype.numpy.type(0)
        if not memory.elements:
            return (np.asarray(zero),) * lanes
        if memory.is_tracked:
            for lane in range(lanes):
                self.note_read(memory, self.flat(places + lane, mask), self.flat(self.items, mask))
        taken = [memory.data.take(places + lane) for lane in range(lanes)]
        values = [semantics.decode(stored, memory.dtype) for stored in taken]
        return tuple(v if mask is None else np.where(mask, v, zero) for v in values)

    def note_read(self, memory: Memory, places: Array, items: Array) -> None:
        """Read what others may write: it must hold a value, and nobody else may be writing it."""
        missing = memory.first_without_value(places)
        if missing is not None:
            detail = f"element {places[missing]} was never written"
            self.stop(Outcome.UNINITIALISED, detail, [int(items[missing])])
        self.allow(memory.read(places, items, self.group_size))

    def store(self, name: str, index: Index, mask: Array | None, operand: lir.Operand) -> None:
        """Write the lanes of an operand where `mask` holds."""
        lanes = self.value(operand)
        memory, places = self.place(name, index, mask, len(lanes))
        items = self.flat(self.items, mask)
        for i, lane in enumerate(lanes if items.size else ()):
            flat = self.flat(places + i, mask)
            target = memory.dtype.storage
            stored = semantics.convert(self.flat(lane, mask), dtype_of(operand), target)
            self.allow(memory.write(flat, stored, items, self.group_size))

    def flat(self, array: Array, mask: Array | None) -> Array:
        """An array of all work-items and iterations, outer iterations first, where `mask` holds."""
        shape = self.frame.shape
        batches = len(shape) - RANK
        order = (*reversed(range(batches)), *range(batches, len(shape)))
        full = np.broadcast_to(array, shape).transpose(order)
        if mask is None:
            return full.reshape(-1)
        return np.asarray(full[np.broadcast_to(mask, shape).transpose(order)])

    def meet(self) -> None:
        """A barrier: all work-items of a group arrive, or none does."""
        if self.frame.active is not None:
            rows = (-1, self.group_size)
            arrives = np.broadcast_to(self.frame.active, self.frame.shape).reshape(rows)
            split = arrives.any(1) & ~arrives.all(1)
            if split.any():
                row = int(split.argmax())
                items = np.broadcast_to(self.items, self.frame.shape).reshape(rows)[row]
                who = [int(items[arrives[row].argmax()]), int(items[arrives[row].argmin()])]
                detail = "the first work-item arrives, the second does not"
                self.stop(Outcome.BARRIER_DIVERGENCE, detail, who)
        for memory in self.memories.values():
            memory.epoch += 1

    def check(
        self,
        bad: Array,
        mask: Array | None,
        outcome: Outcome,
        detail: str,
        shown: Array | None = None,
    ) -> None:
        """Stop at the first work-item in `mask` for which `bad` holds; `shown` is its address."""
        broken = bad if mask is None else bad & mask
        if not broken.any():
            return
        shape = self.frame.shape
        where = np.flatnonzero(np.broadcast_to(broken, shape))[0]
        if shown is not None:
            detail = f"{np.broadcast_to(shown, shape).flat[where]} is {detail}"
        self.stop(outcome, detail, [int(np.broadcast_to(self.items, shape).flat[where])])

    def check_int(self, expr: Expr, value: int | Array) -> None:
        """Part of an index that is computed in 32 bits must fit them."""
        value = np.asarray(value)
        bad, detail = (value < INT_LOW) | (value > INT_HIGH), f"beyond int: {expr}"
        self.check(bad, self.frame.active, Outcome.INDEX_OVERFLOW, detail, value)

    def allow(self, race: Race | None) -> None:
        """Stop if two work-items touch an element, one writing, with no barrier between."""
        if race is not None:
            detail = f"element {race.place} is touched by more than one, with a write among them"
            self.stop(Outcome.RACE, detail, race.items)

    def stop(self, outcome: Outcome, detail: str, items: Sequence[int] = ()) -> None:
        """End the run at a fault."""
        who = tuple(self.work_item(item) for item in items)
        raise MachineStop(Fault(outcome, detail, spell(self.statement), who))

    def work_item(self, item: int) -> WorkItem:
        """The (x, y, z) coordinates of a work-item's group and of it in the group."""
        group, local = divmod(item, self.group_size)
        return _xyz(group, self.groups), _xyz(local, self.program.local)


def _xyz(number: int, extents: tuple[int, int, int]) -> tuple[int, int, int]:
    return number % extents[0], number // extents[0] % extents[1], number // math.prod(extents[:2])


def dtype_of(operand: lir.Operand) -> DType:
    """The dtype of an operand's value."""
    return (operand.register if isinstance(operand, lir.Lane) else operand).dtype.value
