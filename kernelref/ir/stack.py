"""What a stack of Views says about its axes: index expressions, real strides, masks, size.

This is the truth that `ShapeTracker` tells under the SOUND algebra; what a release knows of it is
in `tinygrad_strides`. The meaning is `ShapeTracker.address`; all of this is tested against it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from kernelref.ir.index import (
    Expr,
    Sint,
    Var,
    add,
    and_,
    bounds,
    floordiv,
    ge,
    is_surely_ge,
    lt,
    mod,
    mul,
    polynomial,
    polynomial_sum,
    simplify,
    variables,
)
from kernelref.ir.view import View, minus, valid_reach

Stack = tuple[View, ...]


@lru_cache(maxsize=1 << 12)
def axis_variables(views: Stack) -> tuple[Sint, ...]:
    """One variable an axis, idx0, idx1, ..., from 0 to the extent less 1; 0 for an axis of one.

    Names are longer where a symbolic variable of the stack is called like that.
    """
    taken = {variable.name for view in views for variable in view.variables()}
    prefix = "idx"
    while any(name.startswith(prefix) for name in taken):
        prefix = f"_{prefix}"
    return tuple(
        0 if n in (0, 1) else Var(f"{prefix}{i}", 0, minus(n, 1))
        for i, n in enumerate(views[-1].shape)
    )


def locate(views: Stack, point: Sequence[Sint], *, simplified: bool) -> tuple[Sint, Sint]:
    """The address and the validity of a point as expressions. Law: they equal `address`."""
    address, conditions = _locate_in_view(views[-1], point)
    for view in reversed(views[:-1]):
        coordinates = unflatten(address, view.shape)
        if simplified:
            coordinates = tuple(map(simplify, coordinates))
        address, further = _locate_in_view(view, coordinates)
        conditions += further
    if simplified:
        return simplify(address), simplify(and_(*conditions))
    return address, and_(*conditions)


def unflatten(address: Sint, shape: tuple[Sint, ...]) -> tuple[Sint, ...]:
    """The coordinates of a row-major index.

    Law: x[i] = address // product(shape[i+1:]) % shape[i].
    """
    inner: Sint = 1
    coordinates: list[Sint] = []
    for n in reversed(shape):
        coordinates.append(mod(floordiv(address, inner), n))
        inner = mul(inner, n)
    return tuple(reversed(coordinates))


def _locate_in_view(view: View, point: Sequence[Sint]) -> tuple[Sint, list[Sint]]:
    address = add(view.offset, *(mul(x, s) for x, s in zip(point, view.strides, strict=True)))
    conditions: list[Sint] = []
    for x, (begin, end) in zip(point, view.mask or (), strict=False):
        conditions += [ge(x, begin), lt(x, end)]
    return address, conditions


@lru_cache(maxsize=1 << 12)
def _located(views: Stack) -> tuple[Sint, Sint]:
    return locate(views, axis_variables(views), simplified=True)


@lru_cache(maxsize=1 << 12)
def real_strides(views: Stack, *, ignore_valid: bool) -> tuple[Sint | None, ...]:
    """Per axis by how much the address grows; None where masked or not linear."""
    if len(views) == 1 and views[0].mask is None:
        return views[0].strides
    address, valid = _located(views)
    masked = frozenset() if ignore_valid else variables(valid)
    return tuple(
        None if axis in masked else _coefficient(address, axis) for axis in axis_variables(views)
    )


def _coefficient(address: Sint, axis: Sint) -> Sint | None:
    """What `axis` is multiplied by, if the address is linear in it; 0 for an axis of one."""
    if not isinstance(axis, Expr):
        return 0
    terms = []
    for monomial, c in polynomial(address):
        rest = tuple(atom for atom in monomial if atom is not axis)
        if len(rest) < len(monomial) - 1 or any(axis in variables(atom) for atom in rest):
            return None
        if len(rest) < len(monomial):
            terms.append((rest, c))
    return polynomial_sum(terms)


def axis_is_masked(views: Stack, axis: int) -> bool:
    """Whether validity depends on the axis."""
    if all(view.mask is None for view in views):
        return False
    return axis_variables(views)[axis] in variables(_located(views)[1])


def is_never_valid(views: Stack) -> bool:
    """Whether no point is valid, as far as single ranges tell."""
    return any(0 in view.shape for view in views) or any(
        is_surely_ge(begin, end) for view in views for begin, end in view.mask or ()
    )


def size_bound(views: Stack) -> int:
    """One more than the largest address that a valid point can have.

    Exact for one View without symbolic parts. Else the smaller of what the buffer's own View
    reaches, whatever the Views above it do, and of what the whole address can be.
    """
    if is_never_valid(views):
        return 0
    _, largest = valid_reach(views[0])
    if len(views) > 1:
        largest = min(largest, bounds(_located(views)[0])[1])
    return max(largest + 1, 0)
