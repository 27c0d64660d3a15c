"""Which work-group and work-item runs which iteration of the parallel axes.

Axes go onto at most three dimensions. With more axes, or where one is longer than the device
allows, neighbours share a dimension; where no sharing fits, all global axes become one flat count
that three dimensions cover, with a guard when they cover more than that.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

from kernelref.codegen.lower.block import extent_of
from kernelref.codegen.program import GROUP_IDS, LOCAL_IDS, DefineIndex
from kernelref.codegen.target import Target
from kernelref.errors import Unsupported
from kernelref.ir.index import (
    Expr,
    Sint,
    Var,
    add,
    as_expr,
    bounds,
    floordiv,
    lt,
    mod,
    mul,
    product,
    simplify,
)
from kernelref.opt.axis import GROUPS, LOCALS, AxisType
from kernelref.opt.kernel import Kernel

Sizes = tuple[Sint, Sint, Sint]


@dataclass(frozen=True, slots=True)
class Launch:
    """Launch sizes, and where each parallel axis stands.

    `coordinates` gives each GLOBAL, LOCAL, WARP and GROUP axis as an index expression, `prelude`
    names those that take a computation. Work-groups where `guard` is 0 do nothing.
    """

    groups: Sizes
    local: tuple[int, int, int]
    coordinates: Mapping[int, Sint]
    prelude: tuple[DefineIndex, ...]
    guard: Sint = 1


def launch_of(kernel: Kernel, target: Target) -> Launch:
    """The launch of `kernel`.

    Law: exactly one work-item whose guard holds stands at each point of the parallel axes.
    Raises: Unsupported when the device cannot launch so many work-items.
    """
    work_items = kernel.axes_of(*LOCALS, *GROUPS)
    local, coordinates, prelude = _local(kernel, work_items, target)
    axes = kernel.axes_of(AxisType.GLOBAL)
    extents = [kernel.axes[axis].extent for axis in axes]
    parts = _partition(extents, target.grid_max, is_last_first=True)
    if parts is None:
        return _flat(axes, extents, target, local, coordinates, prelude)
    groups: list[Sint] = [1, 1, 1]
    for dim, part in enumerate(reversed(parts)):
        members = {axes[i]: extents[i] for i in part}
        groups[dim] = product(members.values())
        _decode(GROUP_IDS[dim], "g", members, coordinates, prelude)
    return Launch((groups[0], groups[1], groups[2]), local, coordinates, tuple(prelude))


def _local(
    kernel: Kernel, axes: Sequence[int], target: Target
) -> tuple[tuple[int, int, int], dict[int, Sint], list[DefineIndex]]:
    """The work-items of a group: axes left to right onto x, y, z."""
    coordinates: dict[int, Sint] = {}
    prelude: list[DefineIndex] = []
    extents = [extent_of(kernel, axis) for axis in axes]
    parts = _partition(extents, target.local_max, is_last_first=False)
    if parts is None or math.prod(extents) > target.group_max:
        raise Unsupported("group-size", f"{extents} work-items on {target.name}")
    sizes = [1, 1, 1]
    for dim, part in enumerate(parts):
        sizes[dim] = math.prod(extents[i] for i in part)
        members: dict[int, Sint] = {axes[i]: extents[i] for i in part}
        _decode(LOCAL_IDS[dim], "l", members, coordinates, prelude)
    return (sizes[0], sizes[1], sizes[2]), coordinates, prelude


def _partition(
    extents: Sequence[Sint], maxima: Sequence[int], *, is_last_first: bool
) -> list[range] | None:
    """Runs of neighbouring axes, one a dimension (at most three), each within its maximum.

    The first that fits, those first that fold leading axes only. `is_last_first`: the last run is
    dimension x.
    """
    count = len(extents)
    if not count:
        return []
    for cuts in _cuts(count, min(count, len(maxima))):
        edges = [0, *cuts, count]
        parts = [range(a, b) for a, b in pairwise(edges)]
        room = maxima[: len(parts)]
        sizes = [bounds(product(extents[i] for i in part))[1] for part in parts]
        if all(
            size <= most
            for size, most in zip(reversed(sizes) if is_last_first else sizes, room, strict=True)
        ):
            return parts
    return None


def _cuts(count: int, parts: int) -> Iterator[tuple[int, ...]]:
    """Where to cut `count` axes into `parts` runs, the latest cuts first."""
    choices = combinations(range(1, count), parts - 1)
    yield from sorted(choices, reverse=True)


def _decode(
    name: str,
    letter: str,
    members: Mapping[int, Sint],
    coordinates: dict[int, Sint],
    prelude: list[DefineIndex],
) -> None:
    """Read the coordinates of the axes that share one id, the last axis fastest.

    Law: id = sum_i coordinate[i] * product(extents after i).
    """
    identifier = Var(name, 0, add(product(members.values()), -1))
    if len(members) == 1:
        coordinates[next(iter(members))] = identifier
    else:
        _digits(identifier, letter, members, coordinates, prelude)


def _digits(
    number: Expr,
    letter: str,
    members: Mapping[int, Sint],
    coordinates: dict[int, Sint],
    prelude: list[DefineIndex],
) -> None:
    inner: Sint = 1
    for axis, extent in reversed(list(members.items())):
        digit = simplify(mod(floordiv(number, inner), extent))
        variable = Var(f"{letter}{axis}", 0, add(extent, -1))
        prelude.append(DefineIndex(variable, as_expr(digit)))
        coordinates[axis] = variable
        inner = mul(inner, extent)


def _flat(
    axes: Sequence[int],
    extents: Sequence[Sint],
    target: Target,
    local: tuple[int, int, int],
    coordinates: dict[int, Sint],
    prelude: list[DefineIndex],
) -> Launch:
    """All global axes as one count, cut into three dimensions."""
    total = product(extents)
    if not isinstance(total, int):
        raise Unsupported("grid-size", f"symbolic extents {extents} on {target.name}")
    sizes = _cover(total, target.grid_max)
    if sizes is None:
        raise Unsupported("grid-size", f"{total} work-groups on {target.name}")
    ids = [Var(name, 0, size - 1) for name, size in zip(GROUP_IDS, sizes, strict=True)]
    flat = add(ids[0], mul(ids[1], sizes[0]), mul(ids[2], sizes[0] * sizes[1]))
    number = Var("flat", 0, math.prod(sizes) - 1)
    prelude.append(DefineIndex(number, as_expr(flat)))
    guard = 1 if math.prod(sizes) == total else lt(number, total)
    members = dict(zip(axes, extents, strict=True))
    _digits(Var("flat", 0, total - 1), "g", members, coordinates, prelude)
    return Launch(sizes, local, coordinates, tuple(prelude), guard)


def _cover(total: int, maxima: tuple[int, int, int]) -> tuple[int, int, int] | None:
    """Three sizes within the maxima whose product is at least `total`: equal where that is near."""
    x = _factor(total, maxima[0])
    y = _factor(-(-total // x), maxima[1])
    z = -(-total // (x * y))
    return (x, y, z) if z <= maxima[2] else None


def _factor(total: int, most: int) -> int:
    """A large divisor of `total` that is at most `most`, or `most` where none is found soon."""
    fewest = -(-total // most)
    for divisor in range(fewest, fewest + 1024):
        if total % divisor == 0:
            return total // divisor
    return most
