"""Which work-groups of a launch run when the whole launch would take too long.

Whole groups only, each as it would run in the whole launch: the first, the last, the corners of the
grid and a sample. `elements_written` says which output elements they store, by evaluating the
addresses and guards of the Program's stores, `left_out` whether all groups together leave one out.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelref.codegen.program import (
    GROUP_IDS,
    LOCAL_IDS,
    Define,
    DefineIndex,
    Guarded,
    Loop,
    Program,
    Statement,
    StoreGlobal,
)
from kernelref.ir.index import Sint, evaluate
from kernelref.run.job import GroupRange, Stored
from kernelref.run.oracle import boxes
from kernelref.run.written import mask_of

Grid = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class LaunchSize:
    """How much of a launch runs. Units: weighted iteration points.

    A space of more than `most` runs by whole groups, about `partial` points of it; more than
    `limit` where groups are large is not run at all.
    """

    most: int
    partial: int
    limit: int | None = None


DEVICE_SIZE = LaunchSize(10**9, 10**8)
INTERPRETER_SIZE = LaunchSize(2**23, 2**20)
SIMULATOR_SIZE = LaunchSize(2**16, 2**14, limit=2**20)
"""Oclgrind takes microseconds for a statement of a work-item, and remembers each access."""

USUAL_NODES = 32
"""Nodes of an AST from which a point counts as several."""

MOST_BOXES = 64
"""Each box is a launch of its own."""

MOST_GROUPS = 65536

MOST_STORED = 1 << 22
STORED_AT_ONCE = 1 << 18
"""Units: work-items whose stores are evaluated, of a launch and together."""


def weighted_points(points: int, nodes: int) -> int:
    """Iteration points, each counted by how many times `USUAL_NODES` its expression is long."""
    return points * max(USUAL_NODES, nodes) // USUAL_NODES


def concrete_groups(program: Program, values: Mapping[str, int]) -> Grid:
    """The launch's groups along (x, y, z) for these values of the symbolic variables."""
    x, y, z = (int(evaluate(extent, values)) for extent in program.groups)
    return x, y, z


