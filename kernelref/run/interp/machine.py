"""The meaning of a Program: what its statements do to registers and memories, rule by rule.

Read `Machine.run` first. All work-items of a box of groups step together. A register holds an array
with axes (group z, y, x, local z, y, x), of extent 1 where the work-items agree; a batch of loop
iterations (`batching`) is one more axis in front.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kernelref.codegen.program import (
    GROUP_IDS,
    LOCAL_IDS,
    Apply,
    Assign,
    Barrier,
    Combine,
    Convert,
    Define,
    DefineIndex,
    Guarded,
    Lane,
    Literal,
    LoadGlobal,
    LoadShared,
    Loop,
    Masked,
    Operand,
    Pack,
    Program,
    ProgramValue,
    Register,
    Statement,
    StoreGlobal,
    StoreShared,
)
from kernelref.ir import semantics
from kernelref.ir.dtype import INT64, DType
from kernelref.ir.index import Expr
from kernelref.ir.semantics import Array
from kernelref.run.interp.batching import accumulators
from kernelref.run.interp.fault import Fault, MachineStop, WorkItem, spell
from kernelref.run.interp.indexing import Index, Indices
from kernelref.run.interp.memory import Memory
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
    """A Program on a box of groups. `limit` bounds the elements of one array."""

    def __init__(
        self,
        program: Program,
        memories: Mapping[str, Memory],
        groups: tuple[int, int, int],
        limit: int,
    ) -> None:
        self.program = program
        self.memories = memories
        self.groups = groups
        self.limit = limit
        self.group_size = math.prod(program.local)
        self.registers: dict[str, Lanes] = {}
        self.statement: Statement = Barrier()
        self.batched: dict[int, dict[str, Combine] | None] = {}
        self.items: Array = np.zeros((1,) * RANK, np.int64)
        self.slots: Array = self.items
        self.shared: dict[str, Memory] = {}
        self.shared_elements = {array.name: array.elements for array in program.shared}

    def run_box(self, box: Sequence[range], variables: Mapping[str, int]) -> None:
        """Run the groups of a box of (z, y, x) ranges. Raises: MachineStop at the first fault."""
        program = self.program
        locals_ = [range(n) for n in reversed(program.local)]
        axes = [
            np.arange(r.start, r.stop).reshape([-1 if i == axis else 1 for i in range(RANK)])
            for axis, r in enumerate([*box, *locals_])
        ]
        shape = tuple(axis.size for axis in axes)
        indices = Indices(program.wide, self._overflow)
        for name, axis in zip((*GROUP_IDS[::-1], *LOCAL_IDS[::-1]), axes, strict=True):
            indices.variables[name] = Index.of(axis)
        for name, value in variables.items():
            indices.variables[name] = Index.of(value)
        gz, gy, gx, lz, ly, lx = axes
        group = (gz * self.groups[1] + gy) * self.groups[0] + gx
        local = (lz * program.local[1] + ly) * program.local[0] + lx
        self.items = group * self.group_size + local
        count = math.prod(shape[:3])
        self.slots = np.arange(count).reshape(*shape[:3], 1, 1, 1)
        self.shared = {
            array.name: Memory(array.dtype, count * array.elements, None, writes=True, reads=True)
            for array in program.shared
        }
        self.registers = {}
        self.run(program.body, Frame(indices, None, shape, {}))

    def run(self, body: Sequence[Statement], frame: Frame) -> None:
        """Carry out the statements of a block; what it defines ends with it."""
        defined: list[str] = []
        for statement in body:
            self.statement = statement
            match statement:
                case Define(register, value):
                    self.registers[register.name] = self.value(value, frame)
                    defined.append(register.name)
                case Assign(register, value):
                    self.assign(register, value, frame)
                case DefineIndex(variable, expr):
                    frame.indices.define(variable, frame.indices(expr))
                case StoreGlobal(name, address, guard, operand):
                    mask = self.where(frame, frame.indices(guard))
                    self.store(name, frame.indices(address), mask, operand, frame)
                case StoreShared(name, address, operand):
                    self.store(name, frame.indices(address), frame.active, operand, frame)
                case Guarded(condition, inner):
                    active = self.where(frame, frame.indices(condition))
                    if active is None or active.any():
                        indices = frame.indices.inner()
                        self.run(inner, replace(frame, indices=indices, active=active))
                case Loop():
                    self.loop(statement, frame)
                case Barrier():
                    self.meet(frame)
        for name in defined:
            self.registers.pop(name, None)

    def where(self, frame: Frame, condition: Index) -> Array | None:
        """The active work-items for which a condition holds; None for all of them."""
        if condition.low == condition.high == 1 or (condition.low > 0):
            return frame.active
        holds = np.asarray(condition.value != 0)
        return holds if frame.active is None else holds & frame.active

    def value(self, value: ProgramValue, frame: Frame) -> Lanes:
        """What an expression gives, one array a lane."""
        match value:
            case Register(name):
                if name not in self.registers:
                    self.stop(Outcome.UNINITIALISED, f"register {name} has no value here")
                return self.registers[name]
            case Lane(register, index):
                return (self.value(register, frame)[index],)
            case Literal(number, dtype):
                if isinstance(number, Expr):
                    whole = np.asarray(frame.indices(number).value)
                    return (semantics.convert(whole, INT64, dtype.value),)
                return (semantics.constant(number, dtype),)
            case Masked(guard, operand, dtype):
                holds = frame.indices(guard).value != 0
                inside = self.scalar(operand, frame)
                return (np.where(holds, inside, dtype.numpy.type(0)),)
            case LoadGlobal(name, address, guard, dtype, lanes):
                mask = self.where(frame, frame.indices(guard))
                loaded = self.load(name, frame.indices(address), mask, lanes, frame)
                return tuple(
                    semantics.convert(lane, self.memories[name].dtype, dtype) for lane in loaded
                )
            case LoadShared(name, address, _, lanes):
                return self.load(name, frame.indices(address), frame.active, lanes, frame)
            case Pack(parts):
                return tuple(self.scalar(part, frame) for part in parts)
            case Apply(op, operands, dtype):
                values = [self.scalar(operand, frame) for operand in operands]
                if op in semantics.DIVISIONS:
                    undefined = semantics.undefined_where(op, values, dtype)
                    if undefined is not None:
                        self.check(undefined, frame.active, frame, Outcome.TRAP, "division traps")
                return (semantics.apply(op, values, dtype),)
            case Convert(operand, dtype, bitcast):
                convert = semantics.bitcast if bitcast else semantics.convert
                return (convert(self.scalar(operand, frame), dtype_of(operand), dtype),)
            case Combine(reduction, left, right, dtype):
                a, b = self.scalar(left, frame), self.scalar(right, frame)
                return (semantics.combine(reduction, a, b, dtype),)
        raise AssertionError(f"not a value: {value!r}")

    def scalar(self, operand: Operand, frame: Frame) -> Array:
        """A value of one lane."""
        (lane,) = self.value(operand, frame)
        return lane

    def assign(self, register: Register, value: ProgramValue, frame: Frame) -> None:
        """A new value where the work-item is active; a term, for an accumulator of a batch."""
        if register.name in frame.pending and isinstance(value, Combine):
            term = self.scalar(value.right, frame)
            if frame.active is not None:
                neutral = semantics.identity(value.op, value.dtype)
                term = np.where(frame.active, term, semantics.constant(neutral, value.dtype))
            steps = np.broadcast_to(term, np.broadcast_shapes(term.shape, (1,) * len(frame.shape)))
            frame.pending[register.name].append(steps[np.newaxis])
            return
        old, new = self.value(register, frame), self.value(value, frame)
        if frame.active is not None:
            new = tuple(
                np.where(frame.active, lane, before) for lane, before in zip(new, old, strict=True)
            )
        self.registers[register.name] = new

    def loop(self, loop: Loop, frame: Frame) -> None:
        """All iterations in order, or batches of them at once where that is the same."""
        extent = frame.indices(loop.extent)
        if extent.low != extent.high:
            raise AssertionError(f"work-items differ in how often they run {spell(loop)}")
        if id(loop) not in self.batched:
            self.batched[id(loop)] = accumulators(loop)
        carried = self.batched[id(loop)]
        if carried is None:
            for i in range(extent.low):
                indices = frame.indices.inner()
                indices.define(loop.variable, Index(i, i, i))
                self.run(loop.body, replace(frame, indices=indices))
            return
        step = max(1, self.limit // math.prod(frame.shape))
        for begin in range(0, extent.low, step):
            end = min(begin + step, extent.low)
            shape = (end - begin, *frame.shape)
            indices = frame.indices.inner()
            counter = np.arange(begin, end).reshape(-1, *(1 for _ in frame.shape))
            indices.define(loop.variable, Index(counter, begin, end - 1))
            pending: dict[str, list[Array]] = {name: [] for name in carried}
            self.run(loop.body, Frame(indices, frame.active, shape, pending))
            for name, terms in pending.items():
                if terms:
                    self.fold(name, carried[name], terms, frame, end - begin)

    def fold(
        self, name: str, combine: Combine, terms: list[Array], frame: Frame, iterations: int
    ) -> None:
        """Add the terms of a batch to an accumulator: by iteration, then by place in the body."""
        points = np.broadcast_shapes(*(term.shape[2:] for term in terms))
        rows = [np.broadcast_to(term, (len(term), iterations, *points)) for term in terms]
        steps = np.moveaxis(np.concatenate(rows), 1, 0).reshape(-1, *points)
        if name in frame.pending:
            frame.pending[name].append(steps)
            return
        start = self.scalar(combine.left, frame)
        points = np.broadcast_shapes(start.shape, points)
        steps = np.broadcast_to(steps, (len(steps), *points))
        self.registers[name] = (semantics.fold(combine.op, start, steps, combine.dtype),)

    def place(
        self, name: str, index: Index, mask: Array | None, lanes: int, frame: Frame
    ) -> tuple[Memory, Array]:
        """The memory, and flat places in it that are inside wherever `mask` holds."""
        is_shared = name in self.shared
        memory = self.shared[name] if is_shared else self.memories[name]
        elements = self.shared_elements[name] if is_shared else memory.elements
        address = np.asarray(index.value)
        if index.low < 0 or index.high + lanes > elements:
            outside = (address < 0) | (address + lanes > elements)
            detail = f"outside the {elements} elements of {name}"
            self.check(outside, mask, frame, Outcome.OUT_OF_BOUNDS, detail, address)
            address = np.where(outside, 0, address)
        if lanes > 1:
            detail = f"not aligned to {lanes} elements"
            self.check(address % lanes != 0, mask, frame, Outcome.OUT_OF_BOUNDS, detail, address)
        return memory, address + self.slots * elements if is_shared else address

    def load(self, name: str, index: Index, mask: Array | None, lanes: int, frame: Frame) -> Lanes:
        """Elements of a memory where `mask` holds, else 0."""
        memory, places = self.place(name, index, mask, lanes, frame)
        if memory.data.size == 0:
            return (np.zeros((), memory.dtype.numpy),) * lanes
        for lane in range(lanes if memory.is_tracked else 0):
            self.note_read(memory, places + lane, mask, frame)
        values = [
            semantics.decode(memory.data.take(places + i), memory.dtype) for i in range(lanes)
        ]
        if mask is None:
            return tuple(values)
        return tuple(np.where(mask, value, memory.dtype.numpy.type(0)) for value in values)

    def note_read(self, memory: Memory, places: Array, mask: Array | None, frame: Frame) -> None:
        """Read what others may write: it must hold a value, and nobody else may be writing it."""
        flat, items = self.flat(places, mask, frame), self.flat(self.items, mask, frame)
        missing = memory.first_without_value(flat)
        if missing is not None:
            detail = f"element {flat[missing]} was never written"
            self.stop(Outcome.UNINITIALISED, detail, [int(items[missing])])
        race = memory.read(flat, items, self.group_size)
        if race is not None:
            self.race(memory, int(flat[race]), int(items[race]))

    def store(
        self, name: str, index: Index, mask: Array | None, operand: Operand, frame: Frame
    ) -> None:
        """Write the lanes of an operand where `mask` holds."""
        lanes = self.value(operand, frame)
        memory, places = self.place(name, index, mask, len(lanes), frame)
        items = self.flat(self.items, mask, frame)
        for i, lane in enumerate(lanes):
            flat = self.flat(places + i, mask, frame)
            values = self.flat(lane, mask, frame)
            if len(flat) == 0:
                return
            stored = semantics.convert(values, dtype_of(operand), memory.dtype.storage)
            race = memory.write(flat, stored, items, self.group_size)
            if race is not None:
                self.race(memory, int(flat[race]), int(items[race]))

    def flat(self, array: Array, mask: Array | None, frame: Frame) -> Array:
        """An array of all work-items and iterations, outer iterations first, where `mask` holds."""
        batches = len(frame.shape) - RANK
        order = (*reversed(range(batches)), *range(batches, len(frame.shape)))
        full = np.broadcast_to(array, frame.shape).transpose(order)
        if mask is None:
            return full.reshape(-1)
        return np.asarray(full[np.broadcast_to(mask, frame.shape).transpose(order)])

    def meet(self, frame: Frame) -> None:
        """A barrier: all work-items of a group arrive, or none does."""
        if frame.active is not None:
            arrives = np.broadcast_to(frame.active, frame.shape).reshape(-1, self.group_size)
            split = arrives.any(1) & ~arrives.all(1)
            if split.any():
                row = int(split.argmax())
                items = np.broadcast_to(self.items, frame.shape).reshape(-1, self.group_size)[row]
                who = [int(items[arrives[row].argmax()]), int(items[arrives[row].argmin()])]
                detail = "the first work-item arrives, the second does not"
                self.stop(Outcome.BARRIER_DIVERGENCE, detail, who)
        for memory in (*self.memories.values(), *self.shared.values()):
            memory.epoch += 1

    def check(
        self,
        bad: Array,
        mask: Array | None,
        frame: Frame,
        outcome: Outcome,
        detail: str,
        shown: Array | None = None,
    ) -> None:
        """Stop at the first active work-item for which `bad` holds; `shown` is its address."""
        broken = bad if mask is None else bad & mask
        if not broken.any():
            return
        where = np.flatnonzero(np.broadcast_to(broken, frame.shape))[0]
        item = int(np.broadcast_to(self.items, frame.shape).flat[where])
        if shown is not None:
            detail = f"{np.broadcast_to(shown, frame.shape).flat[where]} is {detail}"
        self.stop(outcome, detail, [item])

    def race(self, memory: Memory, element: int, item: int) -> None:
        """Stop: two work-items touch one element, one of them writing, with no barrier between."""
        other = memory.other(element, item)
        detail = f"element {element} is touched by more than one, with a write among them"
        self.stop(Outcome.RACE, detail, [item] if other is None else [other, item])

    def _overflow(self, expr: Expr, index: Index) -> None:
        detail = f"{expr} reaches {index.low if index.low < -(2**31) else index.high}"
        self.stop(Outcome.INDEX_OVERFLOW, detail)

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


def dtype_of(operand: Operand) -> DType:
    """The dtype of an operand's value."""
    return (operand.register if isinstance(operand, Lane) else operand).dtype.value
