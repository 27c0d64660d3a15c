"""Queries on typed axes: what the releases keep in counters."""

from __future__ import annotations

import pickle

import pytest

from kernelref.ir.builder import buffer, kernel
from kernelref.ir.dtype import DOUBLE, HALF
from kernelref.opt.axis import COLORS, AxisType
from kernelref.opt.kernel import Kernel
from kernelref.opt.limits import OPENCL, PRESETS
from kernelref.opt.opt import Opt, OptOps
from kernelref.opt.rules.sets import RULE_SETS
from tests.opt.kernels import I, add, axes, image_sum, matmul, opened, row_sum, symbolic_sum

O = OptOps  # noqa: E741 - as short as the table needs it


def scheduled() -> Kernel:
    kernel = opened(matmul(16, 24, 64))
    for opt in (
        Opt(O.LOCAL, 0, 4), Opt(O.GROUP, 0, 8), Opt(O.UPCAST, 1, 2), Opt(O.UNROLL, 1, 4)
    ):  # fmt: skip
        kernel = kernel.apply_opt(opt)
    return kernel


def test_counters_are_queries() -> None:
    kernel = scheduled()
    assert axes(kernel) == (
        "GLOBAL(4) GLOBAL(12) LOCAL(4) GROUP_REDUCE(8) REDUCE(2) UPCAST(2) UNROLL(4)"
    )
    assert (kernel.global_dims, kernel.local_dims, kernel.group_dims) == (2, 1, 1)
    assert (kernel.first_reduce, kernel.first_upcast) == (3, 5)
    assert kernel.full_unupcasted_shape == (4, 12, 4, 8, 2)
    assert kernel.output_shape == (4, 12, 4, 1, 1, 2, 1)
    assert kernel.axes_of(AxisType.UPCAST, AxisType.UNROLL) == (5, 6)
    assert kernel.colors == ("blue", "blue", "cyan", "green", "red", "yellow", "magenta")


def test_upcast_axes_say_stride_and_reduction() -> None:
    kernel = scheduled()
    assert kernel.upcast_axes(0) == ((2, 1, False), (1, 0, True))
    assert kernel.upcast_axes(1) == ((2, 0, False), (4, 8, True))


def test_accumulators_count_upcasts_and_not_unrolls() -> None:
    kernel = scheduled()
    assert len(list(kernel.shape_offsets(1))) == 8
    assert kernel.acc_offsets(1) == (0, 1, 0, 1, 0, 1, 0, 1)
    assert opened(matmul()).acc_offsets(1) == (0,)


def test_float4_axes_count_from_the_first_upcast() -> None:
    kernel = opened(matmul()).apply_opt(Opt(O.UPCAST, 1, 4)).apply_opt(Opt(O.UPCAST, 0, 4))
    assert kernel.float4_axes(0) == (0,)
    assert kernel.float4_axes(1) == ()
    assert kernel.float4_axes(2) == (0,)


def test_vectors_need_a_dtype_and_a_device() -> None:
    opt = Opt(O.UPCAST, 1, 2)
    half = opened(add(8, 8, dtype=HALF)).apply_opt(opt)
    assert half.vector_axes(0) == (2,)
    assert opened(add(8, 8, dtype=DOUBLE)).apply_opt(opt).vector_axes(0) == ()
    assert opened(add(8, 8), PRESETS["clang"]).apply_opt(opt).vector_axes(0) == ()
    assert opened(image_sum()).apply_opt(Opt(O.UPCAST, 1, 4)).vector_axes(0) == (2,)


def test_variables_of_shapes_and_values() -> None:
    assert opened(symbolic_sum()).variables() == {I}
    assert opened(add(4, 4)).variables() == frozenset()


@pytest.mark.parametrize("rules", RULE_SETS.values(), ids=str)
def test_a_kernel_survives_pickling(rules) -> None:
    kernel = opened(row_sum(4, 64), OPENCL, rules).apply_opt(Opt(O.UPCAST, 0, 2))
    again = pickle.loads(pickle.dumps(kernel))
    assert again == kernel
    assert again.apply_opt(Opt(O.UNROLL, 0, 4)) == kernel.apply_opt(Opt(O.UNROLL, 0, 4))


def test_kernels_are_values() -> None:
    one, two = opened(row_sum(4, 64)), opened(row_sum(4, 64))
    assert one == two
    assert hash(one) == hash(two)
    assert one.apply_opt(Opt(O.UPCAST, 0, 2)) != two


def test_every_type_has_a_color() -> None:
    assert set(COLORS) == set(AxisType)


def test_a_symbolic_axis_is_never_upcast_whole() -> None:
    kernel = opened(kernel_of_i())
    answer = kernel.attempt(Opt(O.UPCAST, 0, 0))
    assert not isinstance(answer, Kernel)
    assert answer.check == "amount-is-int"


def kernel_of_i():
    return kernel(buffer(1, (I,)) + 1.0)
