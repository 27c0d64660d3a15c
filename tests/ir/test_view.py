"""One View: its canonical forms, what it refuses, and reshape and merge case by case."""

from __future__ import annotations

import pytest

from kernelref.errors import InvalidInput, Unsupported
from kernelref.ir.index import Var
from kernelref.ir.view import View, ViewAlgebra
from kernelref.ir.view_merge import invert_view, merge_views
from kernelref.ir.view_moves import expand, keep_every, pad, permute, shrink
from kernelref.ir.view_reshape import merged_runs, reshape

SOUND, V080, V090, V091 = ViewAlgebra
N = Var("n", 1, 10)
M = Var("m", 1, 10)


def test_address_is_the_law() -> None:
    view = View((2, 3), (10, -1), 5, ((0, 1), (1, 3)))
    assert view.address((0, 2)) == (3, True)
    assert view.address((1, 2)) == (13, False)
    assert view.address((0, 0)) == (5, False)
    assert View((), (), 7).address(()) == (7, True)


def test_create_is_row_major_by_default() -> None:
    assert View.create((2, 3, 4)).strides == (12, 4, 1)
    assert View.create((2, 1, 4)).strides == (4, 0, 1)
    assert View.create(()).strides == ()
    assert View.create((N, 3)).strides == (3, 1)
    assert View.create((3, N)).strides == (N, 1)
    assert View.create((2, M, N)).strides == (M * N, N, 1)


def test_contiguous() -> None:
    assert View.create((2, 3)).contiguous
    assert View.create((2, N)).contiguous
    assert View.create((0, 3), (5, 5)).contiguous
    assert not View.create((2, 3), (1, 2)).contiguous
    assert not View.create((2, 3), offset=1).contiguous
    assert not View.create((2, 3), mask=((0, 1), (0, 3))).contiguous


def test_create_drops_a_mask_that_masks_nothing() -> None:
    mask = ((0, 2), (0, 3))
    assert View.create((2, 3), mask=mask).mask is None
    assert View.create((2, 3), mask=mask, algebra=V080).mask == mask
    assert View.create((N, 3), mask=((0, N), (0, 3))).mask is None


def test_create_zeroes_the_stride_of_an_axis_masked_to_one_element() -> None:
    mask = ((1, 2), (0, 2))
    assert View.create((2, 3), mask=mask) == View((2, 3), (0, 1), 3, mask)
    assert View.create((2, 3), mask=mask, algebra=V080) == View((2, 3), (3, 1), 0, mask)
    one = ((N, N + 1), (0, 3))
    assert View.create((N + 1, 3), mask=one) == View((N + 1, 3), (0, 1), N * 3, one)


def test_create_makes_one_view_of_every_empty_mask() -> None:
    empty = View((2, 3), (0, 0), 0, ((0, 0), (0, 0)))
    assert View.create((2, 3), mask=((1, 1), (0, 3))) == empty
    assert View.create((2, 3), mask=((2, 1), (0, 2)), algebra=V090) == empty
    assert View.create((2, 3), (3, 1), 9, ((1, 1), (0, 3)), algebra=V080).offset == 9


