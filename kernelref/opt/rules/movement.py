"""Route one: a step as movement ops on ShapeTrackers, and its effect on typed axes.

Each buffer is reshaped, permuted or padded like the kernel; a buffer of extent 1 on the axis (it
does not vary there) stays so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

from kernelref.ir.index import Sint
from kernelref.ir.shapetracker import ShapeTracker
from kernelref.opt.axis import Axis
from kernelref.opt.extents import quotient
from kernelref.opt.rules.step import Pad, Split, Step


@dataclass(frozen=True, slots=True)
class Layout:
    """What a step rewrites: the typed axes, each buffer's views, and which reduce runs where."""

    axes: tuple[Axis, ...]
    sts: tuple[ShapeTracker, ...]
    iterates: tuple[tuple[bool, ...], ...]


def move(layout: Layout, step: Step) -> Layout:
    """The layout after `step`; axes whose extent became 1 are still there."""
    match step:
        case Split():
            return _split(layout, step)
        case Pad():
            return _pad(layout, step)
        case _:
            assert_never(step)


def drop_ones(layout: Layout) -> Layout:
    """Remove the axes of extent 1."""
    kept = [i for i, axis in enumerate(layout.axes) if axis.extent != 1]
    return Layout(
        tuple(layout.axes[i] for i in kept),
        tuple(st.reshape(tuple(st.shape[i] for i in kept)) for st in layout.sts),
        tuple(tuple(row[i] for i in kept) for row in layout.iterates),
    )


def axes_after(axes: Sequence[Axis], step: Step) -> tuple[Axis, ...]:
    """The typed axes after `step`, those of extent 1 too."""
    match step:
        case Split(axis=axis, amount=amount, made=made):
            kept = Axis(quotient(axes[axis].extent, amount), axes[axis].type)
            parts = [Axis(amount, made), kept] if step.outer else [kept, Axis(amount, made)]
            both = [*axes[:axis], *parts, *axes[axis + 1 :]]
            return tuple(both[i] for i in _order(step, len(axes)))
        case Pad(axis=axis):
            padded = Axis(padded_extent(axes[axis].extent, step), axes[axis].type)
            return (*axes[:axis], padded, *axes[axis + 1 :])
        case _:
            assert_never(step)


def kept_positions(axes: Sequence[Axis], step: Step) -> tuple[int | None, ...]:
    """Where each axis (of a split one: the kept part) lies once ones are gone; None if it went."""
    after = axes_after(axes, step)
    order: list[int] = list(range(len(axes)))
    moved = -1
    if isinstance(step, Split):
        order = _order(step, len(axes))
        moved = step.axis if step.outer else step.axis + 1
    alive = [part for part, axis in zip(order, after, strict=True) if axis.extent != 1]
    parts = [part for part in sorted(order) if part != moved]
    return tuple(alive.index(part) if part in alive else None for part in parts)


def padded_extent(extent: Sint, step: Pad) -> int:
    """The multiple of `step.multiple` that is not below `extent`."""
    if not isinstance(extent, int):
        raise AssertionError(f"padding a symbolic extent {extent!r}")
    return -(-extent // step.multiple) * step.multiple


def _split(layout: Layout, step: Split) -> Layout:
    order = _order(step, len(layout.axes))
    return Layout(
        axes_after(layout.axes, step),
        tuple(st.reshape(_split_shape(st.shape, step)).permute(tuple(order)) for st in layout.sts),
        tuple(_reorder(_twice(row, step.axis), order) for row in layout.iterates),
    )


def _split_shape(shape: Sequence[Sint], step: Split) -> tuple[Sint, ...]:
    extent = shape[step.axis]
    parts: tuple[Sint, Sint] = (1, 1)
    if extent != 1:
        parts = (quotient(extent, step.amount), step.amount)
        if step.outer:
            parts = (step.amount, quotient(extent, step.amount))
    return (*shape[: step.axis], *parts, *shape[step.axis + 1 :])


def _order(step: Split, count: int) -> list[int]:
    """Where each axis after comes from, counted in the shape with both parts."""
    moved = step.axis if step.outer else step.axis + 1
    order = [i for i in range(count + 1) if i != moved]
    place = step.place if step.place <= step.axis else step.place + 1
    order.insert(len([i for i in order if i < place]), moved)
    return order


def _twice(row: Sequence[bool], axis: int) -> list[bool]:
    return [*row[: axis + 1], *row[axis:]]


def _reorder(row: Sequence[bool], order: Sequence[int]) -> tuple[bool, ...]:
    return tuple(row[i] for i in order)


def _pad(layout: Layout, step: Pad) -> Layout:
    axes = axes_after(layout.axes, step)
    extra = axes[step.axis].extent - layout.axes[step.axis].extent
    return Layout(axes, tuple(_pad_end(st, step.axis, extra) for st in layout.sts), layout.iterates)


def _pad_end(st: ShapeTracker, axis: int, extra: Sint) -> ShapeTracker:
    if st.shape[axis] == 1 or extra == 0:
        return st
    return st.pad(tuple((0, extra if i == axis else 0) for i in range(len(st.shape))))
