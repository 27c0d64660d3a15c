"""Random sequences of movement ops, and what they mean in numpy.

The meaning is an array of row-major indices on which the same ops are done by numpy itself; padding
is -1. No View takes part in it, but where a sequence starts from a stack of Views: then `address`
gives the first array.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from math import prod
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from kernelref.ir.shapetracker import ShapeTracker
from kernelref.ir.view import View

Shape: TypeAlias = tuple[int, ...]
Indices: TypeAlias = npt.NDArray[np.int64]
Movement: TypeAlias = tuple[str, Any]
"""(name, argument); `simplify` has the argument ()."""

MOST_POINTS = 1500
EXTENTS = (1, 1, 2, 2, 3, 4, 5, 6, 8, 12)


@dataclass(frozen=True, slots=True)
class MovementCase:
    """A buffer's shape and the ops done to it, in order."""

    start: Shape
    ops: tuple[Movement, ...]

    def __str__(self) -> str:
        return " ".join([str(self.start), *(f"{name}{argument}" for name, argument in self.ops)])


def buffer_of(shape: Shape) -> Indices:
    """The index array before any op."""
    return np.arange(prod(shape), dtype=np.int64).reshape(shape)


def moved(array: Indices, op: Movement) -> Indices:
    """The index array after one op, by numpy."""
    match op:
        case ("reshape", shape):
            return array.reshape(shape)
        case ("permute", order):
            return array.transpose(order)
        case ("expand", shape):
            return np.broadcast_to(array, shape)
        case ("pad", widths):
            return np.pad(array, widths, constant_values=-1) if widths else array
        case ("shrink", ranges):
            return array[tuple(slice(begin, end) for begin, end in ranges)]
        case ("stride", steps):
            return array[tuple(slice(None, None, step) for step in steps)]
        case ("simplify", ()):
            return array
    raise AssertionError(f"not a movement op: {op!r}")


def tracked(st: ShapeTracker, op: Movement) -> ShapeTracker:
    """The ShapeTracker after one op."""
    name, argument = op
    result: ShapeTracker = getattr(st, name)(*(() if name == "simplify" else (argument,)))
    return result


def random_case(rng: random.Random, *, longest: int = 8) -> MovementCase:
    """A sequence of 1 to `longest` ops; about 3% start from a shape that holds a 0."""
    start = tuple(rng.choice(EXTENTS) for _ in range(rng.randint(0, 4)))
    while prod(start) > MOST_POINTS:
        start = start[1:]
    if start and rng.random() < 0.03:
        start = (*start[:-1], 0)
    array, ops = buffer_of(start), []
    for _ in range(rng.randint(1, longest)):
        op = random_op(rng, array.shape)
        larger = moved(array, op)
        if larger.size > MOST_POINTS or larger.ndim > 8:
            continue
        array = larger
        ops.append(op)
    return MovementCase(start, tuple(ops))


def random_op(rng: random.Random, shape: Shape) -> Movement:
    """One op that fits the shape; reshapes are the likeliest, for they are the hardest."""
    draw = rng.random()
    if draw < 0.34:
        return "reshape", _random_reshape(rng, shape)
    if draw < 0.44:
        return "permute", tuple(rng.sample(range(len(shape)), len(shape)))
    if draw < 0.54:
        return "expand", tuple(rng.randint(1, 4) if n == 1 else n for n in shape)
    if draw < 0.72:
        return "pad", tuple((_margin(rng), _margin(rng)) for _ in shape)
    if draw < 0.84:
        return "shrink", tuple(_random_range(rng, n) for n in shape)
    if draw < 0.94:
        return "stride", tuple(rng.choice((1, 1, 1, -1, -1, 2, -2, 3)) for _ in shape)
    return "simplify", ()


def _margin(rng: random.Random) -> int:
    return rng.choice((0, 0, 0, 1, 1, 2, 3))


