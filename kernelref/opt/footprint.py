"""What a Kernel takes of a device: bytes of on-chip memory and launch sizes.

The sound rule set refuses what does not fit. `codegen/lower` must come to the same numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from math import prod
from typing import TYPE_CHECKING

from kernelref.ir.ast import Reduce
from kernelref.ir.index import Sint, bounds, product
from kernelref.opt.axis import GROUPS, LOCALS, UPCASTS, Axis, AxisType
from kernelref.opt.limits import Limits

if TYPE_CHECKING:
    from kernelref.opt.kernel import Kernel

WORK_ITEMS = LOCALS | GROUPS
UNLIMITED = (2**63, 2**63, 2**63)
_NEAR = 1024


@dataclass(frozen=True, slots=True)
class Footprint:
    """Units: `shared_nbytes` bytes a work-group; `groups` and `local` count along (x, y, z).

    `groups` or `local` is None when the device cannot launch so many.
    """

    shared_nbytes: int
    groups: tuple[Sint, Sint, Sint] | None
    local: tuple[int, int, int] | None


def footprint(kernel: Kernel) -> Footprint:
    """What `kernel` takes under its limits."""
    limits = kernel.limits
    return Footprint(
        shared_nbytes(kernel.axes, kernel.reduces, kernel.iterates),
        group_counts(kernel.axes, limits.global_max or UNLIMITED),
        local_sizes(kernel.axes, limits),
    )


def shared_nbytes(
    axes: Sequence[Axis], reduces: Sequence[Reduce], iterates: Sequence[Sequence[bool]]
) -> int:
    """Bytes of on-chip memory: one array for each reduction that work-items share.

    Law: elements = product of the extents of work-item axes and of the upcast axes that the
    reduction does not run over (each keeps an accumulator of its own).
    """
    total = 0
    for reduce, runs_over in zip(reduces, iterates, strict=True):
        shared = any(
            axis.type is AxisType.GROUP_REDUCE and runs
            for axis, runs in zip(axes, runs_over, strict=True)
        )
        if shared:
            counted = [
                axis.extent
                for axis, runs in zip(axes, runs_over, strict=True)
                if axis.type in WORK_ITEMS or (axis.type in UPCASTS and not runs)
            ]
            total += _most(counted) * reduce.dtype.value.itemsize
    return total


def group_counts(
    axes: Sequence[Axis], maxima: tuple[int, int, int]
) -> tuple[Sint, Sint, Sint] | None:
    """Work-groups along (x, y, z): GLOBAL axes, the last one along x.

    Neighbours share a dimension where there are more than three or one is too long; where no
    sharing fits, all become one count that three dimensions cover.
    """
    extents = [axis.extent for axis in axes if axis.type is AxisType.GLOBAL]
    for parts in partitions(len(extents)):
        sizes = [product(extents[i] for i in part) for part in reversed(parts)]
        if all(bounds(n)[1] <= most for n, most in zip(sizes, maxima, strict=False)):
            return _three(sizes)
    total = product(extents)
    return cover(total, maxima) if isinstance(total, int) else None


def local_sizes(axes: Sequence[Axis], limits: Limits) -> tuple[int, int, int] | None:
    """Work-items of a group along (x, y, z): work-item axes, the first one along x."""
    extents = [_most([axis.extent]) for axis in axes if axis.type in WORK_ITEMS]
    if limits.group_max is not None and prod(extents) > limits.group_max:
        return None
    for parts in partitions(len(extents)):
        sizes = [prod(extents[i] for i in part) for part in parts]
        maxima = limits.local_max or UNLIMITED
        if all(n <= most for n, most in zip(sizes, maxima, strict=False)):
            x, y, z = [*sizes, 1, 1, 1][:3]
            return x, y, z
    return None


def _three(sizes: Sequence[Sint]) -> tuple[Sint, Sint, Sint]:
    x, y, z = [*sizes, 1, 1, 1][:3]
    return x, y, z


def _most(extents: Sequence[Sint]) -> int:
    """The largest product that the extents can have."""
    return bounds(product(extents))[1]


def partitions(count: int) -> Iterator[list[range]]:
    """Ways to cut `count` axes into at most three runs, those that fold leading axes only first."""
    parts = min(count, 3)
    if parts == 0:
        yield []
        return
    for cuts in sorted(combinations(range(1, count), parts - 1), reverse=True):
        yield [range(begin, end) for begin, end in pairwise((0, *cuts, count))]


def cover(total: int, maxima: tuple[int, int, int]) -> tuple[int, int, int] | None:
    """Three sizes within the maxima whose product is at least `total`: equal where that is near."""
    for size in (_divisor, min):
        x = size(total, maxima[0])
        y = size(-(-total // x), maxima[1])
        z = -(-total // (x * y))
        if z <= maxima[2]:
            return x, y, z
    return None


def _divisor(total: int, most: int) -> int:
    """A large divisor of `total` that is at most `most`, or `most` where none is near."""
    fewest = max(1, -(-total // most))
    for divisor in range(fewest, fewest + _NEAR):
        if total % divisor == 0:
            return total // divisor
    return most
