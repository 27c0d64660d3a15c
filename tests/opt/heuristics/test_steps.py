"""Each step of the heuristics by itself."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kernelref.errors import KernelOptError
from kernelref.ir.ast import Alu, Load, Op, Reduce, ReduceOp, Store
from kernelref.ir.builder import buffer, constant, kernel
from kernelref.ir.dtype import FLOAT, IMAGE_FLOAT, image
from kernelref.ir.shapetracker import ShapeTracker
from kernelref.opt.broke import OptBroke
from kernelref.opt.heuristics import (
    HAND_CODED,
    Session,
    Settings,
    engine,
    hand_coded,
    required,
    settings_for,
)
from kernelref.opt.kernel import Kernel
from kernelref.opt.limits import OPENCL, PRESETS
from kernelref.opt.opt import Opt, OptOps
from kernelref.opt.rules.sets import SOUND, TINYGRAD_0_8_0, TINYGRAD_0_9_1
from tests.opt.kernels import add, image_sum, matmul, opened, row_sum, symbolic_sum

O = OptOps  # noqa: E741 - as short as the tables need it
STEPS = {step.name: step for step in HAND_CODED}


def step(name: str, kernel: Kernel, **settings: object) -> list[str]:
    session = Session(kernel, replace(Settings(), **settings))
    STEPS[name].run(session)
    return [str(opt) for opt in session.kernel.applied_opts[len(kernel.applied_opts) :]]


def image_output(columns: int = 8, source: tuple[int, int, int] = (1, 8, 4)):
    x = buffer(1, (columns, 4), image(IMAGE_FLOAT, source))
    return kernel(x.cast(image(IMAGE_FLOAT, (1, columns, 4))))


def test_the_order_of_the_steps() -> None:
    assert list(STEPS) == [
        "required", "matrix-vector", "group-top", "upcast-mid", "image-buffers", "masked-axes",
        "broadcast-axes", "unroll-reduce", "last-axis", "locals",
    ]  # fmt: skip


def test_required_upcasts_the_channels_of_an_image_output() -> None:
    assert step("required", opened(image_sum())) == ["UPCAST(1, 4)"]
    assert step("required", opened(add(8, 8))) == []


def strided_image():
    st = ShapeTracker.from_shape((8, 8)).stride((1, 2))
    dtype = image(IMAGE_FLOAT, (1, 16, 4))
    return (Store(0, dtype, st, buffer(1, (8, 4)).cast(dtype).node),)


def test_an_image_output_without_channels_breaks_a_release_only() -> None:
    with pytest.raises(OptBroke) as raised:
        required(opened(strided_image(), rules=TINYGRAD_0_9_1))
    assert raised.value.check == "unit-stride-axis"
    assert required(opened(strided_image())).kernel.applied_opts == ()


# Matrix-vector.


def matrix_vector(m: int = 64, k: int = 64):
    return kernel((buffer(1, (m, k)) * buffer(2, (1, k))).sum(1))


def test_a_matrix_times_a_vector() -> None:
    opts = ["GROUP(0, 8)", "LOCAL(0, 4)", "UPCAST(0, 4)"]
    assert step("matrix-vector", opened(matrix_vector())) == opts
    assert [str(opt) for opt in hand_coded(opened(matrix_vector())).kernel.applied_opts] == opts


@pytest.mark.parametrize(
    ("changes", "opts"),
    [
        ({"matrix_vector": False}, []),
        ({"mv_block": 1}, ["GROUP(0, 8)", "UPCAST(0, 4)"]),
        ({"mv_threads": 1}, ["LOCAL(0, 4)", "UPCAST(0, 4)"]),
        ({"mv_rows": 1}, ["GROUP(0, 8)", "LOCAL(0, 4)"]),
        ({"mv_block": 1, "mv_threads": 1, "mv_rows": 1}, []),
        ({"mv_threads": 16}, ["GROUP(0, 16)", "LOCAL(0, 4)", "UPCAST(0, 4)"]),
    ],
)
def test_matrix_vector_settings(changes, opts) -> None:
    assert step("matrix-vector", opened(matrix_vector()), **changes) == opts


@pytest.mark.parametrize(
    "ast",
    [
        matrix_vector(64, 60),  # the row does not divide by 8
        matrix_vector(24, 64),  # the rows do not divide by 16
        matmul(64, 64, 64),  # both operands are broadcast
        kernel((buffer(1, (64, 64)) * buffer(2, (1, 64))).max(1)),
        kernel((buffer(1, (64, 64)) + buffer(2, (1, 64))).sum(1)),
        kernel((buffer(1, (64, 64)).permute(1, 0) * buffer(2, (1, 64))).sum(1)),
        row_sum(64, 64),
        add(64, 64),
    ],
)
def test_what_is_no_matrix_times_a_vector(ast) -> None:
    assert step("matrix-vector", opened(ast)) == []


@pytest.mark.parametrize("limits", ["clang", "llvm"])
def test_matrix_vector_needs_locals(limits) -> None:
    assert step("matrix-vector", opened(matrix_vector(), PRESETS[limits])) == []


def test_a_sum_over_one_term_breaks_a_release_only() -> None:
    st = ShapeTracker.from_shape((32, 16, 1))
    other = ShapeTracker.from_shape((16, 32, 1)).permute((1, 0, 2))

    product = Alu(Op.MUL, (Load(1, FLOAT, st), Load(2, FLOAT, other)))
    ast = (Store(0, FLOAT, st, Reduce(ReduceOp.SUM, product, (2,))),)
    assert step("matrix-vector", opened(ast)) == []
    with pytest.raises(OptBroke) as raised:
        step("matrix-vector", opened(ast, rules=TINYGRAD_0_9_1))
    assert raised.value.check == "reduced-axis-exists"


# Grouping.


@pytest.mark.parametrize(
    ("ast", "opts"),
    [
        (row_sum(4, 1024), ["GROUPTOP(0, 256)"]),
        (row_sum(4, 48), ["GROUPTOP(0, 16)"]),
        (row_sum(4, 50), []),
        (row_sum(33, 1024), ["GROUPTOP(0, 16)"]),
        (row_sum(2048, 1024), ["GROUPTOP(0, 16)"]),
        (row_sum(2049, 1024), []),
        (add(4, 4), []),
    ],
)
def test_few_outputs_are_grouped(ast, opts) -> None:
    assert step("group-top", opened(ast)) == opts


def test_a_refused_group_is_passed_over_but_not_in_0_8_0() -> None:
    small = replace(OPENCL, shared_max=256)
    assert step("group-top", opened(row_sum(4, 1024), small)) == ["GROUPTOP(0, 16)"]
    off = opened(row_sum(4, 1024), rules=TINYGRAD_0_8_0).apply_opt(Opt(O.NOLOCALS))
    assert step("group-top", off) == []
    with pytest.raises(KernelOptError):
        step("group-top", off, tries_groups=False)
    assert settings_for(TINYGRAD_0_8_0) == Settings(tries_groups=False)
    assert settings_for(SOUND) == settings_for(TINYGRAD_0_9_1) == Settings()


def test_a_grouped_image_is_upcast_in_the_middle() -> None:
    grouped = opened(image_sum()).apply_opt(Opt(O.GROUPTOP, 0, 16))
    assert step("upcast-mid", grouped) == ["UPCASTMID(1, 4)"]
    assert step("upcast-mid", opened(image_sum())) == []
    plain = opened(row_sum(4, 64)).apply_opt(Opt(O.GROUPTOP, 0, 16))
    assert step("upcast-mid", plain) == []


def test_grouped_kernels_stop_there() -> None:
    names = [str(opt) for opt in hand_coded(opened(row_sum(4, 1024))).kernel.applied_opts]
    assert names == ["GROUPTOP(0, 256)"]


# Images, upcasts, unrolls, locals.


def test_image_buffers_are_read_by_four() -> None:
    reduced = kernel(buffer(1, (8, 64), image(IMAGE_FLOAT, (8, 16, 4))).sum(1).cast(FLOAT))
    assert step("image-buffers", opened(reduced)) == ["UNROLL(0, 4)"]
    assert step("image-buffers", opened(image_output())) == ["UPCAST(1, 4)"]


def masked(rows: int):
    """Rows stacked: each source is masked on the first axis."""
    top = buffer(1, (1, 16)).pad([(0, rows - 1), (0, 0)])
    rest = buffer(2, (rows - 1, 16)).pad([(1, 0), (0, 0)])
    return kernel(top + rest)


@pytest.mark.parametrize(("rows", "opts"), [(7, ["UPCAST(0, 0)"]), (8, [])])
def test_small_masked_axes(rows, opts) -> None:
    assert step("masked-axes", opened(masked(rows))) == opts


def test_masked_axes_up_to_49_elements() -> None:
    def corner():
        x = buffer(1, (3, 3, 3)).pad([(0, 3), (3, 0), (1, 2)])
        return kernel(x + buffer(2, (6, 6, 6)).permute(2, 1, 0))

    assert step("masked-axes", opened(corner())) == ["UPCAST(1, 0)", "UPCAST(0, 0)"]


def outer_product(m: int, n: int):
    return kernel(buffer(1, (m, 1)) * buffer(2, (1, n)))


@pytest.mark.parametrize(
    ("m", "n", "opts"),
    [
        (64, 64, ["UPCAST(1, 4)", "UPCAST(0, 4)"]),
        (31, 33, []),  # 1,023 outputs
        (32, 32, ["UPCAST(1, 4)"]),
        (66, 22, ["UPCAST(0, 3)"]),
        (12, 1024, ["UPCAST(1, 4)", "UPCAST(0, 3)"]),
    ],
)
def test_broadcast_axes(m, n, opts) -> None:
    assert step("broadcast-axes", opened(outer_product(m, n))) == opts


def test_done_axes_are_numbers_that_vanishing_does_not_shift() -> None:
    """Axis 0 vanishes; the axis that is 0 then counts as done, and x would have wanted it."""
    x, y = buffer(1, (3, 1)), buffer(2, (1, 4096))
    st = ShapeTracker.from_shape((4096, 3)).permute((1, 0))
    ast = kernel(x * y, places={0: st})
    assert step("broadcast-axes", opened(ast)) == ["UPCAST(0, 3)"]


@pytest.mark.parametrize(
    ("terms", "opts"),
    [(32, ["UNROLL(0, 0)"]), (33, []), (36, ["UNROLL(0, 4)"]), (3, ["UNROLL(0, 0)"])],
)
def test_the_last_reduced_axis_is_unrolled(terms, opts) -> None:
    assert step("unroll-reduce", opened(row_sum(4, terms))) == opts


def test_two_tiny_reduced_axes_are_unrolled() -> None:
    x = buffer(1, (4, 3, 3)).permute(0, 2, 1) + buffer(2, (4, 3, 3))
    assert step("unroll-reduce", opened(kernel(x.sum(1, 2)))) == ["UNROLL(1, 0)", "UNROLL(0, 0)"]


def test_enough_is_unrolled_already() -> None:
    unrolled = opened(row_sum(4, 256)).apply_opt(Opt(O.UNROLL, 0, 8))
    assert step("unroll-reduce", unrolled) == []
    upcast = opened(row_sum(64, 32)).apply_opt(Opt(O.UPCAST, 0, 8))
    assert step("unroll-reduce", upcast) == ["UNROLL(0, 0)"]
    many = upcast.apply_opt(Opt(O.UPCAST, 0, 8))
    assert step("unroll-reduce", many) == []


def test_a_symbolic_reduction_is_not_unrolled() -> None:
    assert step("unroll-reduce", opened(symbolic_sum())) == []


def test_nothing_upcast_and_a_last_axis_that_divides() -> None:
    assert step("last-axis", opened(add(8, 12))) == ["UPCAST(1, 4)"]
    assert step("last-axis", opened(add(8, 13))) == []
    assert step("last-axis", opened(add(8, 12)).apply_opt(Opt(O.UPCAST, 0, 2))) == []


def test_locals() -> None:
    assert step("locals", opened(add(64, 64))) == ["LOCAL(0, 8)", "LOCAL(1, 16)"]
    assert step("locals", opened(add(64))) == ["LOCAL(0, 32)"]
    assert step("locals", opened(add(13))) == []
    assert step("locals", opened(add(64)), no_locals=True) == ["NOLOCALS(None, None)"]
    assert step("locals", opened(add(64), PRESETS["clang"])) == []


def test_broadcast_axes_come_first_among_locals() -> None:
    x = buffer(1, (16, 1)) * constant(2.0, (16, 1))
    assert step("locals", opened(kernel(x + buffer(2, (16, 64))))) == [
        "LOCAL(0, 8)", "LOCAL(1, 16)"
    ]  # fmt: skip


def test_vanished_axes_shift_the_locals_after_them() -> None:
    assert step("locals", opened(add(4, 8))) == ["LOCAL(0, 4)", "LOCAL(0, 8)"]


# All of it.


@pytest.mark.parametrize("limits", ["opencl", "clang", "metal"])
@pytest.mark.parametrize(
    "ast",
    [add(64, 64), matmul(64, 64, 64), row_sum(4, 1024), image_sum(), masked(5), image_output()],
)
def test_sound_and_0_9_1_choose_the_same_for_plain_kernels(ast, limits) -> None:
    sound = hand_coded(opened(ast, PRESETS[limits], SOUND))
    release = hand_coded(opened(ast, PRESETS[limits], TINYGRAD_0_9_1))
    assert sound.kernel.applied_opts == release.kernel.applied_opts
    assert sound.skipped == []


def test_sound_skips_and_collects_what_is_refused() -> None:
    tight = replace(OPENCL, group_max=64)
    session = hand_coded(opened(add(64, 64), tight))
    assert [error.check for error in session.skipped] == ["launch-fits"]
    assert session.kernel.local_dims == 1


def test_the_engine_takes_a_tensor_core_instead() -> None:
    kernel = opened(matmul(64, 64, 64), PRESETS["metal"])
    assert engine(kernel).kernel.applied_opts[0].op is O.TC
    off = opened(matmul(64, 64, 64), replace(PRESETS["metal"], tc=0))
    assert engine(off).kernel == hand_coded(off).kernel
