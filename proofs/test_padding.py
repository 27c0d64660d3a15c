"""Padding: PADTO then its guard is the identity on the points there were, and shrink undoes pad.

Law of PADTO: before = after where after < n; the new extent is the least multiple not below n.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from kernelref.opt.axis import AxisType
from kernelref.opt.axismap import AxisMap, LinearSum, identity
from kernelref.opt.rules.step import Pad, Split
from kernelref.prove import obligations as o
from kernelref.prove.claim import Everywhere, Fact, Lift, Point
from kernelref.prove.step import Step
from kernelref.prove.verdict import Part
from proofs.sizes import (
    MOST,
    any_view,
    law_of,
    moved,
    side,
    size,
    step,
    tracker,
    with_law,
    with_views,
)
from proofs.theorem import Theorem, settle

N, K, P, M = size("n"), size("k"), size("p", 0), size("m")
Record = Callable[[str, object], None]


def padded(*, masked: bool = False) -> Step:
    """The real pad of an axis of any extent by any amount, over any strides (and masks)."""
    begin, width, rest = size("begin", 0), size("width"), size("rest", 0)
    rows = begin + width + rest if masked else N
    extents = (rows, K)
    view = any_view(extents)
    if masked:
        view = replace(view, mask=((begin, begin + width), (0, K)))
    after = tracker(view).pad(((0, P), (0, 0)))
    guard = ((LinearSum(((0, 1),)), rows),)
    law = AxisMap((rows + P, K), extents, identity(extents).sums, guard)
    return step("pad", side((rows + P, K), after), side(extents, tracker(view)), law)


def without_mask() -> Iterator[Part]:
    """What is stored to the padded points is stored to others' elements."""
    found = padded()
    view = found.fine.accesses[0].st.views[0]
    return law_of(with_views(found, tracker(replace(view, mask=None))))


def guard_one_too_far() -> Iterator[Part]:
    found = padded()
    return law_of(with_law(found, replace(found.map, guard=((LinearSum(((0, 1),)), N + 1),))))


def mask_one_too_near() -> Iterator[Part]:
    found = padded(masked=True)
    view = found.fine.accesses[0].st.views[0]
    assert view.mask is not None
    (begin, end), columns = view.mask
    return law_of(with_views(found, tracker(replace(view, mask=((begin, end - 1), columns)))))


def multiple(*, wrong: int = 0) -> Iterator[Part]:
    """n + (-n) % m is a multiple of m, not below n, and less than m above it."""

    def facts(_: Point, lift: Lift) -> list[Fact]:
        n, m = lift(N), lift(M)
        extent = n + (-1 * n) % m + wrong
        return [
            Fact("a multiple", True, extent % m, 0),
            Fact("not below", True, extent >= n, True),
            Fact("the least", True, extent < n + m, True),
        ]

    yield Everywhere("extent", (), (M, N), 4 * MOST, facts)


def shrunk() -> Step:
    """The real pad, then the real shrink of what was added."""
    extents = (N, K)
    before = tracker(any_view(extents))
    before_pad, after_pad = size("left", 0), size("right", 0)
    wide = before.pad(((before_pad, after_pad), (0, 0)))
    after = wide.shrink(((before_pad, before_pad + N), (0, K)))
    return step("shrink", side(extents, after), side(extents, before), identity(extents))


def shrunk_from_the_wrong_end() -> Iterator[Part]:
    found = shrunk()
    view = found.fine.accesses[0].st.views[0]
    return law_of(with_views(found, tracker(replace(view, offset=view.offset + view.strides[0]))))


THEOREMS = (
    Theorem(
        "PADTO and its guard are the identity on the points there were",
        lambda: law_of(padded()),
        without_mask,
    ),
    Theorem(
        "PADTO keeps the masks there were", lambda: law_of(padded(masked=True)), mask_one_too_near
    ),
    Theorem(
        "the guard of PADTO ends where the axis did", lambda: law_of(padded()), guard_one_too_far
    ),
    Theorem("the padded extent is the least multiple", multiple, lambda: multiple(wrong=1)),
    Theorem("a shrink undoes a pad", lambda: law_of(shrunk()), shrunk_from_the_wrong_end),
)


@pytest.mark.parametrize("theorem", THEOREMS, ids=lambda t: t.name)
def test_padding(theorem: Theorem, record_property: Record) -> None:
    settle(theorem, record_property)


@pytest.mark.parametrize(
    ("amount", "short"),
    [(amount, short) for amount in (2, 4, 8, 32) for short in (1, 3, 7, 31) if short < amount],
)
def test_a_split_of_a_padded_axis(amount: int, short: int, record_property: Record) -> None:
    """The real pad of an axis that lacks a few points, then the real split of the whole."""
    rows = size("rows", 0) * amount + amount - short
    extents = (rows, K)
    before = tracker(any_view(extents))
    after = before.pad(((0, short), (0, 0)))
    law = AxisMap(
        (rows + short, K), extents, identity(extents).sums, ((LinearSum(((0, 1),)), rows),)
    )
    pad = step("pad", side((rows + short, K), after), side(extents, before), law)
    split = moved((rows + short, K), (after,), [Split(0, amount, 1, AxisType.LOCAL)])
    both = replace(split, coarse=pad.coarse, map=pad.map.then(split.map))
    wrong = with_law(both, replace(both.map, guard=()))
    name = f"splitting by {amount} what was padded by {short} keeps every address"
    settle(Theorem(name, lambda: law_of(both), lambda: law_of(wrong)), record_property)


def test_the_real_pad_is_the_pad_of_the_theorems() -> None:
    """PADTO's own step, at some extents: the axis map and the movement agree with the law above."""
    for extent in (1, 5, 9, 31):
        for amount in (2, 4, 32):
            found = moved((extent, 3), (tracker(any_view((extent, 3))),), [Pad(0, amount)])
            assert found.map.after == (-(-extent // amount) * amount, 3)
            assert list(o.bijection(found))
