"""Route one by itself: where parts go, and what drops out."""

from __future__ import annotations

import pytest

from kernelref.ir.shapetracker import ShapeTracker
from kernelref.opt.axis import Axis, AxisType
from kernelref.opt.rules.movement import (
    Layout,
    axes_after,
    drop_ones,
    kept_positions,
    move,
    padded_extent,
)
from kernelref.opt.rules.step import Pad, Split

T = AxisType
AXES = (Axis(12, T.GLOBAL), Axis(6, T.GLOBAL), Axis(8, T.REDUCE))


def layout() -> Layout:
    full, output = ShapeTracker.from_shape((12, 6, 8)), ShapeTracker.from_shape((12, 6, 1))
    return Layout(AXES, (output, full), ((False, False, True),))


def shown(axes) -> str:
    return " ".join(f"{axis.extent}{axis.type.name[0]}" for axis in axes)


@pytest.mark.parametrize(
    ("step", "after"),
    [
        (Split(0, 4, 3, T.UPCAST), "3G 6G 8R 4U"),
        (Split(0, 4, 2, T.LOCAL), "3G 6G 4L 8R"),
        (Split(0, 4, 1, T.LOCAL), "3G 4L 6G 8R"),
        (Split(0, 4, 0, T.LOCAL), "4L 3G 6G 8R"),
        (Split(2, 4, 2, T.LOCAL), "12G 6G 4L 2R"),
        (Split(2, 4, 2, T.LOCAL, outer=True), "12G 6G 4L 2R"),
        (Split(2, 4, 3, T.LOCAL, outer=True), "12G 6G 2R 4L"),
        (Split(1, 6, 3, T.UPCAST), "12G 1G 8R 6U"),
        (Pad(1, 4), "12G 8G 8R"),
        (Pad(1, 6), "12G 6G 8R"),
    ],
)
def test_where_the_new_axis_goes(step, after) -> None:
    assert shown(axes_after(AXES, step)) == after
    moved = move(layout(), step)
    assert shown(moved.axes) == after
    assert moved.sts[1].shape == tuple(axis.extent for axis in moved.axes)


def test_a_buffer_of_extent_1_stays_so() -> None:
    moved = move(layout(), Split(2, 4, 3, T.UNROLL))
    assert moved.sts[0].shape == (12, 6, 1, 1)
    assert moved.iterates == ((False, False, True, True),)
    assert move(layout(), Pad(2, 5)).sts[0].shape == (12, 6, 1)


def test_ones_are_dropped() -> None:
    after = drop_ones(move(layout(), Split(1, 6, 3, T.UPCAST)))
    assert shown(after.axes) == "12G 8R 6U"
    assert after.iterates == ((False, True, False),)
    assert [st.shape for st in after.sts] == [(12, 1, 6), (12, 8, 6)]


@pytest.mark.parametrize(
    ("step", "kept"),
    [
        (Split(0, 4, 3, T.UPCAST), (0, 1, 2)),
        (Split(0, 12, 3, T.UPCAST), (None, 0, 1)),
        (Split(1, 6, 1, T.LOCAL), (0, None, 2)),
        (Split(2, 8, 2, T.GROUP_REDUCE, outer=True), (0, 1, None)),
        (Split(2, 4, 2, T.GROUP_REDUCE, outer=True), (0, 1, 3)),
        (Pad(0, 8), (0, 1, 2)),
    ],
)
def test_where_each_axis_is_afterwards(step, kept) -> None:
    assert kept_positions(AXES, step) == kept


@pytest.mark.parametrize(("extent", "multiple", "padded"), [(5, 4, 8), (8, 4, 8), (1, 32, 32)])
def test_padded_extent(extent, multiple, padded) -> None:
    assert padded_extent(extent, Pad(0, multiple)) == padded
