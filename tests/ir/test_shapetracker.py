"""Stacks of Views against numpy, over random movement ops, with and without symbolic extents."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import numpy as np
import pytest

from kernelref.errors import InvalidInput, Unsupported
from kernelref.ir import view_merge, view_reshape
from kernelref.ir.index import Var, as_expr, bounds, evaluate, variables
from kernelref.ir.shapetracker import ShapeTracker
from kernelref.ir.view import View, ViewAlgebra
from kernelref.jobs.benchmarks.movement import (
    MovementCase,
    buffer_of,
    moved,
    random_case,
    random_stack_case,
    tracked,
)
from kernelref.jobs.benchmarks.view_checks import element_map, first_fault, inverse
from kernelref.jobs.benchmarks.views import check_case, check_stack
from tests.ir.symbolic_moves import LARGEST, random_run
from tests.shared_bugs import BUG_IDS, load_bug

N = Var("n", 1, 10)
VIEW_BUGS = [bug for bug in BUG_IDS if bug.startswith("V")] or ["V01"]


def test_random_movement_ops_equal_numpy() -> None:
    rng = random.Random(2024)
    counts: Counter[str] = Counter()
    for _ in range(600):
        found = check_case(random_case(rng), counts)
        assert found is None, found
    assert counts["merges"] > 10
    assert counts["several_views"] > 100
    assert counts["masked"] > 500


def test_random_stacks_as_files_may_give_them() -> None:
    rng = random.Random(31)
    counts: Counter[str] = Counter()
    for _ in range(500):
        found = check_stack(*random_stack_case(rng), counts)
        assert found is None, found
    assert counts["merges"] > 100


def test_an_index_that_wraps_is_not_merged_away() -> None:
    """differs: a release takes the inner View alone, whose addresses leave the buffer."""
    st = ShapeTracker((View.create((4,)), View((2,), (1,), 3)))
    assert st.simplify() == st
    assert st.real_size() == 4
    assert st.with_algebra(ViewAlgebra.TINYGRAD_0_9_1).simplify().views == (View((2,), (1,), 3),)


@pytest.mark.parametrize("algebra", list(ViewAlgebra))
def test_every_algebra_keeps_the_meaning_but_for_known_faults(algebra: ViewAlgebra) -> None:
    rng = random.Random(7)
    wrong = 0
    for _ in range(400):
        case = random_case(rng)
        st, array = ShapeTracker.from_shape(case.start, algebra), buffer_of(case.start)
        for op in case.ops:
            try:
                st = tracked(st, op)
            except Unsupported:
                break
            array = moved(array, op)
            wrong += element_map(st, array) is not None
    assert wrong == 0 or algebra is ViewAlgebra.TINYGRAD_0_8_0


@pytest.mark.parametrize(
    ("where", "fault"),
    [
        ("mask-split", lambda patch: patch.setattr(view_reshape, "_can_split", lambda *_: True)),
        (
            "mask-order",
            lambda patch: patch.setattr(
                view_reshape,
                "reshaped_mask",
                lambda view, shape, _: ((0, 1),) * (len(shape) - 1) + ((0, shape[-1]),),
            ),
        ),
        ("merge-carry", lambda patch: patch.setattr(view_merge, "_closed_groups", _no_carry)),
        ("merge-mask", lambda patch: patch.setattr(view_merge, "_narrowed_mask", _unmasked)),
    ],
)
def test_planted_faults_are_seen(where: str, fault, monkeypatch: pytest.MonkeyPatch) -> None:
    for cached in (view_reshape.reshape, view_merge.merge_views):
        cached.cache_clear()
    fault(monkeypatch)
    rng = random.Random(2024)
    try:
        found = any(check_case(random_case(rng), Counter()) for _ in range(600))
    finally:
        for cached in (view_reshape.reshape, view_merge.merge_views):
            cached.cache_clear()
    assert found, where


def _no_carry(digits: Any, shape: tuple[int, ...], inner: View) -> tuple[int, ...]:
    return shape


def _unmasked(outer: View, inner: View, digits: Any) -> tuple[tuple[tuple[int, int], ...], bool]:
    return tuple((0, n) for n in inner.shape if isinstance(n, int)), True


def test_symbolic_movement_ops_equal_numpy_at_every_binding() -> None:
    rng = random.Random(4)
    counts: Counter[str] = Counter()
    for _ in range(500):
        run = random_run(rng)
        address, valid = run.st.index()
        counts["masked"] += bool(variables(valid))
        counts["several"] += len(run.st.views) > 1
        for n, array in zip(range(1, LARGEST + 1), run.arrays, strict=True):
            bound = run.st.bind({"n": n})
            found = element_map(bound, array)
            assert found is None, f"n = {n}: {run.ops}: {found}"
            if array.size == 0:
                continue
            axes = np.ogrid[tuple(slice(extent) for extent in array.shape)]
            values = {f"idx{i}": axis for i, axis in enumerate(axes)} | {"n": n}
            where = np.asarray(evaluate(valid, values)) != 0
            found_at = np.broadcast_to(np.where(where, evaluate(address, values), -1), array.shape)
            assert np.array_equal(found_at, array), f"n = {n}: {run.ops}"
            assert run.st.real_size() >= bound.real_size() == int(array.max()) + 1
            for axis, stride in enumerate(run.st.real_strides()):
                if stride is not None:
                    step = evaluate(stride, {"n": n})
                    pairs = array.take(range(array.shape[axis] - 1), axis) >= 0
                    assert (np.diff(array, axis=axis)[pairs] == step).all(), (run.ops, axis)
    assert counts["masked"] > 50
    assert counts["several"] > 20


@pytest.mark.parametrize("bug", VIEW_BUGS)
def test_the_view_bugs(bug: str) -> None:
    entry = load_bug(bug).document["shapetracker"]
    start = tuple(entry["start_shape"])
    case = MovementCase(start, tuple((name, _tuples(arg)) for name, arg in entry["ops"]))
    assert check_case(case, Counter()) is None


@pytest.mark.parametrize(("bug", "wrong"), [("V01", True), ("V03", True), ("V05", False)])
def test_the_view_bugs_of_0_8_0_are_copied(bug: str, wrong: bool) -> None:
    entry = load_bug(bug).document["shapetracker"]
    start = tuple(entry["start_shape"])
    st = ShapeTracker.from_shape(start, ViewAlgebra.TINYGRAD_0_8_0)
    array = buffer_of(start)
    for name, argument in entry["ops"]:
        op = (name, _tuples(argument))
        st, array = tracked(st, op), moved(array, op)
    assert (element_map(st, array) is not None) == wrong


def _tuples(value: object) -> object:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def test_sizes_that_releases_claim() -> None:
    """V08, V09: -4 elements in 0.8.0; one more than there is in all."""
    empty = ShapeTracker.from_shape((3, 6)).pad(((2, 2), (2, 2))).shrink(((0, 1), (0, 10)))
    assert empty.real_size() == 0
    old = ShapeTracker.from_shape((3, 6), ViewAlgebra.TINYGRAD_0_8_0)
    old = old.pad(((2, 2), (2, 2))).shrink(((0, 1), (0, 10)))
    assert old.claimed_size() == -4
    assert old.real_size() == 0
    for algebra in list(ViewAlgebra)[1:]:
        padded = ShapeTracker.from_shape((2,), algebra).pad(((0, 1),))
        assert (padded.claimed_size(), padded.real_size()) == (3, 2)


def test_a_flat_index_beyond_32_bits_over_a_tiny_buffer() -> None:
    """D10: size, strides and index are right, and a release's arithmetic raises.

    The last point lies one row beyond the outer View, which wraps it to its first row.
    """
    rows = View((60000, 60000), (0, 1), 0, ((0, 30000), (0, 60000)))
    st = ShapeTracker((rows, View((4,), (1200000001,))))
    assert st.real_size() == 4
    address, valid = st.index()
    assert [evaluate(address, {"idx0": x}) for x in range(4)] == [0, 1, 2, 3]
    assert [evaluate(valid, {"idx0": x}) for x in range(4)] == [1, 1, 0, 1]
    assert max(abs(end) for end in bounds(address)) < 1 << 31
    assert st.real_strides(ignore_valid=True) == (1,)
    whole = ShapeTracker((rows, View((60000, 60000), (60000, 1))))
    assert whole.real_size() == 60000
    far = ShapeTracker((View((4,), (1200000001,)),)).pad(((0, 1),))
    assert far.real_size() == 3600000004
    with pytest.raises(Unsupported, match="release-raises"):
        far.with_algebra(ViewAlgebra.TINYGRAD_0_9_1).real_strides()


def test_size_of_large_stacks_is_a_bound_that_is_never_too_small() -> None:
    st = ShapeTracker.from_shape((700, 300)).permute((1, 0)).reshape((210000,))
    st = st.shrink(((0, 70000),))
    assert len(st.views) == 2
    address, valid = st.address([np.arange(70000)])
    assert np.all(valid)
    assert int(address.max()) + 1 <= st.real_size() <= 210000


def test_real_strides() -> None:
    st = ShapeTracker.from_shape((4, 6)).permute((1, 0))
    assert st.real_strides() == (1, 6)
    padded = st.pad(((0, 0), (1, 0)))
    assert padded.real_strides() == (1, None)
    assert padded.real_strides(ignore_valid=True) == (1, 6)
    assert [padded.axis_is_masked(axis) for axis in (0, 1)] == [False, True]
    flat = st.reshape((24,))
    assert flat.real_strides() == (None,)
    assert flat.reshape((6, 2, 2)).real_strides() == (1, 12, 6)
    assert flat.reshape((6, 2, 2)).unit_stride_axes() == (0,)
    assert padded.unit_stride_axes() == (0,)


def test_strides_with_symbolic_extents() -> None:
    st = ShapeTracker.from_shape((2, N + 1, 3))
    assert st.real_strides() == (N * 3 + 3, 3, 1)
    turned = st.permute((1, 0, 2)).reshape((N * 2 + 2, 3))
    assert len(turned.views) == 2
    assert turned.real_strides() == (None, 1)
    back = turned.reshape((N + 1, 2, 3))
    assert back.real_strides() == (3, N * 3 + 3, 1)
    assert st.variables() == {N}
    assert st.bind({"n": 4}) == ShapeTracker.from_shape((2, 5, 3))


def test_axis_names_do_not_meet_symbolic_ones() -> None:
    clash = Var("idx0", 0, 15)
    st = ShapeTracker((View((16, 50), (0, 1), clash * 50, ((0, 1), (0, 50))),))
    address, valid = st.index()
    assert {variable.name for variable in variables(address)} == {"idx0", "_idx1"}
    assert {variable.name for variable in variables(valid)} == {"_idx0"}
    assert st.real_strides() == (None, 1)
    assert st.real_strides(ignore_valid=True) == (0, 1)


def test_index_of_a_given_point() -> None:
    st = ShapeTracker.from_shape((4, 6)).pad(((1, 1), (0, 0)))
    x = Var("x", 0, 5)
    address, valid = st.index((x, 2))
    assert address is as_expr(x * 6 - 4)
    assert [evaluate(valid, {"x": v}) for v in range(6)] == [0, 1, 1, 1, 1, 0]
    assert st.index((3, 2)) == (as_expr(14), as_expr(1))
    with pytest.raises(InvalidInput, match="1 coordinates in 2 axes"):
        st.index((x,))


def test_shapes_of_no_axis_and_of_no_point() -> None:
    scalar = ShapeTracker.from_shape(())
    assert (scalar.shape, scalar.real_size(), scalar.real_strides()) == ((), 1, ())
    assert scalar.reshape((1, 1)).expand((2, 3)).real_strides() == (0, 0)
    assert scalar.index() == (as_expr(0), as_expr(1))
    nothing = ShapeTracker.from_shape((0, 3))
    assert nothing.real_size() == 0
    assert nothing.reshape((3, 0)).permute((1, 0)).shape == (0, 3)
    assert nothing.pad(((0, 2), (0, 0))).real_size() == 0
    assert nothing.pad(((0, 2), (0, 0))).shape == (2, 3)


def test_adding_stacks_is_doing_one_after_the_other() -> None:
    rng = random.Random(3)
    for _ in range(150):
        case = random_case(rng)
        array = buffer_of(case.start)
        if array.size == 0:
            continue
        first, second = ShapeTracker.from_shape(case.start), None
        for op in case.ops:
            array = moved(array, op)
            if second is None and rng.random() < 0.4:
                second = ShapeTracker.from_shape(first.shape)  # type: ignore[arg-type]
            if second is None:
                first = tracked(first, op)
            else:
                second = tracked(second, op)
        total = first if second is None else first + second
        assert first_fault(total, array) is None, str(case)


def test_inverse_undoes_permutes_flips_and_pads() -> None:
    for start, ops in [
        ((2, 3), [("permute", (1, 0)), ("stride", (-1, 1))]),
        ((4, 6), [("reshape", (2, 2, 6)), ("permute", (2, 0, 1)), ("pad", ((1, 0),) * 3)]),
        ((4,), [("pad", ((1, 2),))]),
    ]:
        st, array = ShapeTracker.from_shape(start), buffer_of(start)
        for op in ops:
            st, array = tracked(st, op), moved(array, op)
        assert st.invert(start) is not None
        assert inverse(st, start, array) is None
    assert ShapeTracker.from_shape((4,)).shrink(((0, 2),)).invert((4,)) is None