def _random_range(rng: random.Random, n: int) -> tuple[int, int]:
    if n == 0 or rng.random() < 0.4:
        return 0, n
    begin = rng.randrange(n)
    return begin, rng.randint(begin if rng.random() < 0.02 else begin + 1, n)


def _random_reshape(rng: random.Random, shape: Shape) -> Shape:
    """Join neighbours, split axes, add and drop ones; sometimes any shape of this size."""
    if 0 in shape:
        return rng.choice(((0,), (2, 0), (0, 3), shape))
    extents = [n for n in shape if n != 1] if rng.random() < 0.7 else list(shape)
    if rng.random() < 0.25:
        extents = _prime_factors(prod(extents))
        rng.shuffle(extents)
    for _ in range(rng.randint(0, 3)):
        i = rng.randrange(len(extents)) if extents else 0
        if i and rng.random() < 0.7:
            extents[i - 1 : i + 1] = [extents[i - 1] * extents[i]]
        elif extents:
            divisors = [d for d in range(1, extents[i] + 1) if extents[i] % d == 0]
            inner = rng.choice(divisors)
            extents[i : i + 1] = [extents[i] // inner, inner]
    if rng.random() < 0.3:
        extents.insert(rng.randint(0, len(extents)), 1)
    return tuple(extents)


def _prime_factors(n: int) -> list[int]:
    factors, divisor = [], 2
    while n > 1:
        while n % divisor == 0:
            factors.append(divisor)
            n //= divisor
        divisor += 1
    return factors


def random_stack(rng: random.Random) -> ShapeTracker:
    """One to three Views as a file may give them: nothing about them need be canonical.

    Strides overlap and are kept on axes of one, masks may be empty or whole, and an index into the
    View below may lie outside it (it wraps). Addresses in the buffer are never negative.
    """
    views = [_random_view(rng, 0)]
    for _ in range(rng.choice((0, 0, 1, 1, 2))):
        views.append(_random_view(rng, prod(views[-1].shape)))  # type: ignore[arg-type]
    return ShapeTracker(tuple(views))


def random_stack_case(rng: random.Random) -> tuple[ShapeTracker, tuple[Movement, ...]]:
    """A stack and up to four ops on it."""
    start = random_stack(rng)
    array, ops = indices_of(start), []
    for _ in range(rng.randint(0, 4)):
        op = random_op(rng, array.shape)
        if moved(array, op).size <= MOST_POINTS:
            array = moved(array, op)
            ops.append(op)
    return start, tuple(ops)


def _random_view(rng: random.Random, below: int) -> View:
    shape = tuple(rng.choice((1, 2, 2, 3, 4, 6)) for _ in range(rng.randint(0, 4)))
    strides = []
    for i in range(len(shape)):
        step = prod(shape[i + 1 :])
        strides.append(rng.choice((0, 1, -1, 2, step, step, step, -step, rng.randint(-7, 9))))
    least = sum(min(0, s * (n - 1)) for s, n in zip(strides, shape, strict=True))
    offset = rng.choice((0, 0, 0, 1, 5)) - least
    if below and rng.random() < 0.1:
        offset += rng.randint(-9, below)
    mask = (
        None
        if not shape or rng.random() < 0.5
        else tuple(_random_mask_range(rng, n) for n in shape)
    )
    return View(shape, tuple(strides), offset, mask)


def _random_mask_range(rng: random.Random, n: int) -> tuple[int, int]:
    begin = rng.choice((0, 0, rng.randint(0, n)))
    return begin, rng.choice((n, n, rng.randint(begin, n)))


def indices_of(st: ShapeTracker) -> Indices:
    """The index array of a ShapeTracker, by its own `address`: where ops on it start from."""
    shape = tuple(n for n in st.shape if isinstance(n, int))
    address, valid = st.address(np.ogrid[tuple(slice(n) for n in shape)])
    found = np.broadcast_to(np.where(valid, address, -1), shape)
    return np.asarray(found, dtype=np.int64)
