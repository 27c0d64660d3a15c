"""One example per opt: the kernel before, the kernel after, and the law between them."""

from __future__ import annotations

import itertools

import pytest

from kernelref.ir.builder import buffer, kernel
from kernelref.ir.dtype import HALF
from kernelref.opt.kernel import Kernel
from kernelref.opt.limits import OPENCL, PRESETS
from kernelref.opt.opt import Opt, OptOps
from kernelref.opt.rules.sets import SOUND, TINYGRAD_0_8_0
from tests.opt.kernels import I, add, axes, image_sum, matmul, opened, row_sum, symbolic_sum

# fmt: off
EXAMPLES = [
    # opt, AST, opts before, axes before, axes after, a point after, the point before
    (Opt(OptOps.UPCAST, 0, 4), add(24, 8), (),
     "GLOBAL(24) GLOBAL(8)", "GLOBAL(6) GLOBAL(8) UPCAST(4)", (5, 7, 3), (23, 7)),
    (Opt(OptOps.UPCAST, 1, 0), add(24, 8), (),
     "GLOBAL(24) GLOBAL(8)", "GLOBAL(24) UPCAST(8)", (23, 7), (23, 7)),
    (Opt(OptOps.UNROLL, 0, 4), row_sum(4, 64), (),
     "GLOBAL(4) REDUCE(64)", "GLOBAL(4) REDUCE(16) UNROLL(4)", (1, 2, 3), (1, 11)),
    (Opt(OptOps.LOCAL, 1, 4), add(24, 8), (Opt(OptOps.LOCAL, 0, 2),),
     "GLOBAL(12) GLOBAL(8) LOCAL(2)", "GLOBAL(12) GLOBAL(2) LOCAL(2) LOCAL(4)",
     (1, 1, 1, 3), (1, 7, 1)),
    (Opt(OptOps.LASTLOCAL, 1, 4), add(24, 8), (Opt(OptOps.LASTLOCAL, 0, 2),),
     "GLOBAL(12) GLOBAL(8) LOCAL(2)", "GLOBAL(12) GLOBAL(2) LOCAL(4) LOCAL(2)",
     (1, 1, 3, 1), (1, 7, 1)),
    (Opt(OptOps.GROUP, 0, 4), row_sum(4, 64), (),
     "GLOBAL(4) REDUCE(64)", "GLOBAL(4) GROUP_REDUCE(4) REDUCE(16)", (1, 3, 2), (1, 11)),
    (Opt(OptOps.GROUPTOP, 0, 4), row_sum(4, 64), (),
     "GLOBAL(4) REDUCE(64)", "GLOBAL(4) GROUP_REDUCE(4) REDUCE(16)", (1, 3, 2), (1, 50)),
    (Opt(OptOps.UPCASTMID, 1, 4), image_sum(8, 64), (Opt(OptOps.GROUP, 0, 16),),
     "GLOBAL(8) GLOBAL(4) GROUP_REDUCE(16) REDUCE(4)",
     "GLOBAL(8) GROUP_REDUCE(16) GROUP_UPCAST(4) REDUCE(4)", (1, 15, 2, 3), (1, 2, 15, 3)),
    (Opt(OptOps.NOLOCALS), row_sum(4, 64), (),
     "GLOBAL(4) REDUCE(64)", "GLOBAL(4) REDUCE(64)", (1, 2), (1, 2)),
    (Opt(OptOps.PADTO, 1, 32), row_sum(4, 50), (),
     "GLOBAL(4) REDUCE(50)", "GLOBAL(4) REDUCE(64)", (1, 49), (1, 49)),
    (Opt(OptOps.TC, 0, 0), matmul(16, 16, 32, HALF), (),
     "GLOBAL(16) GLOBAL(16) REDUCE(32)",
     "GLOBAL(2) GLOBAL(2) WARP(2) WARP(4) WARP(2) WARP(2) REDUCE(4) UNROLL(8) UPCAST(2)",
     (1, 1, 1, 3, 0, 1, 2, 5, 1), (15, 11, 21)),
    (Opt(OptOps.TC, 0, 2), matmul(12, 16, 20, HALF), (),
     "GLOBAL(12) GLOBAL(16) REDUCE(20)",
     "GLOBAL(2) GLOBAL(2) WARP(2) WARP(4) WARP(2) WARP(2) REDUCE(3) UNROLL(8) UPCAST(2)",
     (1, 0, 0, 0, 0, 0, 2, 3, 0), (8, 0, 19)),
]
# fmt: on


