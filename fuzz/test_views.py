"""View algebra against numpy: movement ops on a ShapeTracker and on an index array."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from kernelref.ir.shapetracker import ShapeTracker
from kernelref.jobs.benchmarks.movement import buffer_of, moved, random_case, tracked
from kernelref.jobs.benchmarks.view_checks import element_map


@given(st.integers(0, 2**64 - 1))
def test_movement_ops_mean_what_numpy_means(seed: int) -> None:
    case = random_case(random.Random(seed))
    view, indices = ShapeTracker.from_shape(case.start), buffer_of(case.start)
    for op in case.ops:
        view, indices = tracked(view, op), moved(indices, op)
        assert element_map(view, indices) is None, f"{case} at {op}"
