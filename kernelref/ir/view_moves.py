"""Movement ops on one View: pad, shrink, expand, permute, stride. Reshape is in `view_reshape`.

Law, for each function f: `f(view, ...)` at a point is the View at the point that the op names, and
invalid where the op adds points.
"""

from __future__ import annotations

from kernelref.errors import InvalidInput, Unsupported
from kernelref.ir.index import (
    Sint,
    add,
    bounds,
    floordiv,
    is_possibly_ge,
    is_surely_ge,
    mul,
)
from kernelref.ir.view import SOUND, Mask, Range, View, ViewAlgebra, is_maybe_lt, minus, spell


def pad(view: View, padding: tuple[Range, ...], algebra: ViewAlgebra = SOUND) -> View:
    """Add invalid points: (before, after) on each axis.

    Raises: InvalidInput for a negative amount or another number of axes.
    """
    if len(padding) != len(view.shape) or any(bounds(n)[0] < 0 for p in padding for n in p):
        raise InvalidInput(f"cannot pad shape {spell(view.shape)} by {spell(padding)}")
    if all(n == 0 for pair in padding for n in pair):
        return view
    axes = list(zip(view.shape, padding, strict=True))
    kept = tuple((before, add(n, before)) for n, (before, _) in axes)
    window = tuple((mul(before, -1), add(n, after)) for n, (before, after) in axes)
    return _window(view, window, kept, algebra)


def shrink(view: View, ranges: tuple[Range, ...], algebra: ViewAlgebra = SOUND) -> View:
    """Keep the points in [begin, end) of each axis.

    Raises: InvalidInput for a range that surely leaves the axis.
    """
    fits = len(ranges) == len(view.shape) and all(
        is_possibly_ge(begin, 0) and is_possibly_ge(end, begin) and is_possibly_ge(n, end)
        for n, (begin, end) in zip(view.shape, ranges, strict=True)
    )
    if not fits:
        raise InvalidInput(f"cannot shrink shape {spell(view.shape)} to {spell(ranges)}")
    return _window(view, ranges, None, algebra)


def expand(view: View, shape: tuple[Sint, ...], algebra: ViewAlgebra = SOUND) -> View:
    """Repeat axes of extent 1.

    Raises: InvalidInput for another number of axes or an axis that is not 1.
    """
    if len(shape) != len(view.shape):
        raise InvalidInput(f"cannot expand shape {spell(view.shape)} to {spell(shape)}")
    if 0 in view.shape:
        if any(not (n == m or n == 1) for n, m in zip(view.shape, shape, strict=True)):
            raise InvalidInput(f"cannot expand shape {spell(view.shape)} to {spell(shape)}")
        return View.create(shape, algebra=algebra)
    if any(n not in (m, 1) for n, m in zip(view.shape, shape, strict=True)):
        raise InvalidInput(f"cannot expand shape {spell(view.shape)} to {spell(shape)}")
    if algebra is not SOUND and any(
        n != m and stride != 0 for n, m, stride in zip(view.shape, shape, view.strides, strict=True)
    ):
        raise Unsupported("release-raises", "an axis of extent 1 whose stride is not 0")
    mask = None
    if view.mask is not None:
        mask = tuple(
            old if n == m else (0, m) if old == (0, 1) else (0, 0)
            for old, n, m in zip(view.mask, view.shape, shape, strict=True)
        )
    strides = tuple(
        0 if n != m else stride
        for n, m, stride in zip(view.shape, shape, view.strides, strict=True)
    )
    return View.create(shape, strides, view.offset, mask, algebra=algebra)


def permute(view: View, order: tuple[int, ...], algebra: ViewAlgebra = SOUND) -> View:
    """Axis i of the result is axis order[i].

    Raises: InvalidInput when `order` is not a permutation of the axes.
    """
    if sorted(order) != list(range(len(view.shape))):
        raise InvalidInput(f"{order} is not an order of {len(view.shape)} axes")
    return View.create(
        tuple(view.shape[axis] for axis in order),
        tuple(view.strides[axis] for axis in order),
        view.offset,
        None if view.mask is None else tuple(view.mask[axis] for axis in order),
        algebra=algebra,
    )


def keep_every(view: View, steps: tuple[int, ...], algebra: ViewAlgebra = SOUND) -> View:
    """Keep every |step|-th point of each axis, from the end where the step is negative.

    Raises: InvalidInput for a step of 0 or another number of axes.
    """
    if len(steps) != len(view.shape) or 0 in steps:
        raise InvalidInput(f"cannot step shape {spell(view.shape)} by {steps}")
    offset, mask = view.offset, []
    for i, step in enumerate(steps):
        n = view.shape[i]
        if step < 0:
            offset = add(offset, mul(add(n, -1), view.strides[i]))
        if view.mask is not None:
            begin, end = view.mask[i]
            first, last = (begin, end) if step > 0 else (minus(n, end), minus(n, begin))
            mask.append((ceildiv(first, abs(step)), ceildiv(last, abs(step))))
    shape = tuple(ceildiv(n, abs(step)) for n, step in zip(view.shape, steps, strict=True))
    strides = tuple(mul(s, step) for s, step in zip(view.strides, steps, strict=True))
    new_mask = None if view.mask is None else tuple(mask)
    return View.create(shape, strides, offset, new_mask, algebra=algebra)


def ceildiv(value: Sint, step: int) -> Sint:
    """The quotient, rounded up."""
    return floordiv(add(value, step - 1), step)


def _window(view: View, window: Mask, mask: Mask | None, algebra: ViewAlgebra) -> View:
    """The points of `window`, which may reach beyond the shape where `mask` excludes them."""
    offset = view.offset
    for stride, (begin, _) in zip(view.strides, window, strict=True):
        offset = add(offset, mul(stride, begin))
    if view.mask is not None:
        moved = tuple(_clip(r, w, algebra) for r, w in zip(view.mask, window, strict=True))
        if mask is None:
            mask = moved
        else:
            mask = tuple(
                (_larger(a, c, algebra), _smaller(b, d, algebra))
                for (a, b), (c, d) in zip(moved, mask, strict=True)
            )
    shape = tuple(minus(end, begin) for begin, end in window)
    if mask is not None and all(r == (0, n) for r, n in zip(mask, shape, strict=True)):
        mask = None
    return View.create(shape, view.strides, offset, mask, algebra=algebra)


def _clip(valid: Range, window: Range, algebra: ViewAlgebra) -> Range:
    """A valid range as seen from inside a window."""
    extent = minus(window[1], window[0])
    begin, end = (_smaller(minus(end, window[0]), extent, algebra) for end in valid)
    return _larger(0, begin, algebra), _larger(0, end, algebra)


def _larger(left: Sint, right: Sint, algebra: ViewAlgebra) -> Sint:
    """The larger of two; a release takes an undecided comparison for true."""
    if not is_maybe_lt(left, right, algebra):
        return left
    if algebra is SOUND and not is_surely_ge(right, left):
        raise Unsupported("symbolic-mask", f"the larger of {left} and {right} is not decided")
    return right


def _smaller(left: Sint, right: Sint, algebra: ViewAlgebra) -> Sint:
    """The smaller of two; a release takes an undecided comparison for true."""
    if not is_maybe_lt(right, left, algebra):
        return left
    if algebra is SOUND and not is_surely_ge(left, right):
        raise Unsupported("symbolic-mask", f"the smaller of {left} and {right} is not decided")
    return right