def test_create_makes_one_view_of_every_empty_shape() -> None:
    assert View.create((2, 0), (3, 1), 5) == View((2, 0), (0, 0))
    assert View.create((2, 0), (3, 1), 5, algebra=V091) == View((2, 0), (0, 0))
    assert View.create((2, 0), (3, 1), 5, algebra=V090) == View((2, 0), (3, 1), 5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: View.create((2, -1)), "negative extent"),
        (lambda: View.create((2, 3), (1,)), "1 strides for 2 axes"),
        (lambda: View.create((2,), mask=((0, 1), (0, 1))), "mask of 2 ranges for 1 axes"),
        (lambda: reshape(View.create((2, 3)), (5,)), r"cannot reshape \(2, 3\) to \(5\)"),
        (lambda: reshape(View.create((0,)), (5,)), "cannot reshape"),
        (lambda: reshape(View.create((N, 3)), (4, N)), r"cannot reshape \(n, 3\) to \(4, n\)"),
        (lambda: reshape(View.create((6,)), (-2, -3)), "negative extent"),
        (lambda: permute(View.create((2, 3)), (0, 0)), "not an order of 2 axes"),
        (lambda: permute(View.create((2, 3)), (0,)), "not an order of 2 axes"),
        (lambda: expand(View.create((2, 3)), (2, 4)), "cannot expand"),
        (lambda: expand(View.create((2, 3)), (2, 3, 1)), "cannot expand"),
        (lambda: expand(View.create((0, 3)), (1, 3)), "cannot expand"),
        (lambda: pad(View.create((2,)), ((0, -1),)), "cannot pad"),
        (lambda: pad(View.create((2,)), ()), "cannot pad"),
        (lambda: shrink(View.create((2,)), ((0, 3),)), r"cannot shrink shape \(2\) to"),
        (lambda: shrink(View.create((2,)), ((-1, 2),)), "cannot shrink"),
        (lambda: shrink(View.create((4,)), ((3, 2),)), "cannot shrink"),
        (lambda: shrink(View.create((N,)), ((0, 11),)), "cannot shrink"),
        (lambda: keep_every(View.create((4,)), (0,)), "cannot step"),
        (lambda: keep_every(View.create((4,)), (1, 1)), "cannot step"),
        (lambda: View.create((N,)).bind({"n": 11}), r"n = 11 is outside \[1, 10\]"),
        (lambda: View.create((N,)).bind({"n": 0}), r"n = 0 is outside \[1, 10\]"),
    ],
)
def test_what_is_refused(call, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        call()


def test_the_borders_of_those_refusals_pass() -> None:
    assert reshape(View.create((2, 3)), (6,)) == View.create((6,))
    assert reshape(View.create((N, 3)), (3, N)) == View.create((3, N))
    assert shrink(View.create((2,)), ((0, 2),)) == View.create((2,))
    assert shrink(View.create((4,)), ((2, 2),)) == View.create((0,))
    assert expand(View.create((1, 3)), (4, 3)).strides == (0, 1)
    assert View.create((N,)).bind({"n": 10}) == View.create((10,))
    assert View.create((N, M)).bind({"n": 2}) == View.create((2, M))


def test_an_undecided_mask_is_unsupported() -> None:
    """A range cut at n or at m, whichever is smaller, has no end that an expression can say."""
    masked = pad(View.create((N,)), ((0, M),))
    assert masked.mask == ((0, N),)
    with pytest.raises(Unsupported, match="symbolic-mask"):
        shrink(masked, ((0, M),))


@pytest.mark.parametrize(
    ("view", "shape", "expected"),
    [
        (View((4, 3), (3, 1)), (2, 6), View((2, 6), (6, 1))),
        (View((4, 6), (1, 4)), (4, 2, 3), View((4, 2, 3), (1, 12, 4))),
        (View((4, 6), (1, 4)), (24,), None),
        (View((4, 6), (0, 1)), (2, 2, 6), View((2, 2, 6), (0, 0, 1))),
        (View((4, 6), (-6, -1), 23), (24,), View((24,), (-1,), 23)),
        (
            View((6,), (1,), -2, ((2, 6),)),
            (3, 2),
            View((3, 2), (2, 1), -2, ((1, 3), (0, 2))),
        ),
        (View((6,), (1,), -1, ((1, 6),)), (3, 2), None),
        (
            View((3, 2), (2, 1), -2, ((1, 3), (0, 2))),
            (6,),
            View((6,), (1,), -2, ((2, 6),)),
        ),
        (View((2, 3), (3, 1), 0, ((0, 2), (0, 2))), (6,), None),
        (
            View((3, 4), (0, 1), 0, ((1, 2), (1, 3))),
            (12,),
            View((12,), (1,), -4, ((5, 7),)),
        ),
        (View((2, N), (N, 1), 3), (N * 2,), View((N * 2,), (1,), 3)),
        (View((2, N), (1, 2)), (N * 2,), None),
        (View((4, N), (1, 4)), (2, 2, N), View((2, 2, N), (2, 1, 4))),
        (View((2, 3), (0, 0), 0, ((0, 0), (0, 0))), (6,), View((6,), (0,), 0, ((0, 0),))),
    ],
)
def test_reshape_of_one_view(view: View, shape, expected: View | None) -> None:
    assert reshape(view, shape) == expected


def test_runs_differ_between_the_releases() -> None:
    """An axis masked to one element takes the next in: whatever its stride from 0.9.1 on."""
    moving = View((2, 3), (7, 1), 0, ((1, 2), (0, 3)))
    still = View((2, 3), (0, 1), 0, ((1, 2), (0, 3)))
    assert [len(merged_runs(moving, algebra)) for algebra in (V080, V090, V091)] == [2, 2, 1]
    assert [len(merged_runs(still, algebra)) for algebra in (V080, V090, V091)] == [1, 1, 1]


@pytest.mark.parametrize(
    ("outer", "inner", "expected"),
    [
        (View.create((6,)), View((2, 3), (1, 2)), View((2, 3), (1, 2))),
        (View((2, 3), (1, 2)), View.create((2, 3)), View((2, 3), (1, 2))),
        (View((2, 3), (1, 2)), View.create((2, 3, 1)), View((2, 3, 1), (1, 2, 0))),
        (View((2, 3), (1, 2)), View((3, 2), (1, 3)), View((3, 2), (2, 1))),
        (View((4, 6), (1, 4)), View((2, 6), (12, 1), 6), View((2, 6), (2, 4), 1)),
        (View((2, 3), (1, 2)), View((4,), (1,)), None),
        (
            View((4, 4), (4, 1), 0, ((0, 2), (0, 4))),
            View((4,), (4,)),
            View((4,), (4,), 0, ((0, 2),)),
        ),
    ],
)
def test_merge_of_two_views(outer: View, inner: View, expected: View | None) -> None:
    assert merge_views(outer, inner) == expected


@pytest.mark.parametrize(
    ("view", "shape", "expected"),
    [
        (View((2, 3), (1, 2)), (3, 2), View((3, 2), (1, 3))),
        (View((4,), (-1,), 3), (4,), View((4,), (-1,), 3)),
        (View((4,), (1,), -1, ((1, 3),)), (2,), View((2,), (1,), 1)),
        (View((4,), (2,)), (8,), None),
        (View((2, 3), (0, 1)), (6,), None),
        (View((2, 3), (1, 1)), (6,), None),
    ],
)
def test_inverse_of_one_view(view: View, shape, expected: View | None) -> None:
    assert invert_view(view, shape) == expected


def test_releases_call_a_broadcast_the_inverse_of_itself() -> None:
    """differs: they compare sizes only, so (0, 1) over 6 elements has an 'inverse'."""
    broadcast = View((2, 3), (0, 1))
    assert invert_view(broadcast, (6,), V091) is not None
    assert invert_view(broadcast, (6,)) is None
