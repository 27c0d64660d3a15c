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
    Axis,
    Condition,
    Less,
    Linear,
    Number,
    conjunction,
    floordiv,
    from_sint,
    less,
    mod,
    not_less,
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


@lru_cache(maxsize=1 << 15)
def located(views: tuple[View, ...], algebra: ViewAlgebra) -> Located:
    """Address and validity as the release's arithmetic gives them.

    Raises: Unsupported with reason release-raises where the release itself raises.
    """
    axes = tuple(_axis(i, n) for i, n in enumerate(views[-1].shape))
    old = algebra is ViewAlgebra.TINYGRAD_0_8_0
    address = _address(views[-1], axes)
    valid = conjunction(_flat_conditions(views[-1], axes) if old else _conditions(views[-1], axes))
    for view in reversed(views[:-1]):
        if valid is None:
            return Located(-1, None, axes)
        conditions: list[Condition]
        if old:
            conditions = _masked(view, _unflattened(address, view.shape, old=True))
            address = _merged_address(view, address)
        else:
            least = minified(view, algebra)
            coordinates = _unflattened(address, least.shape, old=False)
            conditions = _conditions(least, coordinates)
            address = _address(least, coordinates)
        valid = conjunction((*valid, *conditions))
    if not old and not _fits_int32(address):
        raise Unsupported("release-raises", f"an index outside 32 bits: {address}")
    return Located(address, valid, axes)


def _fits_int32(address: Number) -> bool:
    if isinstance(address, int):
        return -(1 << 31) <= address < 1 << 31
    low, high = address.low, address.high
    above = not isinstance(low, int) or low >= -(1 << 31)
    return above and (not isinstance(high, int) or high < 1 << 31)


def _axis(i: int, extent: Sint) -> Number:
    last = from_sint(add(extent, -1))
    if last == -1:
        raise Unsupported("release-raises", f"axis {i} has extent 0")
    return 0 if last == 0 else Linear(((Axis(f"idx{i}", 0, last), 1),))


def _address(view: View, point: tuple[Number, ...]) -> Number:
    moving = zip(point, view.shape, view.strides, strict=True)
    parts = [times(x, from_sint(s)) for x, n, s in moving if n != 1 and s != 0]
    return plus(from_sint(view.offset), *parts)


def _conditions(view: View, point: tuple[Number, ...]) -> list[Condition]:
    found: list[Condition] = []
    for x, (begin, end) in zip(point, view.mask or (), strict=False):
        found += [not_less(x, from_sint(begin)), less(x, from_sint(end))]
    return found


def _unflattened(address: Number, shape: tuple[Sint, ...], *, old: bool) -> tuple[Number, ...]:
    """The coordinates of a row-major index, as quotients and remainders."""
    inner: Number = 1
    coordinates: list[Number] = []
    for n in reversed(shape):
        extent = from_sint(n)
        coordinates.append(mod(floordiv(address, inner, old=old), extent, old=old))
        inner = times(inner, extent)
    return tuple(reversed(coordinates))


def minified(view: View, algebra: ViewAlgebra) -> View:
    """The View over as few axes as its strides need, if its mask allows."""
    least = reshape(view, tuple(run.extent for run in merged_runs(view, algebra)), algebra)
    return view if least is None else least


def _masked(view: View, coordinates: tuple[Number, ...]) -> list[Condition]:
    """0.8.0: conditions of the axes whose range is not the whole, innermost first."""
    found: list[Condition] = []
    axes = zip(coordinates, view.shape, view.mask or (), strict=False)
    for x, n, (begin, end) in reversed(list(axes)):
        if (begin, end) != (0, n):
            found += [not_less(x, from_sint(begin)), less(x, from_sint(end))]
    return found


def _flat_conditions(view: View, point: tuple[Number, ...]) -> list[Condition]:
    """0.8.0: the last view's mask, too, is asked of a flattened index."""
    if view.mask is None:
        return []
    flat: Number = 0
    inner: Number = 1
    parts: list[Number] = []
    for x, n in zip(reversed(point), reversed(view.shape), strict=True):
        parts.append(times(x, inner))
        inner = times(inner, from_sint(n))
    flat = plus(*parts)
    return _masked(view, _unflattened(flat, view.shape, old=True))


def _merged_address(view: View, address: Number) -> Number:
    """0.8.0: the address by runs of axes, whatever the mask."""
    unmasked = View(view.shape, view.strides, view.offset)
    runs = merged_runs(unmasked, ViewAlgebra.TINYGRAD_0_8_0)
    coordinates = _unflattened(address, tuple(run.extent for run in runs), old=True)
    steps = [times(x, from_sint(run.stride)) for x, run in zip(coordinates, runs, strict=True)]
    return plus(from_sint(view.offset), *reversed(steps))


@lru_cache(maxsize=1 << 15)
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
        plain = Linear(((atom, 1),))
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
    while isinstance(address, Linear):
        address = address.high
    return address + 1
