"""Which work-group and work-item runs which iteration of the parallel axes.

Axes go onto at most three dimensions. With more axes, or where one is longer than the device
allows, neighbours share a dimension; where no sharing fits, all global axes become one flat count
that three dimensions cover, with a guard when they cover more than that.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

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
from kernelref.opt.footprint import cover, partitions
from kernelref.opt.kernel import Kernel


@dataclass(frozen=True, slots=True)
class Launch:
    """Launch sizes, and where each parallel axis stands.

    `coordinates` gives each GLOBAL, LOCAL, WARP and GROUP axis as an index expression, `prelude`
    names those that take a computation. Work-groups where `guard` is 0 do nothing.
    """

    groups: tuple[Sint, Sint, Sint]
    local: tuple[int, int, int]
    coordinates: Mapping[int, Sint]
    prelude: tuple[DefineIndex, ...]
    guard: Sint = 1


@dataclass(slots=True)
class _Coordinates:
    """The coordinates found so far."""

    known: dict[int, Sint] = field(default_factory=dict)
    prelude: list[DefineIndex] = field(default_factory=list)

    def read(self, name: str, letter: str, members: Mapping[int, Sint]) -> None:
        """Read the coordinates of the axes that share the id `name`."""
        identifier = Var(name, 0, add(product(members.values()), -1))
        if len(members) == 1:
            self.known[next(iter(members))] = identifier
        else:
            self.digits(identifier, letter, members)

    def digits(self, number: Expr, letter: str, members: Mapping[int, Sint]) -> None:
        """Cut a number into coordinates, the last axis fastest.

        Law: number = sum_i coordinate[i] * product(extents after i).
        """
        inner: Sint = 1
        for axis, extent in reversed(list(members.items())):
            digit = simplify(mod(floordiv(number, inner), extent))
            variable = Var(f"{letter}{axis}", 0, add(extent, -1))
            self.prelude.append(DefineIndex(variable, as_expr(digit)))
            self.known[axis] = variable
            inner = mul(inner, extent)


def launch_of(kernel: Kernel, target: Target) -> Launch:
    """The launch of `kernel`: work-items left to right onto x, y, z, groups right to left.

    Law: exactly one work-item whose guard holds stands at each point of the parallel axes.
    Raises: Unsupported when the device cannot launch so many work-items.
    """
    found = _Coordinates()
    local = _local(kernel, target, found)
    extents = {axis: kernel.axes[axis].extent for axis in kernel.axes_of(AxisType.GLOBAL)}
    parts = _fitting(extents, target.grid_max, is_last_first=True)
    if parts is None:
        return _flat(extents, target, local, found)
    for dim, part in enumerate(parts):
        found.read(GROUP_IDS[dim], "gaxis", part)
    x, y, z = [*(product(part.values()) for part in parts), 1, 1, 1][:3]
    return Launch((x, y, z), local, found.known, tuple(found.prelude))


def _local(kernel: Kernel, target: Target, found: _Coordinates) -> tuple[int, int, int]:
    axes = kernel.axes_of(*LOCALS, *GROUPS)
    extents: dict[int, Sint] = {axis: extent_of(kernel, axis) for axis in axes}
    parts = _fitting(extents, target.local_max, is_last_first=False)
    if parts is None or bounds(product(extents.values()))[1] > target.group_max:
        raise Unsupported("group-size", f"{list(extents.values())} work-items on {target.name}")
    for dim, part in enumerate(parts):
        found.read(LOCAL_IDS[dim], "laxis", part)
    x, y, z = [*(math.prod(extent_of(kernel, a) for a in part) for part in parts), 1, 1, 1][:3]
    return x, y, z


def _fitting(
    extents: Mapping[int, Sint], maxima: Sequence[int], *, is_last_first: bool
) -> list[dict[int, Sint]] | None:
    """The axes of each dimension x, y, z, if some sharing of neighbours fits."""
    axes = list(extents)
    for runs in partitions(len(axes)):
        parts = [{axes[i]: extents[axes[i]] for i in run} for run in runs]
        if is_last_first:
            parts.reverse()
        sizes = [bounds(product(part.values()))[1] for part in parts]
        if all(size <= most for size, most in zip(sizes, maxima, strict=False)):
            return parts
    return None


def _flat(
    extents: Mapping[int, Sint], target: Target, local: tuple[int, int, int], found: _Coordinates
) -> Launch:
    """All global axes as one count, cut into three dimensions."""
    total = product(extents.values())
    sizes = cover(total, target.grid_max) if isinstance(total, int) else None
    if sizes is None or not isinstance(total, int):
        raise Unsupported("grid-size", f"{total} work-groups on {target.name}")
    ids = [Var(name, 0, size - 1) for name, size in zip(GROUP_IDS, sizes, strict=True)]
    flat = add(ids[0], mul(ids[1], sizes[0]), mul(ids[2], sizes[0] * sizes[1]))
    number = Var("flat", 0, math.prod(sizes) - 1)
    found.prelude.append(DefineIndex(number, as_expr(flat)))
    found.digits(Var("flat", 0, total - 1), "gaxis", extents)
    guard = 1 if math.prod(sizes) == total else lt(number, total)
    return Launch(sizes, local, found.known, tuple(found.prelude), guard)