def chosen_groups(
    groups: Grid, points: int, *, seed: int, size: LaunchSize = DEVICE_SIZE
) -> tuple[GroupRange, ...] | None:
    """Disjoint boxes of groups to run instead of all; None where the whole launch is small enough.

    Boxes are runs of groups along x that start at multiples of their length, so two of them are
    equal or disjoint: a kernel that works in place must not run a group twice.
    """
    total = math.prod(groups)
    wanted = min(MOST_GROUPS, size.partial * total // max(points, 1))
    if points <= size.most or total <= max(wanted, 2):
        return None
    length = min(groups[0], max(1, wanted // MOST_BOXES))
    grid = (-(-groups[0] // length), groups[1], groups[2])
    count = min(math.prod(grid), max(2, min(MOST_BOXES, wanted // length)))
    first, last = (0, 0, 0), (grid[0] - 1, grid[1] - 1, grid[2] - 1)
    x_ends, y_ends, z_ends = ((0, extent - 1) for extent in grid)
    corners = itertools.product(x_ends, y_ends, z_ends)
    chosen: dict[Grid, None] = dict.fromkeys((first, last, *corners))
    rng = random.Random(seed)
    while len(chosen) < count:
        x, y, z = (rng.randrange(extent) for extent in grid)
        chosen.setdefault((x, y, z))
    return tuple(
        GroupRange((x * length, y, z), (min(length, groups[0] - x * length), 1, 1))
        for x, y, z in itertools.islice(chosen, count)
    )


def points_in(ranges: Sequence[GroupRange] | None, groups: Grid, points: int) -> int:
    """About how many of a launch's points these groups run; None: all of them."""
    if ranges is None:
        return points
    return points * sum(math.prod(box.count) for box in ranges) // max(math.prod(groups), 1)


def left_out(
    program: Program, stored: Mapping[int, Stored], values: Mapping[str, int]
) -> tuple[int, int] | None:
    """A (buffer, element) of `stored` that no group of the whole launch stores, if there is one.

    The groups that do not run are asked by their addresses and guards alone; of launches with more
    than MOST_STORED elements nothing is said.
    """
    groups = concrete_groups(program, values)
    if math.prod(groups) * math.prod(program.local) > MOST_STORED:
        return None
    seen = {number: np.zeros(_end(elements), bool) for number, elements in stored.items()}
    for z, y, x in boxes(groups[::-1], max(1, STORED_AT_ONCE // math.prod(program.local))):
        box = GroupRange((x.start, y.start, z.start), (len(x), len(y), len(z)))
        for number, places in elements_written(program, (box,), values).items():
            if number in seen:
                seen[number][places[places < len(seen[number])]] = True
    for number, elements in stored.items():
        missing = np.flatnonzero(~seen[number] & mask_of(elements, 0, len(seen[number])))
        if len(missing):
            return number, int(missing[0])
    return None


def _end(elements: Stored) -> int:
    return elements.stop if isinstance(elements, range) else int(elements.max(initial=-1)) + 1


@dataclass(frozen=True, slots=True)
class _Scope:
    """What encloses a statement: loops from the outside in, guards, named index values."""

    loops: tuple[Loop, ...] = ()
    guards: tuple[Sint, ...] = ()
    names: tuple[DefineIndex, ...] = ()


def elements_written(
    program: Program, ranges: Iterable[GroupRange], values: Mapping[str, int]
) -> dict[int, NDArray[np.int64]]:
    """Per output buffer the elements that these groups store, sorted, each once."""
    numbers = {buffer.name: buffer.number for buffer in program.buffers}
    found: dict[int, list[NDArray[np.int64]]] = {}
    listed = list(ranges)
    for store, scope in _stores(program.body, _Scope()):
        for box in listed:
            addresses = _addresses(program, store, scope, box, values)
            found.setdefault(numbers[store.buffer], []).append(addresses)
    return {number: np.unique(np.concatenate(parts)) for number, parts in found.items()}


def _stores(body: Iterable[Statement], scope: _Scope) -> Iterator[tuple[StoreGlobal, _Scope]]:
    loops, guards, names = scope.loops, scope.guards, scope.names
    for statement in body:
        match statement:
            case StoreGlobal():
                yield statement, _Scope(loops, guards, names)
            case Loop(body=inner):
                yield from _stores(inner, _Scope((*loops, statement), guards, names))
            case Guarded(condition=condition, body=inner):
                yield from _stores(inner, _Scope(loops, (*guards, condition), names))
            case DefineIndex():
                names = (*names, statement)
            case Define() | _:
                pass


def _addresses(
    program: Program, store: StoreGlobal, scope: _Scope, box: GroupRange, values: Mapping[str, int]
) -> NDArray[np.int64]:
    """Every element that the store writes in a box of groups."""
    ranges = [
        *((name, box.first[i], box.count[i]) for i, name in enumerate(GROUP_IDS)),
        *((name, 0, program.local[i]) for i, name in enumerate(LOCAL_IDS)),
        *((loop.variable.name, 0, int(evaluate(loop.extent, values))) for loop in scope.loops),
    ]
    known: dict[str, Any] = dict(values)
    for i, (name, first, count) in enumerate(ranges):
        shape = [1] * len(ranges)
        shape[i] = count
        known[name] = np.arange(first, first + count, dtype=np.int64).reshape(shape)
    for named in scope.names:
        known[named.variable.name] = evaluate(named.value, known)
    valid: Any = evaluate(store.guard, known) != 0
    for guard in scope.guards:
        valid = valid & (evaluate(guard, known) != 0)
    address, valid = np.broadcast_arrays(
        np.asarray(evaluate(store.address, known), dtype=np.int64), np.asarray(valid)
    )
    first_lanes = np.unique(address[valid])
    return (first_lanes[:, None] + np.arange(store.lanes, dtype=np.int64)).reshape(-1)
