"""What a kernel takes of a device."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kernelref.ir.builder import buffer, kernel
from kernelref.ir.dtype import HALF
from kernelref.opt.axis import Axis, AxisType
from kernelref.opt.footprint import footprint, group_counts, local_sizes
from kernelref.opt.limits import OPENCL
from kernelref.opt.opt import Opt, OptOps
from tests.opt.kernels import add, matmul, opened, row_sum, symbolic_sum

O = OptOps  # noqa: E741 - as short as the table needs it


def after(ast, *opts: Opt):
    kernel = opened(ast)
    for opt in opts:
        kernel = kernel.apply_opt(opt)
    return kernel


def test_nothing_is_shared_without_groups() -> None:
    assert footprint(opened(matmul())).shared_nbytes == 0
    assert footprint(after(matmul(), Opt(O.LOCAL, 0, 4))).shared_nbytes == 0


def test_a_place_for_each_work_item_and_accumulator() -> None:
    opts = (Opt(O.LOCAL, 0, 4), Opt(O.GROUP, 0, 8), Opt(O.UPCAST, 1, 2), Opt(O.UNROLL, 1, 2))
    assert footprint(after(matmul(), *opts)).shared_nbytes == 4 * (4 * 8 * 2)
    assert footprint(after(matmul(dtype=HALF), *opts)).shared_nbytes == 2 * (4 * 8 * 2)


def test_one_array_for_each_shared_reduction() -> None:
    x = buffer(1, (4, 64))
    siblings = kernel(x.sum(1) + x.max(1))
    assert footprint(after(siblings, Opt(O.GROUP, 0, 8))).shared_nbytes == 2 * 4 * 8
    outer = kernel(buffer(1, (4, 64, 8)).max(1).sum(2))
    assert footprint(after(outer, Opt(O.GROUP, 0, 8))).shared_nbytes == 4 * 8


def test_launch_sizes() -> None:
    kernel = after(add(4, 6, 8), Opt(O.LOCAL, 2, 2))
    assert footprint(kernel).groups == (4, 6, 4)
    assert footprint(kernel).local == (2, 1, 1)


def test_more_than_three_axes_fold_the_leading_ones() -> None:
    kernel = opened(add(2, 3, 4, 5))
    assert footprint(kernel).groups == (5, 4, 6)


def test_a_long_axis_is_cut_into_three() -> None:
    axes = [Axis(1_000_000, AxisType.GLOBAL)]
    assert group_counts(axes, (65535, 65535, 65535)) == (62500, 16, 1)
    assert group_counts(axes, (100, 100, 100)) == (100, 100, 100)
    assert group_counts(axes, (99, 99, 99)) is None


def test_a_symbolic_grid() -> None:
    assert footprint(opened(symbolic_sum())).groups == (8, 1, 1)


@pytest.mark.parametrize(("most", "fits"), [(32, True), (31, False), (None, True)])
def test_work_items_of_a_group(most, fits) -> None:
    axes = [Axis(4, AxisType.LOCAL), Axis(8, AxisType.GROUP_REDUCE)]
    sizes = local_sizes(axes, replace(OPENCL, group_max=most))
    assert sizes == ((4, 8, 1) if fits else None)


def test_work_items_along_each_dimension() -> None:
    axes = [Axis(64, AxisType.LOCAL), Axis(4, AxisType.WARP)]
    assert local_sizes(axes, replace(OPENCL, local_max=(64, 4, 1))) == (64, 4, 1)
    assert local_sizes(axes, replace(OPENCL, local_max=(63, 4, 1))) is None
    assert local_sizes([], OPENCL) == (1, 1, 1)


def test_a_row_sum_in_256_work_items() -> None:
    kernel = after(row_sum(4, 1024), Opt(O.GROUPTOP, 0, 256))
    assert footprint(kernel).local == (256, 1, 1)
    assert footprint(kernel).shared_nbytes == 1024
