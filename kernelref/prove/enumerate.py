"""The engine `enumerate`: every point of the box, in numpy. A proof, because nothing is left out.

Points come in blocks of at most BLOCK, as open grids that broadcast.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from kernelref.ir.semantics import Array
from kernelref.prove.claim import (
    Claim,
    Counterexample,
    Everywhere,
    GaveUp,
    Missing,
    OneToOne,
    Proved,
    Result,
    Values,
    bindings,
    extents_at,
    lift_at,
    most_points,
)

ENGINE = "enumerate"
BLOCK = 1 << 18
LARGEST = 1 << 62
"""Numbers below this are computed exactly in 64 bits, sums of two as well."""


def enumerate_points(claim: Claim, limit: int) -> Result:
    """Look at every point, for every value of the symbols, if there are at most `limit`."""
    if most_points(claim) > limit:
        return GaveUp(ENGINE, f"more than {limit:,} points")
    if claim.reach is None or claim.reach >= LARGEST:
        return GaveUp(ENGINE, "numbers beyond 64 bits")
    for values in bindings(claim.symbols):
        shape = extents_at(claim.box, values)
        found: Result | None
        if isinstance(claim, Everywhere):
            found = _everywhere(claim, shape, values)
        else:
            found = _one_to_one(claim, shape, values)
        if found is not None:
            return found
    return Proved(ENGINE)


def blocks(shape: Sequence[int]) -> Iterator[list[range]]:
    """Ranges along each axis; together they meet every point of `shape` once."""
    if math.prod(shape) <= BLOCK:
        yield [range(n) for n in shape]
        return
    axis = next(i for i, n in enumerate(shape) if n > 1)
    rest = math.prod(shape[axis + 1 :])
    step = max(1, BLOCK // rest)
    for begin in range(0, shape[axis], step):
        for inner in blocks(shape[axis + 1 :]):
            outer = range(begin, min(begin + step, shape[axis]))
            yield [*(range(1) for _ in range(axis)), outer, *inner]


def grid(block: Sequence[range]) -> list[Array]:
    """The coordinates of a block as arrays that broadcast."""
    rank = len(block)
    return [
        np.arange(r.start, r.stop).reshape([-1 if i == axis else 1 for i in range(rank)])
        for axis, r in enumerate(block)
    ]


def _point(block: Sequence[range], place: int) -> tuple[int, ...]:
    at = np.unravel_index(place, tuple(len(r) for r in block))
    return tuple(r.start + int(i) for r, i in zip(block, at, strict=True))


def _everywhere(claim: Everywhere, shape: tuple[int, ...], values: Values) -> Counterexample | None:
    for block in blocks(shape):
        for fact in claim.facts(grid(block), lift_at(values)):
            wrong = np.asarray(fact.where & (fact.left != fact.right))
            if wrong.any():
                full = np.broadcast_to(wrong, tuple(len(r) for r in block))
                return Counterexample(ENGINE, values, _point(block, int(full.argmax())))
    return None


def _one_to_one(claim: OneToOne, shape: tuple[int, ...], values: Values) -> Result | None:
    """All keys at once: one that appears twice, or one out of range, is a counterexample."""
    whole = [range(n) for n in shape]
    where, key = claim.key(grid(whole), lift_at(values))
    kept = np.flatnonzero(np.broadcast_to(np.asarray(where, bool), shape))
    keys = np.broadcast_to(np.asarray(key), shape).reshape(-1)[kept]
    order = np.argsort(keys, kind="stable")
    again = np.flatnonzero(np.diff(keys[order]) == 0)
    if again.size:
        first, second = (_point(whole, int(kept[order[again[0] + i]])) for i in (0, 1))
        return Counterexample(ENGINE, values, first, second)
    if claim.onto is None:
        return None
    onto = lift_at(values)(claim.onto)
    outside = np.flatnonzero((keys < 0) | (keys >= onto))
    if outside.size:
        return Counterexample(ENGINE, values, _point(whole, int(kept[outside[0]])))
    if keys.size != onto:
        missing = int(np.setdiff1d(np.arange(onto), keys)[0])
        return Missing(ENGINE, values, missing)
    return None
