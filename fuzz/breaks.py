"""Ways to break a right Program of which it is known beforehand how the broken one ends.

A Break offers, for a Program, the Programs that it makes of it (none where it does not fit), and
says how each must end. What decides that is worked out here from the Program's text alone: a
barrier matters where both sides of it touch one shared array, an address leaves its buffer where
some work-item that gets there computes such a number.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fuzz.program_sites import (
    Site,
    accesses,
    edited,
    elements_of,
    gets_there,
    resized,
    sites,
    stores,
    with_access,
)
from kernelref.codegen.lower.widths import wide_expressions
from kernelref.codegen.program import (
    LOCAL_IDS,
    Apply,
    Assign,
    Barrier,
    Define,
    Guarded,
    Literal,
    LoadGlobal,
    LoadShared,
    Loop,
    Program,
    Register,
    Statement,
    StoreGlobal,
    StoreShared,
    nested,
)
from kernelref.ir.ast import Op
from kernelref.ir.dtype import INT32
from kernelref.ir.index import Binary, IndexOp, Int, Var, add, as_expr, lt, variables
from kernelref.opt.opt import OptOps
from kernelref.run.outcome import Outcome

ONE_BOX = 1024
"""So many work-items of a short program certainly run together."""


@dataclass(frozen=True, slots=True)
class Break:
    """What is done to a Program and how it ends then; `leads` are opts that make it fit."""

    name: str
    outcome: Outcome
    made: Callable[[Program], Iterator[Program]]
    leads: tuple[OptOps, ...] = ()
    is_nested: bool = False
    """Whether a reduction that another one reads is wanted."""


# Barriers and shared memory.


def _touched(body: Sequence[Statement]) -> tuple[set[str], set[str]]:
    """The shared arrays that statements load from and store to."""
    loaded: set[str] = set()
    stored: set[str] = set()
    for statement in nested(body):
        match statement:
            case StoreShared(array=name):
                stored.add(name)
            case Define(value=LoadShared(array=name)) | Assign(value=LoadShared(array=name)):
                loaded.add(name)
    return loaded, stored


def _meets(statement: Statement) -> bool:
    return any(isinstance(inner, Barrier) for inner in nested((statement,)))


def _until_met(body: Sequence[Statement]) -> tuple[list[Statement], bool]:
    """Statements up to the next one that holds a barrier, and whether there is one."""
    for i, statement in enumerate(body):
        if _meets(statement):
            return list(body[:i]), True
    return list(body), False


def _is_needed(program: Program, site: Site) -> bool:
    """Whether a shared array is touched on both sides of a barrier and stored on one."""
    outer = site.around[-1] if site.around else None
    body, at = (outer.body if outer else program.body), site.path[-1]
    before, _ = _until_met(body[:at][::-1])
    after, is_met = _until_met(body[at + 1 :])
    if not is_met and isinstance(outer, Loop) and isinstance(outer.extent, int):
        after += _until_met(body)[0] if outer.extent > 1 else []
    (loads, stores), (later_loads, later_stores) = _touched(before), _touched(after)
    return bool(stores & later_loads or loads & later_stores)


def barrier_removed(program: Program) -> Iterator[Program]:
    """One side of the barrier stores what the other loads."""
    for site in sites(program.body):
        if isinstance(site.statement, Barrier) and _is_needed(program, site):
            yield edited(program, site)


def barrier_of_a_loop_removed(program: Program) -> Iterator[Program]:
    """The next round stores what this one loads."""
    for site in sites(program.body):
        if isinstance(site.statement, Barrier) and site.around:
            _, is_met = _until_met(site.around[-1].body[site.path[-1] + 1 :])
            if not is_met and _is_needed(program, site):
                yield edited(program, site)


def barrier_guarded(program: Program) -> Iterator[Program]:
    """Only the first work-item along an axis arrives."""
    for site in sites(program.body):
        if isinstance(site.statement, Barrier):
            for name, extent in zip(LOCAL_IDS, program.local, strict=True):
                if extent > 1:
                    first = as_expr(lt(Var(name, 0, extent - 1), 1))
                    yield edited(program, site, Guarded(first, (Barrier(),)))


def shared_stores(program: Program) -> Iterator[tuple[Site, StoreShared]]:
    """Every store to a shared array."""
    for site in sites(program.body):
        if isinstance(site.statement, StoreShared):
            yield site, site.statement


def shared_shortened(program: Program) -> Iterator[Program]:
    """Somebody stores to the last element of a shared array."""
    sizes = {array.name: array.elements for array in program.shared}
    for site, store in shared_stores(program):
        found = gets_there(program, site, store.address, 1)
        if found is not None and int(found[0].max()) + 1 == sizes[store.array] > 1:
            yield resized(program, store.array, -1)


def part_left_out(program: Program) -> Iterator[Program]:
    """A place in shared memory is read that nobody stored to."""
    places = Counter((store.array, store.address) for _, store in shared_stores(program))
    for site, store in shared_stores(program):
        if places[store.array, store.address] == 1:
            yield edited(program, site)


def everyone_stores(program: Program) -> Iterator[Program]:
    """All work-items of a group store what the first one should."""
    for site in sites(program.body):
        if isinstance(site.statement, Guarded) and any(
            isinstance(inner, StoreGlobal) for inner in site.statement.body
        ):
            named = {var.name for var in variables(site.statement.condition)}
            if named and all(name.startswith("l") for name in named):
                yield edited(program, site, *site.statement.body)


# Addresses and guards.


def _without_guard(
    program: Program, accesses: Iterator[tuple[Site, StoreGlobal | LoadGlobal]]
) -> Iterator[Program]:
    for site, access in accesses:
        elements = elements_of(program, access.buffer)
        if access.guard == 1 or elements is None:
            continue
        found = gets_there(program, site, access.address, access.guard)
        if found is not None and np.any((found[0] < 0) | (found[0] + access.lanes > elements)):
            yield with_access(program, site, replace(access, guard=1))


def guard_of_a_store_dropped(program: Program) -> Iterator[Program]:
    """Somebody whom the guard kept back stores outside the buffer."""
    return _without_guard(program, stores(program))


def guard_of_a_load_dropped(program: Program) -> Iterator[Program]:
    """Somebody whom the guard kept back loads from outside the buffer."""
    loads = ((s, a) for s, a in accesses(program) if isinstance(a, LoadGlobal))
    return _without_guard(program, loads)


def buffer_shortened(program: Program) -> Iterator[Program]:
    """Somebody accesses the last element."""
    for site, access in accesses(program):
        elements = elements_of(program, access.buffer)
        found = gets_there(program, site, access.address, access.guard)
        if elements is not None and found is not None:
            reached = found[0][found[1]]
            if reached.size and int(reached.max()) + access.lanes == elements:
                yield resized(program, access.buffer, -1)


def before_the_buffer(program: Program) -> Iterator[Program]:
    """Every address lies before the first element."""
    for site, access in accesses(program):
        elements = elements_of(program, access.buffer)
        if access.guard == 1 and elements is not None:
            address = add(access.address, -(-elements // access.lanes) * access.lanes * -1)
            yield with_access(program, site, replace(access, address=address))


def vector_moved(program: Program) -> Iterator[Program]:
    """A vector begins one element late; there is room for it."""
    for site, access in accesses(program):
        if access.lanes > 1 and access.guard == 1 and elements_of(program, access.buffer):
            moved = replace(access, address=add(access.address, 1))
            yield resized(with_access(program, site, moved), access.buffer, access.lanes)


def store_left_out(program: Program) -> Iterator[Program]:
    """Elements that the kernel stores are not."""
    for site, store in stores(program):
        found = gets_there(program, site, store.address, store.guard)
        if found is not None and found[1].any():
            yield edited(program, site, replace(store, guard=0))


def stores_to_one_place(program: Program) -> Iterator[Program]:
    """Every work-group stores to the first element."""
    is_spread = all(isinstance(n, int) for n in program.groups)
    if not is_spread or math.prod(n for n in program.groups if isinstance(n, int)) < 2:
        return
    for site, store in stores(program):
        names = {var.name for condition in site.conditions for var in variables(condition)}
        if store.guard == 1 and "flat" not in names:
            yield edited(program, site, replace(store, address=0))


def read_of_another(program: Program) -> Iterator[Program]:
    """After its store, everybody reads what one of them stored."""
    sizes = [n for n in program.groups if isinstance(n, int)]
    is_small = len(sizes) == 3 and math.prod((*sizes, *program.local)) <= ONE_BOX
    if not is_small or math.prod(sizes) < 2 or sum(1 for _ in nested(program.body)) > 100:
        return
    for site, store in stores(program):
        found = gets_there(program, site, store.address, store.guard)
        elements = elements_of(program, store.buffer)
        if elements is not None and found is not None and found[1].any():
            (buffer,) = (b for b in program.buffers if b.name == store.buffer)
            first = int(found[0][found[1]][0])
            load = LoadGlobal(store.buffer, first, 1, buffer.dtype.value)
            read = Define(Register("other", buffer.dtype.value), load)
            yield replace(program, body=(*program.body, read))


# What is computed.


def start_left_out(program: Program) -> Iterator[Program]:
    """A register is added to that has no value."""
    for site in sites(program.body):
        if isinstance(site.statement, Define):
            body = site.around[-1].body if site.around else program.body
            name = site.statement.register.name
            later = nested(body[site.path[-1] + 1 :])
            if any(isinstance(s, Assign) and s.register.name == name for s in later):
                yield edited(program, site)


def divided_by_zero(program: Program) -> Iterator[Program]:
    """Everybody divides by 0, or the lowest int by -1."""
    for op, left, right in ((Op.IDIV, 1, 0), (Op.MOD, 1, 0), (Op.IDIV, -(1 << 31), -1)):
        yield replace(program, body=(_division(op, left, right), *program.body))


def _division(op: Op, left: int, right: int) -> Define:
    operands = (Literal(left, INT32), Literal(right, INT32))
    return Define(Register("quotient", INT32), Apply(op, operands, INT32))


def _far(program: Program) -> Iterator[Program]:
    """An address is computed by way of a number beyond int."""
    for site, store in stores(program):
        found = gets_there(program, site, store.address, store.guard)
        if found is not None and np.any(found[0] >= 1):
            scale = Int(1 << 31)
            product = Binary(IndexOp.MUL, as_expr(store.address), scale)
            address = Binary(IndexOp.FLOORDIV, product, scale)
            yield edited(program, site, replace(store, address=address))


def widened(program: Program) -> Iterator[Program]:
    """An address goes beyond int on its way, in 64 bits."""
    for far in _far(program):
        yield replace(far, wide=wide_expressions(far.body))


def division_that_nobody_reaches(program: Program) -> Iterator[Program]:
    """A division by 0 under a guard that never holds."""
    never = Binary(IndexOp.LT, Var("gidx0", 0, 0), Int(0))
    yield replace(program, body=(Guarded(never, (_division(Op.IDIV, 1, 0),)), *program.body))


def one_barrier_more(program: Program) -> Iterator[Program]:
    """All work-items meet once more before they begin."""
    yield replace(program, body=(Barrier(), *program.body))


def room_to_spare(program: Program) -> Iterator[Program]:
    """A memory is longer than need be."""
    for name in (*(b.name for b in program.buffers), *(a.name for a in program.shared)):
        if name.startswith("shared") or elements_of(program, name) is not None:
            yield resized(program, name, 4)


_GROUPED = (OptOps.GROUP,)
_PADDED = (OptOps.PADTO,)
_VECTORS = (OptOps.UPCAST, OptOps.UPCAST)

BREAKS: tuple[Break, ...] = (
    Break("barrier-removed", Outcome.RACE, barrier_removed, _GROUPED),
    Break(
        "barrier-of-a-loop-removed", Outcome.RACE, barrier_of_a_loop_removed, _GROUPED,
        is_nested=True,
    ),
    Break("barrier-guarded", Outcome.BARRIER_DIVERGENCE, barrier_guarded, _GROUPED),
    Break("shared-shortened", Outcome.OUT_OF_BOUNDS, shared_shortened, _GROUPED),
    Break("part-left-out", Outcome.UNINITIALISED, part_left_out, (*_GROUPED, OptOps.UPCAST)),
    Break("everyone-stores", Outcome.RACE, everyone_stores, _GROUPED),
    Break("store-guard-dropped", Outcome.OUT_OF_BOUNDS, guard_of_a_store_dropped, _PADDED),
    Break("load-guard-dropped", Outcome.OUT_OF_BOUNDS, guard_of_a_load_dropped, _PADDED),
    Break("buffer-shortened", Outcome.OUT_OF_BOUNDS, buffer_shortened, _VECTORS),
    Break("before-the-buffer", Outcome.OUT_OF_BOUNDS, before_the_buffer, (OptOps.UNROLL,)),
    Break("vector-moved", Outcome.OUT_OF_BOUNDS, vector_moved, _VECTORS),
    Break("store-left-out", Outcome.UNWRITTEN, store_left_out, _VECTORS),
    Break("stores-to-one-place", Outcome.RACE, stores_to_one_place, (OptOps.LOCAL,)),
    Break("read-of-another", Outcome.RACE, read_of_another, (OptOps.LOCAL, OptOps.UPCAST)),
    Break("start-left-out", Outcome.UNINITIALISED, start_left_out, (OptOps.UNROLL,)),
    Break("divided-by-zero", Outcome.TRAP, divided_by_zero),
    Break("beyond-int", Outcome.INDEX_OVERFLOW, _far, (OptOps.LOCAL,)),
    Break("widened", Outcome.PASS, widened, (OptOps.LOCAL,)),
    Break("division-not-reached", Outcome.PASS, division_that_nobody_reaches),
    Break("one-barrier-more", Outcome.PASS, one_barrier_more, _GROUPED),
    Break("room-to-spare", Outcome.PASS, room_to_spare, _GROUPED),
)  # fmt: skip
