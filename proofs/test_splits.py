"""Splitting an axis: the law of UPCAST, LOCAL, UNROLL, GROUP (inner) and GROUPTOP (outer).

Law: an axis of extent q*m is kept*m + moved (inner), or moved*q + kept (outer).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from kernelref.opt.axis import AxisType
from kernelref.opt.axismap import AxisMap, LinearSum, identity
from kernelref.opt.rules.step import Split
from kernelref.prove.verdict import Part
from proofs.sizes import any_view, law_of, masked_view, moved, side, size, step, tracker, with_law
from proofs.theorem import Theorem, settle

Q, M, L, K = size("q"), size("m"), size("l"), size("k")
AMOUNTS = (2, 3, 4, 8, 16, 29, 32, 256)
Record = Callable[[str, object], None]


def split(extent: int, *, outer: bool = False) -> Split:
    return Split(0, extent, 1, AxisType.LOCAL, outer)


def inner_law() -> Iterator[Part]:
    """(q, m) with strides (m*s, s) is the axis of extent q*m with stride s."""
    before = any_view((Q * M,))
    (s,) = before.strides
    after = replace(before, shape=(Q, M), strides=(s * M, s))
    law = AxisMap((Q, M), (Q * M,), (LinearSum(((0, M), (1, 1))),))
    return law_of(step("inner", side((Q, M), tracker(after)), side((Q * M,), tracker(before)), law))


def inner_with_swapped_strides() -> Iterator[Part]:
    before = any_view((Q * M,))
    (s,) = before.strides
    after = replace(before, shape=(Q, M), strides=(s, s * Q))
    law = AxisMap((Q, M), (Q * M,), (LinearSum(((0, M), (1, 1))),))
    return law_of(step("inner", side((Q, M), tracker(after)), side((Q * M,), tracker(before)), law))


def outer_law() -> Iterator[Part]:
    """(m, q) with strides (q*s, s): GROUPTOP's outer part moved in front."""
    before = any_view((Q * M,))
    (s,) = before.strides
    after = replace(before, shape=(M, Q), strides=(s * Q, s))
    law = AxisMap((M, Q), (Q * M,), (LinearSum(((0, Q), (1, 1))),))
    return law_of(step("outer", side((M, Q), tracker(after)), side((Q * M,), tracker(before)), law))


def outer_with_the_inner_weight() -> Iterator[Part]:
    before = any_view((Q * M,))
    (s,) = before.strides
    after = replace(before, shape=(M, Q), strides=(s * Q, s))
    law = AxisMap((M, Q), (Q * M,), (LinearSum(((0, M), (1, 1))),))
    return law_of(step("outer", side((M, Q), tracker(after)), side((Q * M,), tracker(before)), law))


def composed() -> Iterator[Part]:
    """Splitting q*l*m by m, then what is kept by l, is q, l and m as digits."""
    first = AxisMap((Q * L, M), (Q * L * M,), (LinearSum(((0, M), (1, 1))),))
    second = AxisMap((Q, L, M), (Q * L, M), (LinearSum(((0, L), (1, 1))), LinearSum(((2, 1),))))
    before = any_view((Q * L * M,))
    (s,) = before.strides
    after = replace(before, shape=(Q, L, M), strides=(s * L * M, s * M, s))
    sides = side((Q, L, M), tracker(after)), side((Q * L * M,), tracker(before))
    return law_of(step("composed", *sides, first.then(second)))


def composed_in_the_wrong_order() -> Iterator[Part]:
    before = any_view((Q * L * M,))
    (s,) = before.strides
    after = replace(before, shape=(Q, L, M), strides=(s * L * M, s * M, s))
    law = AxisMap((Q, L, M), (Q * L * M,), (LinearSum(((0, L * M), (1, 1), (2, L))),))
    return law_of(
        step("composed", side((Q, L, M), tracker(after)), side((Q * L * M,), tracker(before)), law)
    )


THEOREMS = (
    Theorem("an inner split keeps every address", inner_law, inner_with_swapped_strides),
    Theorem("an outer split keeps every address", outer_law, outer_with_the_inner_weight),
    Theorem("two splits are one split in three digits", composed, composed_in_the_wrong_order),
)


@pytest.mark.parametrize("theorem", THEOREMS, ids=lambda t: t.name)
def test_splits(theorem: Theorem, record_property: Record) -> None:
    settle(theorem, record_property)


@pytest.mark.parametrize("outer", [False, True], ids=["inner", "outer"])
@pytest.mark.parametrize("amount", AMOUNTS)
@pytest.mark.parametrize("layout", ["contiguous", "any strides", "masked"])
def test_the_real_split_of_every_multiple(
    amount: int, outer: bool, layout: str, record_property: Record
) -> None:
    """The movement ops and the axis map of the opts, on every extent that the amount divides."""
    extents = (Q * amount, K)
    views = {
        "contiguous": any_view(extents),
        "any strides": any_view(extents),
        "masked": masked_view(extents),
    }
    st = tracker(views[layout])
    if layout == "contiguous":
        st = tracker(replace(views[layout], strides=(K, 1), offset=0))
    real = moved(extents, (st,), [split(amount, outer=outer)])
    wrong = with_law(real, replace(real.map, sums=identity(real.map.after).sums[:2]))
    name = f"{'outer' if outer else 'inner'} split by {amount}, {layout}"
    theorem = Theorem(name, lambda: law_of(real), lambda: law_of(wrong))
    settle(theorem, record_property)
