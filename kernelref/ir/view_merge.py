"""Two adjacent Views as one, where one View can say the same; and the View that undoes another."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from kernelref.errors import Unsupported
from kernelref.ir.index import Sint, bounds, product
from kernelref.ir.tinygrad_strides import real_strides
from kernelref.ir.view import (
    SOUND,
    Mask,
    View,
    ViewAlgebra,
    contiguous_strides,
    is_maybe_lt,
    minus,
    valid_reach,
)
from kernelref.ir.view_moves import keep_every, pad, permute, shrink
from kernelref.ir.view_reshape import reshape


@lru_cache(maxsize=1 << 12)
def merge_views(outer: View, inner: View, algebra: ViewAlgebra = SOUND) -> View | None:
    """The View that takes a point through `inner` and then `outer`, or None."""
    if algebra is ViewAlgebra.TINYGRAD_0_8_0:
        return _merge_by_real_strides(outer, inner)
    if algebra is SOUND and (0 in inner.shape or _is_empty(inner)):
        return View.create(inner.shape, mask=((0, 0),) * len(inner.shape))
    if is_contiguous(outer, algebra) and (algebra is not SOUND or _stays_within(inner, outer)):
        return inner
    if is_contiguous(inner, algebra):
        if inner.shape == outer.shape:
            return outer
        if _same_size(outer, inner, algebra):
            reshaped = reshape(outer, inner.shape, algebra)
            if reshaped is not None:
                return reshaped
    if inner.mask is not None:
        return _merge_masked(outer, inner, algebra)
    if outer.is_symbolic or inner.is_symbolic:
        return None
    return _merge_linear(outer, inner, algebra)


def is_contiguous(view: View, algebra: ViewAlgebra) -> bool:
    """`View.contiguous`; before 0.9.1 an empty View with other strides does not count."""
    if algebra in (ViewAlgebra.TINYGRAD_0_8_0, ViewAlgebra.TINYGRAD_0_9_0):
        return view.contiguous and view.strides == contiguous_strides(view.shape)
    return view.contiguous


def _is_empty(view: View) -> bool:
    return any(not is_maybe_lt(begin, end, SOUND) for begin, end in view.mask or ())


def _stays_within(inner: View, outer: View) -> bool:
    """Whether every valid point of `inner` is a row-major index of `outer`, which need not wrap it.

    differs: a release takes that for granted.
    """
    least, largest = valid_reach(inner)
    return least >= 0 and largest < bounds(product(outer.shape))[0]


def _same_size(outer: View, inner: View, algebra: ViewAlgebra) -> bool:
    if algebra is SOUND:
        return product(outer.shape) == product(inner.shape)
    return outer.size == inner.size and product(outer.shape) == product(inner.shape)


def _merge_by_real_strides(outer: View, inner: View) -> View | None:
    """0.8.0: where both Views together have known strides, those are the merged ones."""
    algebra = ViewAlgebra.TINYGRAD_0_8_0
    if is_contiguous(inner, algebra) and inner.shape == outer.shape:
        return outer
    if is_contiguous(outer, algebra):
        return inner
    if outer.mask or inner.offset != 0:
        return None
    strides = real_strides((outer, inner), algebra, ignore_valid=False)
    known = tuple(s for s in strides if s is not None)
    if len(known) < len(strides):
        return None
    return View.create(inner.shape, known, outer.offset, inner.mask, algebra=algebra)


def _merge_masked(outer: View, inner: View, algebra: ViewAlgebra) -> View | None:
    """Merge what the inner mask leaves, then pad it back."""
    assert inner.mask is not None
    if any(not is_maybe_lt(begin, end, algebra) for begin, end in inner.mask):
        empty = ((0, 0),) * len(inner.shape)
        return View.create(inner.shape, (0,) * len(inner.shape), 0, empty, algebra=algebra)
    merged = merge_views(outer, shrink(inner, inner.mask, algebra), algebra)
    if merged is None:
        return None
    margins = zip(inner.shape, inner.mask, strict=True)
    padding = tuple((begin, minus(n, end)) for n, (begin, end) in margins)
    return pad(merged, padding, algebra)


class Digit(NamedTuple):
    """One coordinate in the outer View as a linear function of the inner axes.

    Law: coordinate = origin + sum of step * point[axis] over `steps`, within [low, high].
    """

    origin: int
    steps: dict[int, int]
    low: int
    high: int


def _merge_linear(outer: View, inner: View, algebra: ViewAlgebra) -> View | None:
    """Follow each inner axis through the outer coordinates; int Views without an inner mask."""
    if 0 in inner.shape:
        raise Unsupported("release-raises", "a variable over an axis of extent 0")
    digits = _digits(outer, inner)
    groups = _closed_groups(digits, _ints(outer.shape), inner)
    if groups is None:
        return None
    if groups != outer.shape:
        joined = reshape(outer, groups, algebra)
        return None if joined is None else merge_views(joined, inner, algebra)
    if outer.mask is not None:
        narrowed, is_product = _narrowed_mask(outer, inner, digits)
        if narrowed != tuple((0, n) for n in inner.shape):
            masked = View.create(
                inner.shape, inner.strides, inner.offset, narrowed, algebra=algebra
            )
            return merge_views(outer, masked, algebra)
        if not is_product:
            return None
    strides = [0] * len(inner.shape)
    offset = outer.offset
    for digit, stride in zip(digits, _ints(outer.strides), strict=True):
        offset += digit.origin * stride
        for axis, step in digit.steps.items():
            strides[axis] += step * stride
    return View.create(inner.shape, tuple(strides), offset, algebra=algebra)


def _ints(values: tuple[Sint, ...]) -> tuple[int, ...]:
    plain = tuple(value for value in values if isinstance(value, int))
    assert len(plain) == len(values), "symbolic Views are not merged"
    return plain


def _unravel(flat: int, shape: tuple[int, ...]) -> list[int]:
    """Row-major coordinates; what exceeds the shape stays in the first axis that is not 1."""
    coordinates = []
    for stride in _ints(contiguous_strides(shape)):
        coordinate = flat // stride if stride else 0
        coordinates.append(coordinate)
        flat -= coordinate * stride
    return coordinates


def _digits(outer: View, inner: View) -> list[Digit]:
    """The outer coordinates of the inner View's first point, and of one step along each axis."""
    shape = _ints(outer.shape)
    (offset,) = _ints((inner.offset,))
    origins = _unravel(offset, shape)
    steps: list[dict[int, int]] = [{} for _ in shape]
    for axis, stride in enumerate(_ints(inner.strides)):
        for i, coordinate in enumerate(_unravel(offset + stride, shape) if stride else ()):
            if coordinate != origins[i]:
                steps[i][axis] = coordinate - origins[i]
    return [
        Digit(origin, step, *_range(origin, step, inner))
        for origin, step in zip(origins, steps, strict=True)
    ]


