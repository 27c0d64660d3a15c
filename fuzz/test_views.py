"""View algebra against numpy: movement ops on a ShapeTracker and on an index array."""

from __future__ import annotations

import math
import random

import numpy as np

from fuzz.harness import fuzzed
from kernelref.fuzzing.choose import Chooser
from kernelref.ir.shapetracker import ShapeTracker
from kernelref.ir.view import View, ViewAlgebra
from kernelref.ir.view_merge import merge_views
from kernelref.jobs.benchmarks.movement import (
    MovementCase,
    buffer_of,
    moved,
    random_case,
    tracked,
)
from kernelref.jobs.benchmarks.view_checks import element_map

SOUND = ViewAlgebra.SOUND


def generate_movement(chooser: Chooser) -> MovementCase:
    return random_case(random.Random(chooser.integer(0, 2**52)))


def generate_view(chooser: Chooser, size: int | None = None) -> View:
    """A small View; of `size` elements below it, or of two beyond, it reaches the last ones."""
    shape = tuple(chooser.integer(1, 4) for _ in range(chooser.integer(1, 3)))
    strides = tuple(chooser.choice((1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -4)) for _ in shape)
    reached = [stride * (n - 1) for stride, n in zip(strides, shape, strict=True)]
    low, high = sum(min(r, 0) for r in reached), sum(max(r, 0) for r in reached)
    if size is None:
        offset = -low + chooser.choice((0, 1, 5))
    else:
        offset = max(-low, size - 1 - high - chooser.choice((0, 1, 3, -1, -2)))
    if not chooser.chance(30):
        return View.create(shape, strides, offset)
    ranges = [sorted((chooser.integer(0, n), chooser.integer(0, n))) for n in shape]
    return View.create(shape, strides, offset, tuple((begin, end) for begin, end in ranges))


def generate_stack(chooser: Chooser) -> tuple[View, View]:
    """A View below, contiguous now and then, and one on top of it."""
    outer = generate_view(chooser)
    if chooser.chance(25):
        outer = View.create(outer.shape)
    return outer, generate_view(chooser, math.prod(n for n in outer.shape if isinstance(n, int)))


@fuzzed(generate_stack, seeds=25)
def test_two_views_merge_into_one_that_means_the_same(stack: tuple[View, View]) -> None:
    merged = merge_views(*stack, SOUND)
    if merged is None:
        return
    (*shape,) = (n for n in stack[1].shape if isinstance(n, int))
    grid = np.ogrid[tuple(map(slice, shape))]
    wanted, got = (
        np.broadcast_to(np.where(valid, address, -1), shape)
        for address, valid in (ShapeTracker(views).address(grid) for views in (stack, (merged,)))
    )
    assert np.array_equal(got, wanted), f"{stack} became {merged}"


@fuzzed(generate_movement, seeds=100)
def test_movement_ops_mean_what_numpy_means(case: MovementCase) -> None:
    view, indices = ShapeTracker.from_shape(case.start), buffer_of(case.start)
    for op in case.ops:
        view, indices = tracked(view, op), moved(indices, op)
        assert element_map(view, indices) is None, f"{case} at {op}"
