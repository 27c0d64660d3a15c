"""What a ShapeTracker claims, held against the index array that numpy made.

Each check returns what is wrong, in a sentence, or None.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kernelref.ir.index import Sint, evaluate
from kernelref.ir.shapetracker import ShapeTracker
from kernelref.jobs.benchmarks.movement import Indices


def _points(shape: Sequence[int]) -> tuple[Any, ...]:
    return np.ogrid[tuple(slice(n) for n in shape)]


def _difference(what: str, address: Any, valid: Any, expected: Indices) -> str | None:
    found = np.broadcast_to(np.where(valid, address, -1), expected.shape)
    if np.array_equal(found, expected):
        return None
    point = tuple(int(x) for x in np.argwhere(found != expected)[0])
    return f"{what} at point {point}: expected {expected[point]}, got {found[point]}"


def element_map(st: ShapeTracker, expected: Indices) -> str | None:
    """Law: `address` gives numpy's index where numpy has one, and is invalid elsewhere."""
    if st.shape != expected.shape:
        return f"shape: expected {expected.shape}, got {st.shape}"
    if expected.size == 0:
        return None
    address, valid = st.address(_points(expected.shape))
    return _difference("address", address, valid, expected)


def expressions(st: ShapeTracker, expected: Indices) -> str | None:
    """Law: `index`, simplified or not, evaluates to `address`."""
    if expected.size == 0:
        return None
    names = [f"idx{i}" for i in range(len(expected.shape))]
    values = dict(zip(names, _points(expected.shape), strict=True))
    for simplified in (True, False):
        address, valid = st.index(simplified=simplified)
        where = np.asarray(evaluate(valid, values)) != 0
        what = "simplified index" if simplified else "index"
        found = _difference(what, evaluate(address, values), where, expected)
        if found is not None:
            return found
    return None


def strides(st: ShapeTracker, expected: Indices) -> str | None:
    """Law: neighbours that are both valid lie the real stride apart.

    A stride that is known without ignoring masks, and an axis that is not masked, also mean that
    neighbours are valid or invalid together.
    """
    ignoring = st.real_strides(ignore_valid=True)
    masking = st.real_strides()
    for axis in range(expected.ndim):
        n = expected.shape[axis]
        before, after = expected.take(range(n - 1), axis), expected.take(range(1, n), axis)
        both = (before >= 0) & (after >= 0)
        known: tuple[Sint | None, ...] = (ignoring[axis], masking[axis])
        for stride in known:
            if stride is not None and ((after - before)[both] != stride).any():
                return f"real stride {stride} of axis {axis} is not what numpy steps by"
        varies = bool(((before >= 0) != (after >= 0)).any())
        if varies and masking[axis] is not None:
            return f"axis {axis} has a real stride and yet a mask"
        if varies and not st.axis_is_masked(axis):
            return f"axis {axis} is masked and is said not to be"
    return None


def size(st: ShapeTracker, expected: Indices) -> str | None:
    """Law: `real_size` is one more than the largest address that is used."""
    needed = int(expected.max(initial=-1)) + 1
    if st.real_size() != needed:
        return f"real size: expected {needed}, got {st.real_size()}"
    return None


def inverse(st: ShapeTracker, start: tuple[int, ...], expected: Indices) -> str | None:
    """Law: where `invert` gives a ShapeTracker, it maps each buffer element to its point."""
    undone = st.invert(start)
    if undone is None or expected.size == 0:
        return None
    if undone.shape != start:
        return f"inverse has shape {undone.shape}, not {start}"
    points = np.argsort(expected, axis=None, kind="stable")[np.sum(expected < 0) :]
    if len(points) != np.prod(start):
        return "an inverse of what is not one-to-one"
    return _difference("inverse", *undone.address(_points(start)), points.reshape(start))


CHECKS: tuple[Callable[[ShapeTracker, Indices], str | None], ...] = (
    element_map,
    expressions,
    strides,
    size,
)


def first_fault(st: ShapeTracker, expected: Indices) -> str | None:
    """What is wrong with a ShapeTracker or with its simplified form, if anything."""
    for check in CHECKS:
        found = check(st, expected)
        if found is not None:
            return found
    simplified = st.simplify()
    if simplified is not st:
        for check in CHECKS:
            found = check(simplified, expected)
            if found is not None:
                return f"simplified: {found}"
    return None
