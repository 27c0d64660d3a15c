"""Reshape of one View, where one View can hold the result.

Strides: runs of axes that a single stride walks are merged, then cut into the new extents. Masks:
ranges are joined or split along the same cuts. Where either fails, the result is None and the
ShapeTracker stacks a View instead.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from kernelref.errors import InvalidInput
from kernelref.ir.index import Sint, add, is_surely_ge, mul, product
from kernelref.ir.view import SOUND, Mask, View, ViewAlgebra, check_parts, is_maybe_lt, spell


class Run(NamedTuple):
    """Neighbouring axes walked by one stride.

    `extent` is their product, `moving` the part of it that the stride walks: the outer rest stands
    still (a broadcast, or an axis masked to one element).
    """

    extent: Sint
    stride: Sint
    moving: Sint


def _is_single(view: View, axis: int) -> bool:
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
            masked = view.mask is not None and _is_single(view, axis)
            return still and masked and not (first and view.shape[axis] == 1)
        case ViewAlgebra.TINYGRAD_0_9_0:
            return still and _is_single(view, axis)
        case _:
            return _is_single(view, axis)


def _new_strides(
    runs: tuple[Run, ...], shape: tuple[Sint, ...], algebra: ViewAlgebra
) -> list[Sint] | None:
    """Strides of the new axes, outermost first; None where an axis would straddle two runs."""
    strides: list[Sint] = []
    extents = list(shape)
    for run in reversed(runs):
        walked: Sint = 1
        stride = run.stride
        while extents and walked != run.extent and is_maybe_lt(walked, add(run.extent, 1), algebra):
            n = extents.pop()
            strides.append(stride if algebra is not ViewAlgebra.TINYGRAD_0_8_0 or n != 1 else 0)
            if n == 1:
                continue
            walked = mul(walked, n)
            moves = walked != run.moving and is_maybe_lt(walked, run.moving, algebra)
            if moves and algebra is SOUND and not is_surely_ge(run.moving, add(walked, 1)):
                return None
            stride = mul(stride, n) if moves else 0
        if walked != run.extent:
            return None
    strides += [0] * (len(shape) - len(strides))
    strides.reverse()
    return strides


Block = tuple[int, int, int]
"""Extent and valid range [begin, end) of one old axis, or of several joined."""
EMPTY = (0, 0)


def reshaped_mask(view: View, shape: tuple[Sint, ...], algebra: ViewAlgebra) -> Mask | None:
    """The mask over `shape` that says the same as the View's; None where there is none.

    Only for a View with a mask.
    """
    assert view.mask is not None
    if view.mask and all(pair == EMPTY for pair in view.mask):
        return (EMPTY,) * len(shape)
    old: list[Block] = []
    for n, (begin, end) in zip(view.shape, view.mask, strict=True):
        if not (isinstance(n, int) and isinstance(begin, int) and isinstance(end, int)):
            return None
        old.append((n, begin, end))
    new = [n for n in shape if isinstance(n, int)]
    if len(new) < len(shape):
        return None
    if algebra is SOUND and any(begin >= end for _, begin, end in old):
        return (EMPTY,) * len(shape)
    return _cut_mask(old, new, algebra)


def _cut_mask(old: list[Block], new: list[int], algebra: ViewAlgebra) -> Mask | None:
    """Join and split ranges from the innermost axis on, so that they lie along the new axes.

    `inner` points lie below the next new axis within the block that is being split.
    """
    empty: Mask = (EMPTY,) * len(new)
    mask: list[tuple[int, int]] = []
    extent, begin, end = old.pop() if old else (1, 0, 1)
    inner = 1
    if begin >= end:
        return empty
    while new:
        outer = inner * new[-1]
        if extent < outer:
            n, first, last = old.pop() if old else (1, 0, 1)
            if (begin, end) != (0, extent) and last - first != 1:
                return None
            begin, end = first * extent + begin, (last - 1) * extent + end
            extent *= n
            continue
        if extent > outer and not _can_split(extent, begin, end, outer, algebra):
            return None
        within = (begin, end - 1) if extent == outer else (begin % outer, (end - 1) % outer)
        mask.append((within[0] // inner, within[1] // inner + 1))
        new.pop()
        inner = outer
        if extent == outer:
            extent, begin, end = old.pop() if old else (1, 0, 1)
            inner = 1
            if begin >= end:
                return empty
    return empty if any(block[1:] != (0, 1) for block in old) else tuple(reversed(mask))


def _can_split(extent: int, begin: int, end: int, outer: int, algebra: ViewAlgebra) -> bool:
    """Whether a range is a product of ranges over (extent / outer, outer)."""
    if algebra is not ViewAlgebra.TINYGRAD_0_8_0 and extent % outer:
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


@lru_cache(maxsize=1 << 12)
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
    if algebra is SOUND:
        # Runs are read off canonical strides; a View that a file gives need not have them.
        view = View.create(view.shape, view.strides, view.offset, view.mask)
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