def _range(origin: int, steps: dict[int, int], inner: View) -> tuple[int, int]:
    extents = _ints(inner.shape)
    reached = [step * (extents[axis] - 1) for axis, step in steps.items()]
    return origin + sum(min(r, 0) for r in reached), origin + sum(max(r, 0) for r in reached)


def _closed_groups(
    digits: list[Digit], shape: tuple[int, ...], inner: View
) -> tuple[int, ...] | None:
    """The outer extents, neighbours joined where a coordinate would carry into the next.

    No more than needed: joined axes make it harder to say a mask. None when it carries out of all.
    """
    extents: list[int] = []
    size, origin = 1, 0
    steps: dict[int, int] = {}
    for digit, extent in zip(reversed(digits), reversed(shape), strict=True):
        origin += digit.origin * size
        for axis, step in digit.steps.items():
            steps[axis] = steps.get(axis, 0) + step * size
        size *= extent
        low, high = _range(origin, steps, inner)
        if low >= 0 and high < size:
            extents.append(size)
            size, origin, steps = 1, 0, {}
    if origin or any(steps.values()):
        return None
    return tuple(reversed(extents))


def _narrowed_mask(
    outer: View, inner: View, digits: list[Digit]
) -> tuple[tuple[tuple[int, int], ...], bool]:
    """The ranges of inner axes outside which the outer mask fails, and whether it holds inside.

    It may not hold inside where an outer coordinate depends on several inner axes.
    """
    assert outer.mask is not None
    extents = _ints(inner.shape)
    ranges = [[0, n] for n in extents]
    is_product = True
    for digit, valid in zip(digits, outer.mask, strict=True):
        begin, end = _ints(valid)
        if digit.low >= begin and digit.high < end:
            continue
        if len(digit.steps) == 1:
            ((axis, step),) = digit.steps.items()
            first, last = begin - digit.origin, end - digit.origin - 1
            if step < 0:
                first, last = last, first
            ranges[axis][0] = max(ranges[axis][0], -(-first // step))
            ranges[axis][1] = min(ranges[axis][1], last // step + 1)
        elif not digit.steps and ranges:
            ranges[0][1] = 0
        else:
            is_product = False
    return tuple((begin, end) for begin, end in ranges), is_product


def invert_view(view: View, shape: tuple[Sint, ...], algebra: ViewAlgebra = SOUND) -> View | None:
    """The View from the view's flat space back to its points, or None where there is none.

    Permutes and flips are undone, and pads by a shrink. A release only compares sizes; SOUND asks
    that the valid points, so ordered, are the whole flat space.
    """
    if view.is_symbolic:
        return None
    strides = _ints(view.strides)
    ranges = view.mask or tuple((0, n) for n in view.shape)
    flips = tuple(-1 if stride < 0 else 1 for stride in strides)
    order = tuple(sorted(range(len(strides)), key=lambda axis: -abs(strides[axis])))
    if algebra is SOUND and not _ordered(view, ranges, flips, order, algebra).contiguous:
        return None
    undone = _ordered(View.create(view.shape, algebra=algebra), ranges, flips, order, algebra)
    return undone if product(undone.shape) == product(shape) else None


def _ordered(
    view: View, ranges: Mask, flips: tuple[int, ...], order: tuple[int, ...], algebra: ViewAlgebra
) -> View:
    """The valid points with all strides positive, the largest first."""
    flipped = keep_every(shrink(view, ranges, algebra), flips, algebra)
    return permute(flipped, order, algebra)
