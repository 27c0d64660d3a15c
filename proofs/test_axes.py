"""Axes without opts: permutation, merging, removal of ones, expansion.

Upstream's open questions (in simplify_ones and simplify_merge_adjacent) are answered here: an axis
of extent 1 may always be merged or removed; merging is right with several reductions exactly when
each of them runs over both axes or over neither.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import pytest

from kernelref.opt.axismap import AxisMap, LinearSum, merge_map
from kernelref.prove import obligations as o
from kernelref.prove.step import Step
from kernelref.prove.verdict import Obligation, Part
from proofs.sizes import (
    any_view,
    follow,
    law_of,
    masked_view,
    side,
    size,
    step,
    stride,
    tracker,
    with_law,
    with_views,
)
from proofs.theorem import Theorem, settle

A, B, C, K = size("a"), size("b"), size("c"), size("k")
Record = Callable[[str, object], None]


def permuted(order: Sequence[int]) -> Step:
    """Three axes in another order, by the real permute, under any strides and masks."""
    extents = (A, B, C)
    before = tracker(masked_view(extents))
    after = before.permute(tuple(order))
    sums = tuple(LinearSum(((list(order).index(axis), 1),)) for axis in range(3))
    shape = tuple(extents[axis] for axis in order)
    return step("permute", side(shape, after), side(extents, before), AxisMap(shape, extents, sums))


@pytest.mark.parametrize("order", list(itertools.permutations(range(3)))[1:], ids=str)
def test_permutation(order: Sequence[int], record_property: Record) -> None:
    right = permuted(order)
    shuffled = right.map.sums[1:] + right.map.sums[:1]
    wrong = with_law(right, replace(right.map, sums=shuffled))
    name = f"permuting axes into {tuple(order)} keeps every address"
    settle(Theorem(name, lambda: law_of(right), lambda: law_of(wrong)), record_property)


def merged(*, gap: int = 0) -> Step:
    """Two axes whose strides fit, as one: told from the finer side."""
    fine = any_view((A, B, K))
    s = fine.strides[1]
    fine = replace(fine, strides=(s * B + gap, s, fine.strides[2]))
    coarse = replace(fine, shape=(A * B, K), strides=fine.strides[1:])
    law = merge_map((A, B, K), ((0, 1), (2,)))
    return step("merge", side((A, B, K), tracker(fine)), side((A * B, K), tracker(coarse)), law)


def merged_where_nothing_moves() -> Step:
    """A buffer with stride 0 on both axes."""
    fine = replace(any_view((A, B)), strides=(0, 0))
    coarse = replace(fine, shape=(A * B,), strides=(0,))
    law = merge_map((A, B), ((0, 1),))
    return step("merge", side((A, B), tracker(fine)), side((A * B,), tracker(coarse)), law)


def merged_with_one_varying() -> Step:
    """A buffer of extent 1 on the outer axis: it repeats, and its merged axis cannot say so."""
    fine = replace(any_view((1, B)), strides=(0, 1), offset=0)
    coarse = replace(any_view((A * B,)), strides=(1,), offset=0)
    law = merge_map((A, B), ((0, 1),))
    return step("merge", side((A, B), tracker(fine)), side((A * B,), tracker(coarse)), law)


def reductions_over(fine: Sequence[Sequence[int]], coarse: Sequence[Sequence[int]]) -> list[Part]:
    """The reduction obligation of merging two axes under these reductions."""
    sides = side((A, B), sums=fine), side((A * B,), sums=coarse)
    found = step("merge", *sides, merge_map((A, B), ((0, 1),)))
    numbered = replace(found, reduces=tuple(range(len(fine))))  # type: ignore[arg-type]
    return list(o.reduction(numbered))


MERGES = (
    Theorem(
        "neighbours whose strides fit merge into one axis",
        lambda: law_of(merged()),
        lambda: law_of(merged(gap=1)),
    ),
    Theorem(
        "neighbours along which a buffer does not move merge",
        lambda: law_of(merged_where_nothing_moves()),
        lambda: law_of(merged_with_one_varying()),
    ),
    Theorem(
        "merging is right with one reduction over both axes, or over neither",
        lambda: [*reductions_over([[0, 1]], [[0]]), *reductions_over([[]], [[]])],
        lambda: reductions_over([[1]], [[0]]),
        Obligation.REDUCTION,
    ),
    Theorem(
        "merging is right with several reductions, each over both axes or over neither",
        lambda: reductions_over([[0, 1], [], [0, 1]], [[0], [], [0]]),
        lambda: reductions_over([[0, 1], [1]], [[0], [0]]),
        Obligation.REDUCTION,
    ),
)


@pytest.mark.parametrize("theorem", MERGES, ids=lambda t: t.name)
def test_merging(theorem: Theorem, record_property: Record) -> None:
    settle(theorem, record_property)


def one_removed() -> Step:
    """An axis of extent 1, with any stride, by the real reshape."""
    fine = replace(any_view((A, 1, B)), strides=(stride("s"), 0, stride("t")))
    before = tracker(fine)
    law = AxisMap((A, 1, B), (A, B), (LinearSum(((0, 1),)), LinearSum(((2, 1),))))
    return step("ones", side((A, 1, B), before), side((A, B), before.reshape((A, B))), law)


def one_merged() -> Step:
    """An axis of extent 1 merges with its neighbour whatever its stride is."""
    fine = any_view((A, 1))
    coarse = replace(fine, shape=(A,), strides=fine.strides[:1])
    law = merge_map((A, 1), ((0, 1),))
    return step("ones", side((A, 1), tracker(fine)), side((A,), tracker(coarse)), law)


def two_taken_for_one() -> Iterator[Part]:
    """The same with an extent of 2: half of the points are gone."""
    fine = any_view((A, 2))
    coarse = replace(fine, shape=(A,), strides=fine.strides[:1])
    law = AxisMap((A, 2), (A,), (LinearSum(((0, 1),)),))
    return law_of(step("ones", side((A, 2), tracker(fine)), side((A,), tracker(coarse)), law))


def offset_lost() -> Iterator[Part]:
    found = one_removed()
    view = found.coarse.accesses[0].st.views[0]
    wrong = tracker(replace(view, offset=view.offset + 1))
    return law_of(replace(found, coarse=replace(found.coarse, accesses=(follow(wrong),))))


ONES = (
    Theorem("an axis of extent 1 may be removed", lambda: law_of(one_removed()), offset_lost),
    Theorem(
        "an axis of extent 1 merges whatever its stride",
        lambda: law_of(one_merged()),
        two_taken_for_one,
    ),
)


@pytest.mark.parametrize("theorem", ONES, ids=lambda t: t.name)
def test_ones(theorem: Theorem, record_property: Record) -> None:
    settle(theorem, record_property)


def expanded() -> Step:
    """The real expand: each point of the new axis is the one point there was."""
    before = replace(any_view((1, B)), strides=(0, stride("s")))
    after = tracker(before).expand((A, B))
    law = AxisMap((A, B), (1, B), (LinearSum(()), LinearSum(((1, 1),))))
    return step("expand", side((A, B), after), side((1, B), tracker(before)), law)


def expanded_with_a_stride() -> Iterator[Part]:
    found = expanded()
    view = found.fine.accesses[0].st.views[0]
    return o.index(with_views(found, tracker(replace(view, strides=(1, view.strides[1])))))


def test_expansion(record_property: Record) -> None:
    theorem = Theorem(
        "expanding repeats an axis of extent 1", lambda: o.index(expanded()), expanded_with_a_stride
    )
    settle(theorem, record_property)
