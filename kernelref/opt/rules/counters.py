"""A release's three counters, and the axis types that they imply.

A release does not type axes: it counts locals, groups and upcasts, and colours follow from counts
and from where output and full extents differ. Where its counting goes wrong, axes change their
type. Under a release's rule set types are counted anew after each opt, so that this shows here too.

Source: tinygrad 0.9.1 codegen/kernel.py, colors, first_reduce and simplify_ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kernelref.errors import Unsupported
from kernelref.ir.index import Sint
from kernelref.opt.axis import GROUPS, LOCALS, UPCASTS, Axis, AxisType


@dataclass(frozen=True, slots=True)
class Counters:
    """How many axes are local, grouped and upcast."""

    locals: int
    groups: int
    upcasts: int

    def __str__(self) -> str:
        return f"{self.locals} local, {self.groups} grouped and {self.upcasts} upcast axes"


def count(axes: Sequence[Axis]) -> Counters:
    """The counters of typed axes."""
    return Counters(
        sum(axis.type in LOCALS for axis in axes),
        sum(axis.type in GROUPS for axis in axes),
        sum(axis.type in UPCASTS for axis in axes),
    )


def first_difference(full: Sequence[Sint], output: Sequence[Sint], upcasts: int) -> int:
    """The first axis that is not upcast on which output and full extent differ."""
    end = len(full) - upcasts
    return next((i for i in range(end) if full[i] != output[i]), end)


def without_ones(counters: Counters, full: Sequence[Sint], output: Sequence[Sint]) -> Counters:
    """The counters when the axes of full extent 1 go: counted off what they lay in."""
    ones = [extent == 1 for extent in full]
    first = first_difference(full, output, counters.upcasts)
    return Counters(
        counters.locals - sum(ones[first - counters.locals : first]),
        counters.groups,
        counters.upcasts - sum(ones[len(full) - counters.upcasts :]),
    )


def typed(
    counters: Counters, full: Sequence[Sint], output: Sequence[Sint], axes: Sequence[Axis]
) -> tuple[Axis, ...]:
    """Axes with the types that the counters imply; a local axis that was WARP stays WARP.

    Raises: Unsupported when the counts do not fit the shape: the release goes on in a state in
    which an axis has no type.
    """
    first = first_difference(full, output, counters.upcasts)
    start_upcasts = len(full) - counters.upcasts
    first_local, end_groups = first - counters.locals, first + counters.groups
    if not 0 <= first_local <= first <= end_groups <= start_upcasts <= len(full):
        raise Unsupported("counters-do-not-fit", f"{counters} on ({', '.join(map(str, full))})")
    types: list[AxisType] = []
    for i, axis in enumerate(axes):
        reduced = full[i] != output[i]
        if i < first_local:
            types.append(AxisType.GLOBAL)
        elif i < first:
            types.append(AxisType.WARP if axis.type is AxisType.WARP else AxisType.LOCAL)
        elif i < end_groups:
            types.append(AxisType.GROUP_REDUCE if reduced else AxisType.GROUP_UPCAST)
        elif i < start_upcasts:
            types.append(AxisType.REDUCE)
        else:
            types.append(AxisType.UNROLL if reduced else AxisType.UPCAST)
    return tuple(Axis(axis.extent, kind) for axis, kind in zip(axes, types, strict=True))
