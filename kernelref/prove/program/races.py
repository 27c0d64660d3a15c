"""The obligation `races`: between barriers no two work-items touch an address, one of them writing.

Addresses do not depend on data, so this is decided, not guessed. On-chip memory: every access of
one work-group, phase by phase; no address there depends on the group. Barriers are met by all
work-items of a group: none stands under a condition that differs among them. Buffers: `domain` says
that each store of the Kernel is carried out by one work-item; no two stores meet, and what is read
of a stored buffer is stored by its reader or by nobody.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kernelref.codegen import program as lir
from kernelref.ir.ast import Load, postorder
from kernelref.ir.index import Expr, Sint, Var, bounds, evaluate, variables
from kernelref.ir.semantics import Array
from kernelref.opt.axis import GROUPS, LOCALS, AxisType
from kernelref.opt.kernel import Kernel
from kernelref.prove.claim import Everywhere, Fact, Lift, Point
from kernelref.prove.obligations import stored_once
from kernelref.prove.step import Access, Side, reach_of, side_of, symbols_of
from kernelref.prove.verdict import Failure, Open, Part, Shown, Witness

MOST_ACCESSES = 1 << 22
"""Accesses of one statement that are looked at."""


@dataclass(frozen=True, slots=True)
class Touch:
    """Accesses of one statement: the elements, and the work-item of each."""

    array: str
    is_write: bool
    elements: Array
    items: Array


@dataclass(slots=True)
class Phases:
    """Accesses of a group, cut at barriers."""

    done: list[list[Touch]] = field(default_factory=list)
    now: list[Touch] = field(default_factory=list)

    def cut(self) -> None:
        """A barrier."""
        self.done.append(self.now)
        self.now = []


class NotDecided(Exception):  # noqa: N818 - the answer of an analysis
    """What the analysis cannot see through."""


class Diverges(Exception):  # noqa: N818 - the answer of an analysis
    """A barrier that some work-items of a group reach and others do not."""

    def __init__(self, witness: Witness) -> None:
        super().__init__(str(witness))
        self.witness = witness


def races(kernel: Kernel, program: lir.Program) -> Iterator[Part]:
    """The parts of the obligation, given `domain`."""
    yield from shared_races(program)
    yield from global_races(kernel)
    if any(kernel.full_shape[axis] != 1 for axis in kernel.axes_of(*GROUPS)):
        yield from _read_before_barrier(kernel, program)


def _read_before_barrier(kernel: Kernel, program: lir.Program) -> Iterator[Part]:
    """Where work-items share a result, the one that stores it waits for those that read there."""
    stored = {store.buffer for store in kernel.ast}
    names = {buffer.name for buffer in program.buffers if buffer.number in stored}
    read: set[str] = set()

    def walk(body: Sequence[lir.Statement], *, is_one: bool) -> Iterator[Part]:
        for statement in body:
            match statement:
                case lir.Define(_, lir.LoadGlobal(name)) if name in names and not is_one:
                    read.add(name)
                case lir.Barrier():
                    read.clear()
                case lir.StoreGlobal(name) if name in read:
                    yield Open(f"{name} is stored to while others of the group may read it")
                case lir.Loop(body=inner):
                    yield from walk(inner, is_one=is_one)
                case lir.Guarded(condition, inner):
                    local = {var.name for var in variables(condition)} - set(lir.GROUP_IDS)
                    yield from walk(inner, is_one=is_one or bool(local))
                case _:
                    continue

    yield from walk(program.body, is_one=False)


def global_races(kernel: Kernel) -> Iterator[Part]:
    """Buffers: stores that meet stores, and loads that meet stores."""
    side = side_of(kernel)
    stored = {store.buffer: kernel.buffer_of(store) for store in kernel.ast}
    for number in stored.values():
        yield stored_once(f"output {number}", side, side.accesses[number])
    loads = {
        (node.buffer, kernel.buffer_of(node))
        for node in postorder(kernel.ast)
        if isinstance(node, Load) and node.buffer in stored
    }
    for buffer, number in sorted(loads):
        load, store = side.accesses[number], side.accesses[stored[buffer]]
        if load != store:
            yield _own_claim(kernel, side, f"buffer {buffer} in place", load, store)


def _own_claim(kernel: Kernel, side: Side, subject: str, load: Access, store: Access) -> Everywhere:
    """Where a load and a store meet, they are the same work-item's."""
    parallel = kernel.axes_of(AxisType.GLOBAL, *LOCALS)
    extents = side.extents
    reading = [n if a in load.axes or a in parallel else 1 for a, n in enumerate(extents)]
    writing = [n if a in store.axes else 1 for a, n in enumerate(extents)]

    def facts(point: Point, lift: Lift) -> list[Fact]:
        here, there = point[: len(extents)], point[len(extents) :]
        read, is_read = load.address(here, lift)
        written, is_written = store.address(there, lift)
        meet = is_read & is_written & (read >= written) & (read < written + 1)
        return [Fact(f"axis {a} of who meets", meet, here[a], there[a]) for a in parallel]

    reach = reach_of((load.st, store.st))
    return Everywhere(subject, (*reading, *writing), symbols_of(side), reach, facts)


