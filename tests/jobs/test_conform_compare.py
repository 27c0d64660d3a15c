"""Every kind of difference is seen, and equal meanings in other words are not one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kernelref.ir.index import Var
from kernelref.ir.shapetracker import ShapeTracker
from kernelref.ir.view import View
from kernelref.jobs.conform_compare import compare, compare_states, differing_point
from kernelref.opt.opt import Opt, OptOps
from kernelref.optimizers.interface import Accepted, Broke, BufferState, Refused, State

ROWS = ShapeTracker((View.create((4, 6)),))
STATE = State(
    (4, 6), (4, 1), ("blue", "red"), 0, (Opt(OptOps.UPCAST, 0, 4),),
    (BufferState(ROWS, (6, 1), frozenset()),),
)  # fmt: skip


def with_buffer(**changes: object) -> State:
    return replace(STATE, buffers=(replace(STATE.buffers[0], **changes),))


@pytest.mark.parametrize(
    ("other", "what"),
    [
        (replace(STATE, full_shape=(4, 5)), "full-shape"),
        (replace(STATE, output_shape=(4, 6)), "output-shape"),
        (replace(STATE, colors=("BLUE", "red")), "axis-types"),
        (replace(STATE, colors=None), "axis-types"),
        (replace(STATE, warp_axes=1), "axis-types"),
        (replace(STATE, applied_opts=()), "applied-opts"),
        (replace(STATE, buffers=()), "buffers"),
        (with_buffer(real_strides=(6, None)), "real-strides"),
        (with_buffer(masked=frozenset({1})), "masked-axes"),
        (with_buffer(st=ShapeTracker((View.create((4, 6), (6, 2)),))), "last-strides"),
        (with_buffer(st=ShapeTracker((View.create((4, 6), (6, 1), 1),))), "index"),
    ],
)
def test_differences_of_states(other: State, what: str) -> None:
    assert compare_states(STATE, STATE) is None
    difference = compare_states(STATE, other)
    assert difference is not None
    assert difference.what == what
    assert compare(Accepted(STATE), Accepted(other)) == difference


def test_answers_and_reasons() -> None:
    no = Refused("no longer valid shift", check="amount-divides")
    assert compare(no, Refused("no longer valid shift")) is None
    assert compare(no, Refused("no longer valid shift, really")) is None
    other = compare(no, Refused("invalid axis"))
    assert other is not None
    assert other.what == "reason"
    assert compare(Broke("AssertionError", "x"), Broke("IndexError", "y")) is None
    for left, right in ((Accepted(STATE), no), (no, Broke("E", "")), (Broke("E", ""), no)):
        difference = compare(left, right)
        assert difference is not None
        assert difference.what == "answer"


def test_other_views_of_one_index_are_equal() -> None:
    flat = ShapeTracker((View.create((24,)), View.create((4, 6))))
    assert flat.views != ROWS.views
    assert differing_point(ROWS, flat) is None


def test_a_mask_that_differs_at_one_point_of_many_is_seen() -> None:
    big = View.create((1000, 1000))
    masked = View.create((1000, 1000), None, 0, ((0, 1000), (0, 999)))
    point = differing_point(ShapeTracker((big,)), ShapeTracker((masked,)))
    assert point is not None
    assert point[1] == 999


def test_addresses_of_masked_points_do_not_matter() -> None:
    none = View.create((4,), (1,), 0, ((0, 0),))
    other = View((4,), (3,), 7, ((2, 2),))
    assert differing_point(ShapeTracker((none,)), ShapeTracker((other,))) is None


def test_symbolic_strides_are_compared_at_several_values() -> None:
    size = Var("n", 1, 10)
    one = ShapeTracker((View.create((3, size)),))
    other = ShapeTracker((View((3, size), (1, 1)),))
    assert differing_point(one, one) is None
    assert differing_point(one, other) is not None


def test_a_scalar_has_one_point() -> None:
    here, there = (ShapeTracker((View.create((), (), offset),)) for offset in (0, 5))
    assert differing_point(here, here) is None
    assert differing_point(here, there) == ()
