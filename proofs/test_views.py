"""Views: the reshape of a contiguous view, and the address that stacked views compute."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import pytest

from kernelref.ir.index import Sint, product
from kernelref.ir.shapetracker import ShapeTracker
from kernelref.ir.view import View
from kernelref.opt.axismap import AxisMap, LinearSum
from kernelref.prove.step import Step
from kernelref.prove.verdict import Part
from proofs.sizes import any_view, law_of, side, size, step, tracker, with_views
from proofs.theorem import Theorem, settle

A, B, C, D = size("a"), size("b"), size("c"), size("d")
Record = Callable[[str, object], None]


def row_major(shape: Sequence[Sint]) -> LinearSum:
    """The number of a point: sum of coordinates times the extents behind."""
    return LinearSum(tuple((axis, product(shape[axis + 1 :])) for axis in range(len(shape))))


def flat(shape: Sequence[Sint]) -> Step:
    """A contiguous view of any rank is its row-major number."""
    total = product(shape)
    fine, coarse = ShapeTracker.from_shape(tuple(shape)), ShapeTracker.from_shape((total,))
    law = AxisMap(tuple(shape), (total,), (row_major(shape),))
    return step("reshape", side(shape, fine), side((total,), coarse), law)


def reshaped(before: Sequence[Sint], after: Sequence[Sint]) -> Step:
    """The real reshape of a contiguous view, told by the row-major number of both."""
    total = product(before)
    st = ShapeTracker.from_shape(tuple(before)).reshape(tuple(after))
    law = AxisMap(tuple(after), (total,), (row_major(after),))
    return step("reshape", side(after, st), side((total,), ShapeTracker.from_shape((total,))), law)


def column_major(found: Step) -> Iterator[Part]:
    view = found.fine.accesses[0].st.views[0]
    strides = tuple(product(view.shape[:axis]) for axis in range(len(view.shape)))
    return law_of(with_views(found, tracker(replace(view, strides=strides))))


CASES: dict[str, Step] = {
    "(a, b) is flat": flat((A, B)),
    "(a, b, c) is flat": flat((A, B, C)),
    "(a, b, c, d) is flat": flat((A, B, C, D)),
    "(a*b,) to (a, b)": reshaped((A * B,), (A, B)),
    "(a, b, c) to (a*b, c)": reshaped((A, B, C), (A * B, C)),
    "(a, b*c) to (a*b, c)": reshaped((A, B * C), (A * B, C)),
    "(a, b) to (a, 1, b)": reshaped((A, B), (A, 1, B)),
}


@pytest.mark.parametrize("name", CASES)
def test_a_contiguous_view_reshapes(name: str, record_property: Record) -> None:
    found = CASES[name]
    theorem = Theorem(
        f"a contiguous view: {name}", lambda: law_of(found), lambda: column_major(found)
    )
    settle(theorem, record_property)


def stacked(*, shift: int = 0) -> Step:
    """A contiguous view on top of any view of the same extents says nothing new."""
    below = any_view((A, B, C))
    above = View.create((A, B, C))
    wrong = replace(above, offset=shift)
    law = AxisMap((A, B, C), (A, B, C), tuple(LinearSum(((axis, 1),)) for axis in range(3)))
    both = tracker(below, wrong)
    return step("stack", side((A, B, C), both), side((A, B, C), tracker(below)), law)


def test_a_stacked_contiguous_view(record_property: Record) -> None:
    theorem = Theorem(
        "a contiguous view on top changes nothing",
        lambda: law_of(stacked()),
        lambda: law_of(stacked(shift=1)),
    )
    settle(theorem, record_property)