def shared_races(program: lir.Program) -> Iterator[Part]:
    """On-chip memory, and barriers."""
    try:
        phases = _phases_of(program)
    except NotDecided as reason:
        yield Open(str(reason))
        return
    except Diverges as at_barrier:
        yield Failure(at_barrier.witness)
        return
    size = math.prod(program.local)
    for number, phase in enumerate(phases):
        for array in dict.fromkeys(touch.array for touch in phase if touch.is_write):
            found = _race([touch for touch in phase if touch.array == array], size)
            if found is not None:
                element, items = found
                says = f"element {element} of {array} in phase {number} is touched by"
                yield Failure(Witness("work-items", says, (element,), items[0], items[1]))
                return
    if any(phases):
        yield Shown("enumerate", f"{len(phases)} phases of on-chip memory")


def _race(touches: Sequence[Touch], size: int) -> tuple[int, tuple[int, int]] | None:
    """An element that one work-item writes and another one touches."""
    elements = np.concatenate([touch.elements for touch in touches])
    items = np.concatenate([touch.items for touch in touches])
    writes = np.concatenate([np.full(len(t.elements), t.is_write) for t in touches])
    first = np.full(int(elements.max()) + 1, -1)
    first[elements] = items
    other = items != first[elements]
    written = np.zeros(len(first), bool)
    written[elements[writes]] = True
    wrong = np.flatnonzero(other & written[elements])
    if not wrong.size:
        return None
    element = int(elements[wrong[0]])
    return element, (int(first[element]), int(items[wrong[0]]))


def _phases_of(program: lir.Program) -> list[list[Touch]]:
    """The accesses of one group to on-chip memory. Raises: NotDecided, Diverges."""
    x, y, z = program.local
    grid = np.meshgrid(np.arange(z), np.arange(y), np.arange(x), indexing="ij")
    known: dict[str, Array] = {
        name: axis.reshape(-1) for name, axis in zip(reversed(lir.LOCAL_IDS), grid, strict=True)
    }
    walk = _GroupWalk(program, np.arange(x * y * z), known)
    walk.run(program.body, np.ones(x * y * z, bool))
    walk.phases.cut()
    return walk.phases.done