def name(value: object) -> str:
    return str(value) if isinstance(value, Opt) else ""


@pytest.mark.parametrize(
    ("opt", "ast", "before", "was", "became", "point", "image"), EXAMPLES, ids=name
)
def test_an_opt_before_and_after(opt, ast, before, was, became, point, image) -> None:
    start = opened(ast, PRESETS["metal"])
    for earlier in before:
        start = start.apply_opt(earlier)
    assert axes(start) == was
    after = start.apply_opt(opt)
    assert axes(after) == became
    assert start.axis_map(opt).apply(point) == (image, True)
    assert after.applied_opts == (*before, opt)


def test_every_op_has_an_example() -> None:
    assert {opt.op for opt, *_ in EXAMPLES} == set(OptOps)


def test_padding_is_guarded() -> None:
    kernel = opened(row_sum(4, 50))
    law = kernel.axis_map(Opt(OptOps.PADTO, 1, 32))
    assert law.apply((1, 49)) == ((1, 49), True)
    assert law.apply((1, 50)) == ((1, 50), False)
    after = kernel.apply_opt(Opt(OptOps.PADTO, 1, 32))
    assert after.sts[1].address((1, 49))[1]
    assert not after.sts[1].address((1, 50))[1]


def test_a_refusal_changes_nothing() -> None:
    kernel = opened(matmul())
    again = opened(matmul())
    for op, axis, amount in itertools.product(OptOps, (None, -1, 0, 9), (None, 0, 1, 5)):
        kernel.attempt(Opt(op, axis, amount))
    assert kernel == again


def test_nolocals_turns_blue_to_capitals() -> None:
    kernel = opened(row_sum(4, 64)).apply_opt(Opt(OptOps.NOLOCALS))
    assert kernel.colors == ("BLUE", "red")
    assert kernel.colored_shape == ((4, "BLUE"), (64, "red"))


def test_a_symbolic_axis_divides_when_its_factor_does() -> None:
    kernel = opened(symbolic_sum())
    assert axes(kernel) == "GLOBAL(8) REDUCE(" + str(kernel.full_shape[1]) + ")"
    merged = Kernel.open(symbolic_rows(), OPENCL, SOUND)
    after = merged.apply_opt(Opt(OptOps.LOCAL, 0, 3))
    assert after.full_shape[1] == 3
    assert after.full_shape[0] == merged.ast[0].shape[1]


def symbolic_rows():
    return kernel(buffer(1, (3, I)) + buffer(2, (3, I)))


def test_unrolling_a_whole_group_in_0_8_0_makes_the_next_axis_a_group() -> None:
    """The fault of the release that typed axes can show: its group count is not corrected."""
    ast = row_sum(4, 64)
    opts = [Opt(OptOps.GROUP, 0, 4), Opt(OptOps.UNROLL, 0, 0)]
    faulty, sound = opened(ast, rules=TINYGRAD_0_8_0), opened(ast)
    for opt in opts:
        faulty, sound = faulty.apply_opt(opt), sound.apply_opt(opt)
    assert axes(faulty) == "GLOBAL(4) GROUP_REDUCE(16) UNROLL(4)"
    assert axes(sound) == "GLOBAL(4) REDUCE(16) UNROLL(4)"


def test_unrolling_the_first_reduced_axis_in_0_8_0_takes_a_local_away() -> None:
    opts = [Opt(OptOps.LOCAL, 0, 2), Opt(OptOps.UNROLL, 0, 0)]
    faulty, sound = opened(row_sum(4, 8), rules=TINYGRAD_0_8_0), opened(row_sum(4, 8))
    for opt in opts:
        faulty, sound = faulty.apply_opt(opt), sound.apply_opt(opt)
    assert axes(faulty) == "GLOBAL(2) GLOBAL(2) UNROLL(8)"
    assert axes(sound) == "GLOBAL(2) LOCAL(2) UNROLL(8)"
