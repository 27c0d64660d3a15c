from __future__ import annotations

import numpy as np

from kernelref.ir.ast import Load, Store, postorder
from kernelref.ir.builder import Tensor, kernel
from kernelref.ir.dtype import UINT8
from kernelref.ir.shapetracker import ShapeTracker
from kernelref.ir.view import View
from kernelref.jobs.run import RunRequest, run_kernels
from kernelref.jobs.run_windows import ALIGNED, pointed, shifted, windows_of
from tests.jobs.run_cases import case_file, ready_of
from tests.jobs.test_run import INTERP, needs_pocl

FAR = 5_000_000_123


def read_at(*offsets, strides=(1,)):
    loads = [
        Tensor(Load(1, UINT8, ShapeTracker((View.create((64,), strides, offset),))))
        for offset in offsets
    ]
    total = loads[0]
    for load in loads[1:]:
        total = total + load
    return kernel(total)


def addresses(ast, buffer):
    for node in postorder(ast):
        if isinstance(node, Load | Store) and node.buffer == buffer:
            yield np.broadcast_to(node.st.address([np.arange(64)])[0], 64)


def test_a_window_begins_at_or_below_every_address_and_is_aligned():
    ast = read_at(FAR, FAR + 100)
    windows = windows_of(ast, {})
    begin = windows[1]
    assert begin % ALIGNED == 0
    assert 0 <= FAR - begin < ALIGNED
    for before, after in zip(addresses(ast, 1), addresses(shifted(ast, windows), 1), strict=True):
        assert np.array_equal(before - begin, after)
        assert after.min() >= 0
    assert all(np.array_equal(a, np.arange(64)) for a in addresses(shifted(ast, windows), 0))


def test_a_negative_stride_counts_from_its_lowest_address():
    begin = windows_of(read_at(FAR, strides=(-3,)), {})[1]
    assert 0 <= FAR - 63 * 3 - begin < ALIGNED


def test_a_buffer_that_is_also_read_near_its_start_has_no_window():
    ast = read_at(FAR, 5)
    assert windows_of(ast, {}) == {}
    assert shifted(ast, {}) is ast


def test_the_text_points_to_where_the_buffer_would_begin(tmp_path):
    ready = ready_of(tmp_path, read_at(FAR))
    begin = windows_of(read_at(FAR), {})[1]
    assert f"data1 -= {begin}L;" in ready.launch.source
    assert "5000000123L" in ready.launch.source
    assert ready.nbytes < 10_000
    assert pointed("__kernel void k(int a) {\n  x;\n}", ready.program, {}).count("\n") == 2


@needs_pocl
def test_a_far_read_runs_in_little_memory(tmp_path):
    case_file(tmp_path, "far", read_at(FAR, FAR + 7))
    assert run_kernels(RunRequest((str(tmp_path),), jobs=1)).outcomes == {"PASS": 1}
    inside = run_kernels(RunRequest((str(tmp_path),), jobs=1, devices=INTERP))
    assert inside.unsupported == {"memory": 1}
