"""Which neighbours merge."""

from __future__ import annotations

import pytest

from kernelref.ir.builder import buffer, kernel
from kernelref.ir.index import Var
from kernelref.ir.shapetracker import ShapeTracker
from kernelref.ir.view import View
from kernelref.opt.simplify import merge_groups
from tests.opt.kernels import opened

I = Var("i", 1, 10)  # noqa: E741 - the name that the real kernels use


def tracker(shape, strides=None, mask=None) -> ShapeTracker:
    return ShapeTracker((View.create(tuple(shape), strides, 0, mask),))


def groups(sts, *, iterates=(), boundary=99, image=None, extents=None) -> list[list[int]]:
    extents = extents or sts[0].shape
    return [list(run) for run in merge_groups(sts, extents, iterates, boundary, image)]


ROW_MAJOR = tracker((4, 6, 8))


@pytest.mark.parametrize(
    ("sts", "merged"),
    [
        ([ROW_MAJOR], [[0, 1, 2]]),
        ([ROW_MAJOR, tracker((4, 6, 8), (0, 0, 0))], [[0, 1, 2]]),
        ([ROW_MAJOR, tracker((4, 6, 8), (0, 8, 1))], [[0], [1, 2]]),
        ([ROW_MAJOR, tracker((4, 6, 8), (6, 1, 0))], [[0, 1], [2]]),
        ([ROW_MAJOR, tracker((4, 6, 8), (48, 1, 6))], [[0], [1], [2]]),
        ([ROW_MAJOR, tracker((4, 6, 8), (-48, -8, -1))], [[0, 1, 2]]),
        ([ROW_MAJOR, tracker((4, 6, 8), None, ((0, 4), (0, 6), (2, 8)))], [[0, 1], [2]]),
    ],
)
def test_strides_decide(sts, merged) -> None:
    assert groups(sts) == merged


def test_never_across_the_first_reduced_axis() -> None:
    assert groups([ROW_MAJOR], boundary=1) == [[0], [1, 2]]


def test_only_axes_of_the_same_reductions() -> None:
    assert groups([ROW_MAJOR], iterates=[[False, True, True]]) == [[0], [1, 2]]
    assert groups([ROW_MAJOR], iterates=[[True] * 3, [True, True, False]]) == [[0, 1], [2]]


def test_a_value_of_extent_1_on_both_axes_merges() -> None:
    reduced = tracker((4, 1, 1))
    assert groups([reduced, ROW_MAJOR], boundary=1, extents=(4, 6, 8)) == [[0], [1, 2]]


def test_extent_1_beside_the_full_extent_does_not() -> None:
    """Its strides are 0 and 0, and still it has 6 points where the merged axis has 24."""
    half = tracker((1, 6, 8), (0, 0, 0))
    assert groups([half, ROW_MAJOR], extents=(4, 6, 8)) == [[0], [1, 2]]


def test_symbolic_strides() -> None:
    assert groups([tracker((3, I, 4))]) == [[0, 1, 2]]
    assert groups([tracker((3, I), (I * 2, 1))]) == [[0], [1]]


def test_an_image_keeps_its_rows_columns_and_channels() -> None:
    flat = tracker((2, 3, 4, 4))
    assert groups([flat], image=(6, 4, 4)) == [[0, 1], [2], [3]]
    assert groups([flat], image=(2, 12, 4)) == [[0], [1, 2], [3]]
    assert groups([flat], image=(1, 24, 4)) == [[0, 1, 2], [3]]
    assert groups([flat], image=(5, 5, 4)) == [[0, 1, 2, 3]]


def test_no_axes() -> None:
    assert groups([tracker(())]) == []


def test_in_a_kernel_every_buffer_has_a_say() -> None:
    ast = kernel(buffer(1, (4, 6)) + buffer(2, (4, 1)))
    assert opened(ast).full_shape == (4, 6)
    assert opened(kernel(buffer(1, (4, 6)) + 1.0)).full_shape == (24,)
