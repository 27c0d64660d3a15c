"""Kernels that read far inside a buffer, moved down to what they touch."""

from __future__ import annotations

import numpy as np

from kernelref.ir.ast import Cast, Load, Store
from kernelref.ir.dtype import FLOAT, UINT8
from kernelref.ir.shapetracker import ShapeTracker
from kernelref.ir.view import View
from kernelref.run.oracle import Oracle
from kernelref.run.points import buffer_elements
from kernelref.run.rebase import FAR, STEP, distances, rebased


def slice_of(offset: int, stride: int = 1) -> tuple[Store, ...]:
    st = ShapeTracker((View.create((8,), (stride,), offset),))
    return (Store(0, FLOAT, ShapeTracker.from_shape((8,)), Cast(Load(1, UINT8, st), FLOAT)),)


def test_a_far_slice_moves_by_whole_steps() -> None:
    ast = slice_of(FAR + 100)
    distance = distances(ast, {})
    assert distance == {1: FAR}
    assert FAR % STEP == 0
    near = rebased(ast, distance)
    assert buffer_elements(near, {})[1] == 108
    data = np.arange(FAR + 108).astype(np.uint8)
    wanted = Oracle(ast, {1: data}).exact(0)
    assert Oracle(near, {1: data[FAR:]}).exact(0).tolist() == wanted.tolist()


def test_the_first_element_counts_and_near_slices_stay() -> None:
    assert distances(slice_of(FAR + 7, -1), {}) == {1: FAR}
    assert distances(slice_of(FAR + 6, -1), {}) == {}
    assert distances(slice_of(100), {}) == {}
    assert rebased(slice_of(100), {}) == slice_of(100)


def test_every_use_of_a_buffer_counts() -> None:
    both = (*slice_of(FAR + 100), *(Store(1, FLOAT, s.st, s.value) for s in slice_of(5)))
    assert distances(both, {}) == {}