class _GroupWalk:
    """One group at its work-items' ids. What depends on the group itself has no value here."""

    def __init__(self, program: lir.Program, items: Array, known: Mapping[str, Array]) -> None:
        self.items = items
        self.known: dict[str, Any] = dict(known)
        self.definitions: dict[str, Expr] = {}
        self.of_group = {*lir.GROUP_IDS, *(var.name for var in program.variables)}
        self.phases = Phases()
        self.size = len(items)
        self.is_part = False
        """Whether some work-items of the group are passing over what is carried out."""
        self.is_conditional = False
        """Whether only some groups may carry it out."""

    def run(self, body: Sequence[lir.Statement], active: Array) -> None:
        """Carry out the accesses of a block."""
        for statement in body:
            match statement:
                case lir.DefineIndex(variable, value):
                    self.define(variable, value)
                case lir.Define(_, lir.LoadShared(array, address, _, lanes)):
                    self.touch(array, address, lanes, active, is_write=False)
                case lir.Assign(_, lir.LoadShared(array, address, _, lanes)):
                    self.touch(array, address, lanes, active, is_write=False)
                case lir.StoreShared(array, address, _, lanes):
                    self.touch(array, address, lanes, active, is_write=True)
                case lir.Guarded(condition, inner):
                    self.guarded(condition, inner, active)
                case lir.Loop():
                    self.loop(statement, active)
                case lir.Barrier():
                    self.meet(active)
                    self.phases.cut()
                case _:
                    continue

    def meet(self, active: Array) -> None:
        """A barrier: all work-items of the group are there, or none is. Raises: Diverges."""
        if not active.any() or (active.all() and not self.is_part):
            return
        # Arrays have an axis in front for each loop around; what one iteration shows is enough.
        here = active.reshape(-1, active.shape[-1])
        row = here[int(here.any(axis=1).argmax())]
        there = int(self.items[int(row.argmax())])
        gone = sorted(set(range(self.size)) - {int(item) for item in self.items[row]})
        if self.is_conditional or not gone:
            raise NotDecided("a barrier that some work-items of a group pass over")
        says = "a barrier that one work-item reaches and the other passes over"
        raise Diverges(Witness("work-items", says, (), there, gone[0]))

    def define(self, variable: Var, value: Expr) -> None:
        """An index variable: a number for each work-item, or something of the group."""
        names = {var.name for var in variables(value)}
        if names & self.of_group:
            if not names <= self.of_group:
                raise NotDecided(f"{variable} mixes group and work-item")
            self.of_group.add(variable.name)
        else:
            self.known[variable.name] = evaluate(value, self.known)

    def touch(
        self, array: str, address: Sint, lanes: int, active: Array, *, is_write: bool
    ) -> None:
        """Accesses at an address, by each active work-item and iteration of the loops around."""
        places = np.asarray(self.value(address))
        items, live = np.broadcast_arrays(self.items, active, places)[:2]
        places = np.broadcast_to(places, live.shape)[live]
        for lane in range(lanes):
            self.phases.now.append(Touch(array, is_write, places + lane, items[live]))

    def value(self, index: Sint) -> Any:
        """An index for each work-item."""
        if isinstance(index, int):
            return index
        for var in variables(index):
            if var.name not in self.known:
                raise NotDecided(f"an access to shared memory depends on {var}")
        return evaluate(index, self.known)

    def guarded(self, condition: Expr, body: Sequence[lir.Statement], active: Array) -> None:
        """A block that some work-items, or whole groups, pass over."""
        if {var.name for var in variables(condition)} <= self.of_group:
            outer_groups, self.is_conditional = self.is_conditional, True
            self.run(body, active)
            self.is_conditional = outer_groups
            return
        kept = np.asarray(active & (np.asarray(self.value(condition)) != 0))
        if kept.ndim > 1:
            self.run(body, kept)
            return
        # Those that stay are few, and loops inside would go through all.
        outer = self.items, self.known, self.is_part
        self.known = {
            name: value[kept] if np.shape(value) == kept.shape else value
            for name, value in self.known.items()
        }
        self.items, self.is_part = self.items[kept], True
        self.run(body, np.ones(self.items.size, bool))
        self.items, self.known, self.is_part = outer

    def loop(self, loop: lir.Loop, active: Array) -> None:
        """All iterations at once where no barrier is inside, else two in a row.

        In the second case the accesses may not depend on the iteration, so two show all pairs of
        phases that meet.
        """
        inside = list(lir.nested(loop.body))
        touches = any(
            isinstance(s, lir.StoreShared | lir.Barrier)
            or (isinstance(s, lir.Define | lir.Assign) and isinstance(s.value, lir.LoadShared))
            for s in inside
        )
        if not touches:
            return
        if any(isinstance(s, lir.Barrier) for s in inside):
            if not {var.name for var in variables(loop.extent)} <= self.of_group:
                raise NotDecided("a barrier in a loop whose length differs among work-items")
            if bounds(loop.extent)[0] < 1:
                raise NotDecided("a barrier in a loop that may not run")
            for _ in range(2):
                self.run(loop.body, active)
            return
        if not isinstance(loop.extent, int) or loop.extent * active.size > MOST_ACCESSES:
            raise NotDecided(f"a loop of {loop.extent} over shared memory")
        outer, self.known = self.known, dict(self.known)
        # One more axis in front of all arrays: the iterations.
        rank = active.ndim
        self.known[loop.variable.name] = np.arange(loop.extent).reshape(-1, *(1,) * rank)
        self.run(loop.body, np.broadcast_to(active, (loop.extent, *active.shape)))
        self.known = outer
