"""View algebra against numpy: movement ops on a ShapeTracker and on an index array."""

from __future__ import annotations

import random

from fuzz.harness import fuzzed
from kernelref.fuzzing.choose import Chooser
from kernelref.ir.shapetracker import ShapeTracker
from kernelref.jobs.benchmarks.movement import (
    MovementCase,
    buffer_of,
    moved,
    random_case,
    tracked,
)
from kernelref.jobs.benchmarks.view_checks import element_map


def generate_movement(chooser: Chooser) -> MovementCase:
    return random_case(random.Random(chooser.integer(0, 2**52)))


@fuzzed(generate_movement, seeds=100)
def test_movement_ops_mean_what_numpy_means(case: MovementCase) -> None:
    view, indices = ShapeTracker.from_shape(case.start), buffer_of(case.start)
    for op in case.ops:
        view, indices = tracked(view, op), moved(indices, op)
        assert element_map(view, indices) is None, f"{case} at {op}"
