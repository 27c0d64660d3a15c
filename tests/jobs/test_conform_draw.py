"""Draws follow from the seed, reach every op and odd argument, and mostly fit the state."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from kernelref.ir.shapetracker import ShapeTracker
from kernelref.ir.view import View
from kernelref.jobs.conform_draw import CAPS, Drawer
from kernelref.opt.opt import Opt, OptOps
from kernelref.optimizers.interface import BufferState, Heuristics, State

OUTPUT = BufferState(ShapeTracker((View.create((8, 12, 1)),)), (12, 1, 0), frozenset())
START = State((8, 12, 64), (8, 12, 1), ("blue", "blue", "red"), 0, (), (OUTPUT,))
GROUPED = State((8, 12, 64), (8, 12, 1), ("blue", "blue", "green"), 0, (), (OUTPUT,))
ACTIONS = (Opt(OptOps.UPCAST, 0, 4), Opt(OptOps.PADTO, 6, 32))


def draws(state: State, *, count: int = 2000, start: bool = False, image: bool = False):
    drawer = Drawer(7, ACTIONS)
    return [drawer.draw(state, is_start=start, is_image=image) for _ in range(count)]


def of(op: OptOps, opts: list[Opt]) -> Iterator[Opt]:
    return (opt for opt in opts if opt.op is op)


def test_one_seed_one_sequence() -> None:
    assert draws(START) == draws(START)


def test_every_op_is_drawn_and_the_rest_are_odd() -> None:
    opts = draws(START, count=8000)
    seen = Counter(opt.op for opt in opts)
    assert set(seen) == set(OptOps)
    assert any(opt.axis is None for opt in of(OptOps.UPCAST, opts))
    assert any(opt.amt is None for opt in of(OptOps.GROUP, opts))
    assert any(opt.axis is not None and opt.axis < 0 for opt in opts)
    assert any(opt.amt is not None and opt.amt < 0 for opt in opts)
    assert set(ACTIONS) <= set(opts)


def test_most_splits_name_an_axis_they_take_and_an_amount_that_divides() -> None:
    opts = draws(START)
    for op, extents in (
        (OptOps.UPCAST, {0: 8, 1: 12}), (OptOps.GROUP, {0: 64}), (OptOps.UNROLL, {0: 64}),
    ):  # fmt: skip
        fitting = total = 0
        for opt in of(op, opts):
            total += 1
            extent = extents.get(-1 if opt.axis is None else opt.axis)
            if extent is not None and opt.amt is not None:
                amount = opt.amt or extent
                divides = amount > 1 and extent % amount == 0
                fitting += divides and amount <= CAPS.get(op, 256)
        assert fitting > total * 0.5


def test_caps_are_met_from_both_sides() -> None:
    amounts = {opt.amt for opt in of(OptOps.UPCAST, draws(START, count=6000))}
    assert {8, 9} <= amounts
    amounts = {opt.amt for opt in of(OptOps.UNROLL, draws(START, count=6000))}
    assert {32, 33} <= amounts


def test_tensor_cores_come_first() -> None:
    assert len(list(of(OptOps.TC, draws(START, start=True)))) > 1400
    assert len(list(of(OptOps.TC, draws(START)))) < 200


def test_images_are_grouped_then_upcast_in_the_middle() -> None:
    grouping = Counter(opt.op for opt in draws(START, image=True))
    assert grouping[OptOps.GROUP] + grouping[OptOps.GROUPTOP] > 1000
    middle = list(of(OptOps.UPCASTMID, draws(GROUPED, image=True)))
    assert len(middle) > 1000
    assert Counter(opt.axis for opt in middle).most_common(1)[0][0] == 1


def test_a_release_without_an_op_is_never_asked_for_it() -> None:
    drawer = Drawer(3, (), [OptOps.UPCAST, OptOps.LASTLOCAL])
    opts = [drawer.draw(START, is_start=True, is_image=True) for _ in range(300)]
    assert {opt.op for opt in opts} == {OptOps.UPCAST, OptOps.LASTLOCAL}


def test_what_was_accepted_least_is_asked_most() -> None:
    drawer = Drawer(3, (), [OptOps.UPCAST, OptOps.LOCAL])
    drawer.accepted[OptOps.UPCAST] = 100
    drawn = Counter(drawer.draw(START, is_start=False, is_image=False).op for _ in range(2000))
    assert drawn[OptOps.LOCAL] > drawn[OptOps.UPCAST] * 1.3


def test_some_walks_begin_where_heuristics_end() -> None:
    drawer = Drawer(5, ())
    starts = Counter(drawer.start(has_cores=True) for _ in range(1000))
    assert starts[None] > 700
    assert set(starts) == {None, *Heuristics}
    without = Drawer(5, (), [OptOps.UPCAST])
    engine = Counter(without.start(has_cores=True) for _ in range(1000))[Heuristics.ENGINE]
    assert engine > 300
