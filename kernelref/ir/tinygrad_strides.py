"""What a release knows of a ShapeTracker: real strides, masked axes, claimed size.

These are the heuristics' inputs under a release's rule set. They are not the truth about the views
(`ShapeTracker` under SOUND tells that) but what the release's index arithmetic makes of them.

Source: tinygrad 0.8.0, 0.9.0 and 0.9.1, shape/shapetracker.py.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from kernelref.errors import Unsupported
from kernelref.ir.index import Sint, add
from kernelref.ir.tinygrad_index import (
    Condition,
    Less,
    conjunction,
    floordiv,
    less,
    mod,
    not_less,
)
from kernelref.ir.tinygrad_linear import (
    Axis,
    Linear,
    Number,
    bounds,
    from_sint,
    of_atom,
    plus,
    times,
    to_sint,
)
from kernelref.ir.view import View, ViewAlgebra
from kernelref.ir.view_reshape import merged_runs, reshape


class Located(NamedTuple):
    """Address, conditions (None: never valid) and the axis variables (0 for an axis of one)."""

    address: Number
    valid: tuple[Less, ...] | None
    axes: tuple[Number, ...]


@lru_cache(maxsize=1 << 12)
def located(views: tuple[View, ...], algebra: ViewAlgebra) -> Located:
    """Address and validity as the release's arithmetic gives them.

    Raises: Unsupported with reason release-raises where the release itself raises.
    """
    axes = tuple(_axis(i, n) for i, n in enumerate(views[-1].shape))
    if algebra is ViewAlgebra.TINYGRAD_0_8_0:
        address, valid = _located_by_flat_index(views, axes)
        return Located(address, valid, axes)
    address = _address(views[-1], axes)
    valid = conjunction(_conditions(views[-1], axes))
    for view in reversed(views[:-1]):
        if valid is None:
            return Located(-1, None, axes)
        least = minified(view, algebra)
        point = _unflattened(address, least.shape)
        valid = conjunction((*valid, *_conditions(least, point)))
        address = _address(least, point)
    if not _fits_int32(address):
        raise Unsupported("release-raises", f"an index outside 32 bits: {address}")
    return Located(address, valid, axes)


def _located_by_flat_index(
    views: tuple[View, ...], axes: tuple[Number, ...]
) -> tuple[Number, tuple[Less, ...] | None]:
    """0.8.0: every mask, the last view's too, is asked of a flattened index."""
    flat = plus(*(times(x, n) for x, n in zip(axes, _inner_sizes(views[-1].shape), strict=True)))
    address = _address(views[-1], axes)
    valid = conjunction(_flat_conditions(views[-1], flat))
    for view in reversed(views[:-1]):
        if valid is None:
            return -1, None
        valid = conjunction((*valid, *_flat_conditions(view, address)))
        address = _merged_address(view, address)
    return address, valid


def _fits_int32(address: Number) -> bool:
    low, high = bounds(address)
    above = not isinstance(low, int) or low >= -(1 << 31)
    return above and (not isinstance(high, int) or high < 1 << 31)


def _axis(i: int, extent: Sint) -> Number:
    last = from_sint(add(extent, -1))
    if last == -1:
        raise Unsupported("release-raises", f"axis {i} has extent 0")
    return 0 if last == 0 else of_atom(Axis(f"idx{i}", 0, last))


def _address(view: View, point: tuple[Number, ...]) -> Number:
    moving = zip(point, view.shape, view.strides, strict=True)
    parts = [times(x, from_sint(s)) for x, n, s in moving if n != 1 and s != 0]
    return plus(from_sint(view.offset), *parts)


def _conditions(view: View, point: tuple[Number, ...]) -> list[Condition]:
    found: list[Condition] = []
    for x, (begin, end) in zip(point, view.mask or (), strict=False):
        found += [not_less(x, from_sint(begin)), less(x, from_sint(end))]
    return found


