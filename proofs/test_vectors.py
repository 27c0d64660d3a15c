"""Vectors: four registers side by side are one aligned access when all other steps are fours.

Law: address(x, i) = address(x, 0) + i and address(x, 0) % 4 = 0, for 0 <= i < 4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from kernelref.ir.index import Sint
from kernelref.ir.view import View
from kernelref.prove.claim import Everywhere, Fact, Lift, Point
from kernelref.prove.step import Access, lifted
from kernelref.prove.verdict import Part
from proofs.sizes import MOST, size, stride, tracker
from proofs.theorem import Theorem, settle

A, B = size("a"), size("b")
S, O = stride("s"), stride("o")  # noqa: E741 - the offset
Record = Callable[[str, object], None]


def grouped(lanes: int, outer: Sint, offset: Sint, inner: Sint = 1) -> Iterator[Part]:
    """Rows of any count at these steps, groups of `lanes` in a row, then the lanes."""
    shape = (A, B, lanes)
    view = View(shape, (outer, inner * lanes, inner), offset)
    access = Access(tracker(view), (0, 1, 2))

    def facts(point: Point, lift: Lift) -> list[Fact]:
        row, group, lane = point
        first, _ = lifted(access.st, lift).address((row, group, 0))
        here, _ = access.address(point, lift)
        return [
            Fact("side by side", True, here, first + lane),
            Fact("aligned", True, first % lanes, 0),
        ]

    yield Everywhere("vector", shape, (A, B, O, S), MOST * MOST, facts)


THEOREMS = [
    Theorem(
        f"{lanes} lanes are aligned when strides and offset are multiples of {lanes}",
        lambda lanes=lanes: grouped(lanes, S * lanes, O * lanes),  # type: ignore[misc]
        lambda lanes=lanes: grouped(lanes, S * lanes, O * lanes + 1),  # type: ignore[misc]
    )
    for lanes in (2, 4, 8, 16)
]
THEOREMS += [
    Theorem(
        "a row whose stride is not a multiple is not aligned",
        lambda: grouped(4, S * 4, O * 4),
        lambda: grouped(4, S * 2, O * 4),
    ),
    Theorem(
        "lanes that step by 2 are not side by side",
        lambda: grouped(4, S * 4, O * 4),
        lambda: grouped(4, S * 8, O * 8, 2),
    ),
]


@pytest.mark.parametrize("theorem", THEOREMS, ids=lambda t: t.name)
def test_vectors(theorem: Theorem, record_property: Record) -> None:
    settle(theorem, record_property)
