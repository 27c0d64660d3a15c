"""Random elements of one buffer, within a range."""

from __future__ import annotations

import math

import numpy as np

from kernelref.ir import semantics
from kernelref.ir.dtype import BOOL, DOUBLE, INT64, DType
from kernelref.ir.semantics import Array
from kernelref.run.ranges import Range

TILE = (1 << 20) - 3
"""Longer buffers repeat what is drawn; the length is prime, so that no power of two repeats it."""


def draw(
    random: np.random.Generator, elements: int, dtype: DType, values: Range, near: Range | None
) -> Array:
    """Stored elements of `dtype` (bfloat16 as bits) from `values`; half of them `near` if given.

    Never all zero, if the range has another number.
    """
    count = min(elements, TILE)
    dtype = dtype.storage
    if dtype == BOOL:
        drawn = random.integers(0, 2, count).astype(bool)
    elif dtype.is_float and values.granule is None:
        drawn = _floats(random, count, dtype, values, near)
    else:
        drawn = _integers(random, count, dtype, values, near)
    if count and not drawn.any():
        other = 1.0 if values.low <= 1 <= values.high else values.high or values.low
        drawn[random.integers(count)] = semantics.constant(other, dtype)
    return np.resize(semantics.encode(drawn, dtype), elements)


def _floats(
    random: np.random.Generator, count: int, dtype: DType, values: Range, near: Range | None
) -> Array:
    """Uniform between the ends, an eighth of them whole, an eighth close to `near`.

    For an infinite range any bits but denormals and odd NaNs.
    """
    if not math.isinf(values.size):
        reals = random.uniform(values.low, values.high, count)
        kind = random.integers(0, 8, count)
        reals = np.where(kind == 0, np.clip(np.rint(reals), values.low, values.high), reals)
        if near is not None and values.low < 0:
            reals = np.where(kind == 1, random.uniform(near.low - 1, near.high + 1, count), reals)
        return semantics.convert(reals, DOUBLE, dtype)
    stored = np.frombuffer(random.bytes(count * dtype.itemsize), semantics.storage(dtype))
    with semantics.quiet():
        drawn = semantics.decode(stored, dtype).copy()
    drawn[np.abs(drawn) < np.finfo(dtype.numpy.name).smallest_normal] = 0
    drawn[np.isnan(drawn)] = np.nan
    special = [np.inf, -np.inf, np.nan, 0.0, -0.0, 1.0, -1.0]
    is_special = random.integers(0, 8, count) == 0
    drawn[is_special] = random.choice(special, int(is_special.sum()))
    return drawn


def _integers(
    random: np.random.Generator, count: int, dtype: DType, values: Range, near: Range | None
) -> Array:
    """Integers between the ends; of a whole 8- to 64-bit range small, random and extreme ones."""
    if dtype.is_int and values == Range(float(dtype.lowest), float(dtype.highest)):
        drawn = _bits_and_extremes(random, count, dtype)
    else:
        low, high = math.ceil(values.low), math.floor(values.high)
        drawn = semantics.convert(random.integers(low, high, count, endpoint=True), INT64, dtype)
    if near is not None:
        first, last = max(near.low, values.low), min(near.high, values.high)
        if first <= last and last - first < 2**62:
            hits = _between(random, count, dtype, math.ceil(first), math.floor(last))
            drawn = np.where(random.integers(0, 2, count) == 0, hits, drawn)
    return drawn


def _between(random: np.random.Generator, count: int, dtype: DType, low: int, high: int) -> Array:
    """Integers from `low` to `high`, or `low` where that is more; no other than `dtype` holds.

    A range is kept in floats: 2**63 stands for the largest long, too.
    """
    if dtype.is_int:
        least, most = int(dtype.lowest), int(dtype.highest)
        low, high = max(least, min(low, most)), min(high, most)
    steps = random.integers(0, max(high - low, 0) + 1, count)
    if dtype.is_int:
        # Both wrap to the width of the dtype, so that the sum is right though `steps` may not fit.
        return np.full(count, low, dtype.numpy) + steps.astype(dtype.numpy)
    return semantics.convert(low + steps.astype(np.float64), DOUBLE, dtype)


def _bits_and_extremes(random: np.random.Generator, count: int, dtype: DType) -> Array:
    low, high = int(dtype.lowest), int(dtype.highest)
    corners = np.array([low, low + 1, high - 1, high, 0, 1, max(low, -1)], dtype.numpy)
    drawn = np.frombuffer(random.bytes(count * dtype.itemsize), dtype.numpy).copy()
    small = random.integers(max(low, -8), 64, count).astype(dtype.numpy)
    kind = random.integers(0, 5, count)
    drawn = np.where(kind < 2, small, drawn)
    return np.where(kind == 2, random.choice(corners, count), drawn)
