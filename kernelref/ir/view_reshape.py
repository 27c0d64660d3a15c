"""Reshape of one View, where one View can hold the result.

Strides: runs of axes that a single stride walks are merged, then cut into the new extents. Masks:
ranges are joined or split along the same cuts. Where either fails, the result is None and the
ShapeTracker stacks a View instead.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from kernelref.errors import InvalidInput
from kernelref.ir.index import (
    Sint,
    add,
    is_possibly_ge,
    is_possibly_le,
    mul,
    product,
)
from kernelref.ir.view import SOUND, Mask, View, ViewAlgebra, check_parts, spell


class Run(NamedTuple):
    """Neighbouring axes walked by one stride.

    `extent` is their product, `moving` the part of it that the stride walks: the outer rest stands
    still (a broadcast, or an axis masked to one element).
    """

    extent: Sint
    stride: Sint
    moving: Sint


def _is_single(view: View, axis: int, algebra: ViewAlgebra) -> bool:
    """Whether a valid point has only one coordinate on this axis, so that any stride serves."""
    if view.mask is not None:
        begin, end = view.mask[axis]
        return add(end, mul(begin, -1)) == 1
    return view.shape[axis] == 1


def merged_runs(view: View, algebra: ViewAlgebra) -> tuple[Run, ...]:
    """The runs of a View, outermost first."""
    if not view.shape:
        return ()

    def started(axis: int) -> Run:
        n, stride = view.shape[axis], view.strides[axis]
        return Run(n, stride, n if stride != 0 else 0)

    runs = [started(0)]
    joining = _joins_next(view, 0, algebra, first=True, earlier=False)
    for axis in range(1, len(view.shape)):
        n, stride = view.shape[axis], view.strides[axis]
        if n == 1:
            continue
        last = runs[-1]
        if joining or last.stride == mul(n, stride):
            moving = n if joining else mul(last.moving, n)
            runs[-1] = Run(mul(last.extent, n), stride, moving if stride != 0 else 0)
        else:
            runs.append(started(axis))
        joining = _joins_next(view, axis, algebra, first=False, earlier=joining)
    return tuple(runs)


def _joins_next(view: View, axis: int, algebra: ViewAlgebra, *, first: bool, earlier: bool) -> bool:
    """Whether the run that ends at `axis` takes the next axis in whatever its stride."""
    still = view.strides[axis] == 0
    match algebra:
        case ViewAlgebra.TINYGRAD_0_8_0:
            masked = view.mask is not None and _is_single(view, axis, algebra)
            return still and masked and not (first and view.shape[axis] == 1)
        case ViewAlgebra.TINYGRAD_0_9_0:
            return still and _is_single(view, axis, algebra)
        case _:
            return _is_single(view, axis, algebra)


def _new_strides(
    runs: tuple[Run, ...], shape: tuple[Sint, ...], algebra: ViewAlgebra
) -> list[Sint] | None:
    """Strides of the new axes, outermost first; None where an axis would straddle two runs."""
    strides: list[Sint] = []
    extents = list(shape)
    for run in reversed(runs):
        walked: Sint = 1
        stride = run.stride
        while extents and walked != run.extent and is_possibly_le(walked, run.extent):
            n = extents.pop()
            if n == 0:
                break
            strides.append(stride if algebra is not ViewAlgebra.TINYGRAD_0_8_0 or n != 1 else 0)
            if n != 1:
                walked = mul(walked, n)
                stride = mul(stride, n) if _is_within(walked, run.moving) else 0
        if walked != run.extent:
            return None
    strides += [0] * (len(shape) - len(strides))
    strides.reverse()
    return strides


def _is_within(walked: Sint, moving: Sint) -> bool:
    return not is_possibly_ge(walked, moving) if isinstance(moving, int) else walked != moving


EMPTY_RANGE = (0, 0)


def reshaped_mask(view: View, shape: tuple[Sint, ...], algebra: ViewAlgebra) -> Mask | None:
    """The mask over `shape` that says the same as the View's; None where there is none.

    Only for a View with a mask.
    """
    assert view.mask is not None
    numbers = (*view.shape, *shape, *(end for r in view.mask for end in r))
    if not all(isinstance(n, int) for n in numbers):
        return None
    old = [(n, b, e) for n, (b, e) in zip(view.shape, view.mask, strict=True)]
    return _MaskCutter(old, list(shape), algebra).cut()  # type: ignore[arg-type]


class _MaskCutter:
    """Walks old and new axes from the innermost, joining and splitting ranges.

    State: `inner` points lie below the next new axis within the current old block, whose extent is
    `extent` with the valid range [begin, end).
    """

    def __init__(
        self, old: list[tuple[int, int, int]], shape: list[int], algebra: ViewAlgebra
    ) -> None:
        self.old = old
        self.shape = shape
        self.algebra = algebra

    def cut(self) -> Mask | None:
        """The new mask, or None."""
        empty: Mask = (EMPTY_RANGE,) * len(self.shape)
        if any(begin >= end for _, begin, end in self.old):
            return empty
        mask: list[tuple[int, int]] = []
        old, new = list(self.old), list(self.shape)
        extent, begin, end = old.pop() if old else (1, 0, 1)
        inner = 1
        while new:
            outer = inner * new[-1]
            if extent == outer:
                mask.append((begin // inner, (end - 1) // inner + 1))
                new.pop()
                extent, begin, end = old.pop() if old else (1, 0, 1)
                inner = 1
            elif extent > outer:
                if not self._can_split(extent, begin, end, outer):
                    return None
                mask.append((begin % outer // inner, (end - 1) % outer // inner + 1))
                new.pop()
                inner = outer
            else:
                n, b, e = old.pop() if old else (1, 0, 1)
                if (begin, end) != (0, extent) and e - b != 1:
                    return None
                begin, end, extent = b * extent + begin, (e - 1) * extent + end, extent * n
        if any((begin, end) != (0, 1) for _, begin, end in old):
            return empty
        return tuple(reversed(mask))

    def _can_split(self, extent: int, begin: int, end: int, outer: int) -> bool:
        """Whether a range is a product of ranges over (extent / outer, outer)."""
        if self.algebra is not ViewAlgebra.TINYGRAD_0_8_0 and extent % outer:
            return False
        whole = begin % outer == 0 and end % outer == 0
        return whole or begin // outer == (end - 1) // outer


def check_reshape(view: View, shape: tuple[Sint, ...]) -> None:
    """Refuse a reshape to another number of points.

    Raises: InvalidInput with both shapes.
    """
    check_parts(shape, None, None)
    if product(view.shape) != product(shape):
        raise InvalidInput(f"cannot reshape {spell(view.shape)} to {spell(shape)}")


@lru_cache(maxsize=1 << 16)
def reshape(view: View, shape: tuple[Sint, ...], algebra: ViewAlgebra = SOUND) -> View | None:
    """The View with other extents over the same row-major points, or None.

    Raises: InvalidInput when the number of points differs.
    """
    if view.shape == shape:
        return view
    check_reshape(view, shape)
    if 0 in view.shape:
        return View.create(shape, algebra=algebra)
    if shape == () and view.mask is not None and any(b == e for b, e in view.mask):
        return None
    if view.contiguous:
        return View.create(shape, algebra=algebra)
    strides = _new_strides(merged_runs(view, algebra), shape, algebra)
    if strides is None:
        return None
    mask = None
    valid_shape = shape
    offset = view.offset
    if view.mask is not None:
        mask = reshaped_mask(view, shape, algebra)
        if mask is None:
            return None
        valid_shape = tuple(add(e, mul(b, -1)) for b, e in mask)
    strides = [0 if n == 1 else s for n, s in zip(valid_shape, strides, strict=True)]
    for (begin, _), stride in zip(view.mask or (), view.strides, strict=False):
        offset = add(offset, mul(begin, stride))
    for (begin, _), stride in zip(mask or (), strides, strict=False):
        offset = add(offset, mul(begin, mul(stride, -1)))
    return View.create(shape, tuple(strides), offset, mask, algebra=algebra)