def _inner_sizes(shape: tuple[Sint, ...]) -> tuple[Number, ...]:
    """Per axis how many points lie below one step of it."""
    sizes: list[Number] = [1]
    for n in reversed(shape):
        sizes.append(times(sizes[-1], from_sint(n)))
    return tuple(reversed(sizes[:-1]))


def _unflattened(
    address: Number, shape: tuple[Sint, ...], *, old: bool = False
) -> tuple[Number, ...]:
    """The coordinates of a row-major index, as quotients and remainders."""
    return tuple(
        mod(floordiv(address, inner, old=old), from_sint(n), old=old)
        for n, inner in zip(shape, _inner_sizes(shape), strict=True)
    )


def minified(view: View, algebra: ViewAlgebra) -> View:
    """The View over as few axes as its strides need, if its mask allows."""
    least = reshape(view, tuple(run.extent for run in merged_runs(view, algebra)), algebra)
    return view if least is None else least


def _flat_conditions(view: View, flat: Number) -> list[Condition]:
    """0.8.0: conditions of the axes whose range is not the whole; others are not looked at."""
    found: list[Condition] = []
    axes = zip(view.shape, _inner_sizes(view.shape), view.mask or (), strict=False)
    for n, inner, (begin, end) in axes:
        if (begin, end) != (0, n):
            x = mod(floordiv(flat, inner, old=True), from_sint(n), old=True)
            found += [not_less(x, from_sint(begin), old=True), less(x, from_sint(end), old=True)]
    return found


def _merged_address(view: View, address: Number) -> Number:
    """0.8.0: the address by runs of axes, whatever the mask."""
    unmasked = View(view.shape, view.strides, view.offset)
    runs = merged_runs(unmasked, ViewAlgebra.TINYGRAD_0_8_0)
    point = _unflattened(address, tuple(run.extent for run in runs), old=True)
    steps = [times(x, from_sint(run.stride)) for x, run in zip(point, runs, strict=True)]
    return plus(from_sint(view.offset), *reversed(steps))


@lru_cache(maxsize=1 << 12)
def real_strides(
    views: tuple[View, ...], algebra: ViewAlgebra, *, ignore_valid: bool
) -> tuple[Sint | None, ...]:
    """Per axis the stride that the release knows, None where it knows none."""
    if len(views) == 1 and views[0].mask is None:
        return views[0].strides
    address, valid, axes = located(views, algebra)
    linear = address if isinstance(address, Linear) else Linear(())
    direct: dict[Number, Number] = {}
    unknown: frozenset[Axis] = frozenset()
    for atom, c in linear.terms:
        plain = of_atom(atom)
        if plain in axes:
            direct[plain] = c
        else:
            unknown |= plain.axes
    masked = frozenset[Axis]().union(*(c.axes for c in valid or ()))
    strides: list[Sint | None] = []
    for x in axes:
        own = x.axes if isinstance(x, Linear) else frozenset[Axis]()
        if own & unknown or (own & masked and not ignore_valid):
            strides.append(None)
        else:
            strides.append(to_sint(direct[x]) if own & linear.axes else 0)
    return tuple(strides)


def axis_is_masked(views: tuple[View, ...], algebra: ViewAlgebra, axis: int) -> bool:
    """Whether the release's conditions mention the axis."""
    valid = located(views, algebra).valid
    return any(var.name == f"idx{axis}" for c in valid or () for var in c.axes)


def claimed_size(views: tuple[View, ...], algebra: ViewAlgebra) -> int:
    """The buffer size that the release reports; it can be too large, and in 0.8.0 negative."""
    if 0 in views[-1].shape:
        return 0
    address, valid, _ = located(views, algebra)
    if valid is None and algebra is not ViewAlgebra.TINYGRAD_0_8_0:
        return 0
    old = algebra is ViewAlgebra.TINYGRAD_0_8_0
    while isinstance(address, Linear):
        address = bounds(address, old=old)[1]
    return address + 1
