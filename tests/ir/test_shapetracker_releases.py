"""Our copies of the releases' view algebras, step by step beside the installed releases."""

from __future__ import annotations

import gzip
import random
from collections.abc import Iterator

import pytest

from kernelref.errors import Unsupported
from kernelref.ir import tinygrad_index, tinygrad_strides
from kernelref.ir.ast import Constant, Load, Store, postorder
from kernelref.ir.shapetracker import ShapeTracker
from kernelref.ir.tinygrad_linear import Linear, Number, plus
from kernelref.ir.tinygrad_repr.reader import read_line
from kernelref.ir.view import View, ViewAlgebra
from kernelref.ir.view_moves import pad
from kernelref.jobs.benchmarks.movement import (
    Movement,
    MovementCase,
    buffer_of,
    random_case,
    random_stack_case,
    tracked,
)
from kernelref.jobs.benchmarks.release_views import ReleaseViews
from kernelref.optimizers.releases import VERSIONS, ReleaseMissingError, release
from tests.ir.symbolic_moves import OPS
from tests.shared_bugs import KERNEL_FILES, kernel_file


@pytest.fixture(scope="module", params=VERSIONS)
def views(request: pytest.FixtureRequest) -> Iterator[ReleaseViews]:
    try:
        compared = ReleaseViews(release(request.param))
    except ReleaseMissingError as error:
        pytest.skip(str(error))
    yield compared
    compared.close()


def test_random_movement_ops(views: ReleaseViews) -> None:
    rng = random.Random(99)
    for _ in range(200):
        case = random_case(rng)
        start, array = ShapeTracker.from_shape(case.start), buffer_of(case.start)
        found = views.check(start, case.ops, array)
        assert found is None, found
        found = views.check(*random_stack_case(rng))
        assert found is None, found
    assert views.counts["equal"] == views.counts["steps"] > 800


def test_movement_ops_on_real_symbolic_views(views: ReleaseViews) -> None:
    """Splits, merges, permutes and pads of the symbolic trackers of real kernels."""
    rng = random.Random(5)
    trackers = symbolic_trackers()
    assert len(trackers) > 100
    for start in trackers:
        found = views.check(start, random_ops(rng, start.with_algebra(views.algebra)))
        assert found is None, found


def symbolic_trackers() -> list[ShapeTracker]:
    found: dict[ShapeTracker, None] = {}
    for name in KERNEL_FILES:
        with gzip.open(kernel_file(name), "rt") as lines:
            for line in lines:
                if "Variable" not in line or len(line) > 60_000:
                    continue
                for node in postorder(read_line(line).ast):
                    if isinstance(node, Load | Store | Constant) and node.st.variables():
                        found[node.st] = None
    return list(found)


def random_ops(rng: random.Random, st: ShapeTracker) -> list[Movement]:
    """Ops that our copy takes; a shrink or expand of a symbolic view may be refused."""
    ops: list[Movement] = []
    for _ in range(4):
        op = rng.choice(OPS[:6])(rng, st.shape) if rng.random() < 0.8 else _pad_one(rng, st)
        if op is None:
            continue
        try:
            st = tracked(st, op)
        except Unsupported:
            continue
        ops.append(op)
    return ops


def _pad_one(rng: random.Random, st: ShapeTracker) -> Movement | None:
    plain = [axis for axis, n in enumerate(st.shape) if isinstance(n, int) and n > 1]
    if not plain:
        return None
    padded = rng.choice(plain)
    return "pad", tuple((0, 3 if axis == padded else 0) for axis in range(len(st.shape)))


# Its masks are told only with the small terms of a comparison dropped.
SMALL_TERMS = MovementCase(
    (5, 5, 6),
    (
        ("permute", (1, 0, 2)),
        ("pad", ((2, 0), (0, 3), (0, 3))),
        ("permute", (2, 0, 1)),
        ("reshape", (1, 3, 3, 56)),
    ),
)


def differing_cases(compared: ReleaseViews) -> int:
    for cached in (tinygrad_strides.located, tinygrad_strides.real_strides):
        cached.cache_clear()
    rng = random.Random(99)
    cases = [SMALL_TERMS, *(random_case(rng) for _ in range(150))]
    found = sum(
        compared.check(ShapeTracker.from_shape(case.start), case.ops) is not None for case in cases
    )
    for cached in (tinygrad_strides.located, tinygrad_strides.real_strides):
        cached.cache_clear()
    return found


@pytest.mark.parametrize(
    ("module", "name", "fault"),
    [
        (tinygrad_index, "_floordiv_sum", tinygrad_index._floordiv_plain),
        (tinygrad_index, "_without_small_terms", lambda left, right, *, old: _moved(left, right)),
        (tinygrad_strides, "conjunction", lambda _: ()),
        (tinygrad_strides, "minified", lambda view, _: view),
    ],
    ids=["folds-less", "keeps-small-terms", "sees-no-mask", "keeps-all-axes"],
)
def test_planted_differences_are_seen(
    views: ReleaseViews, module, name: str, fault, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A simplifier that folds less, or more, than the release's shows in its strides or masks."""
    assert differing_cases(views) == 0
    monkeypatch.setattr(module, name, fault)
    reached = name != "minified" or views.algebra is not ViewAlgebra.TINYGRAD_0_8_0
    assert (differing_cases(views) > 0) == reached


def _moved(left: Linear, right: int) -> tuple[Number, int]:
    return plus(left, -left.constant), right - left.constant


def test_an_empty_view_never_merges_in_a_release() -> None:
    """0.9.x recurses for ever; our copy says that it raises, SOUND gives an empty View."""
    outer = pad(View.create((2, 2)), ((0, 1), (0, 0)))
    inner = View((0,), (0,))
    stack = ShapeTracker((outer, inner))
    assert stack.simplify().views == (View.create((0,)),)
