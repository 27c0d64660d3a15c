"""How many elements a buffer must have for a stack of Views: exact where that is cheap."""

from __future__ import annotations

from math import prod

import numpy as np

from kernelref.ir.index import Sint, add, bounds, mul
from kernelref.ir.view import View

ENUMERATED_POINTS = 1 << 16
"""Stacks of more points are bounded, not enumerated."""


def real_size(views: tuple[View, ...]) -> int:
    """One more than the largest valid address: exact for one View and for small stacks.

    Otherwise what the buffer's own View could reach at most, whatever the views above it do. With
    symbolic parts, what it could be at most.
    """
    if any(0 in view.shape or _is_empty(view) for view in views):
        return 0
    most = bounds(_largest(views[0]))[1] + 1
    if len(views) == 1 or any(view.is_symbolic for view in views):
        return max(most, 0)
    shape = [n for n in views[-1].shape if isinstance(n, int)]
    if prod(shape) > ENUMERATED_POINTS:
        return max(most, 0)
    return _enumerated(views, shape)


def _is_empty(view: View) -> bool:
    return any(bounds(add(e, mul(b, -1)))[1] <= 0 for b, e in view.mask or ())


def _largest(view: View) -> Sint:
    """The largest address of a valid point."""
    total = view.offset
    ranges = view.mask or tuple((0, n) for n in view.shape)
    for stride, (begin, end) in zip(view.strides, ranges, strict=True):
        first, last = mul(stride, begin), mul(stride, add(end, -1))
        total = add(total, last if bounds(stride)[0] >= 0 else first)
    return total


def _enumerated(views: tuple[View, ...], shape: list[int]) -> int:
    from kernelref.ir.shapetracker import ShapeTracker

    address, valid = ShapeTracker(views).address(np.ogrid[tuple(slice(n) for n in shape)])
    reached = np.where(valid, address, -1)
    return int(reached.max()) + 1
