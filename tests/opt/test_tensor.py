"""The TC opt: what fits, what is chosen, what is left behind."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kernelref.errors import KernelOptError
from kernelref.ir.builder import buffer, constant, kernel
from kernelref.ir.dtype import BFLOAT16, FLOAT, HALF
from kernelref.opt.heuristics import Session, Settings, engine
from kernelref.opt.heuristics.tensor_cores import apply_tensor_cores
from kernelref.opt.kernel import Kernel
from kernelref.opt.limits import PRESETS
from kernelref.opt.opt import Opt, OptOps
from kernelref.opt.rules.sets import SOUND, TINYGRAD_0_8_0, TINYGRAD_0_9_1
from kernelref.opt.tensor_core import AMD, CUDA, HIP_0_8_0, METAL, METAL_0_8_0, PTX
from tests.opt.kernels import axes, image_sum, matmul, opened

TABLES = {"metal": METAL, "cuda": CUDA, "ptx": PTX, "amd": AMD}


def product(dtype_in, dtype_out, m=32, n=32, k=32):
    """A sum of products in one dtype, cast to the other before the sum."""
    left, right = buffer(1, (m, 1, k), dtype_in), buffer(2, (1, n, k), dtype_in)
    return kernel((left * right).cast(dtype_out).sum(2))


def tc(axis: int = 0, level: int = 0) -> Opt:
    return Opt(OptOps.TC, axis, level)


@pytest.mark.parametrize(
    ("limits", "core"),
    [(name, core) for name, table in TABLES.items() for core in table],
    ids=lambda value: str(value),
)
def test_every_entry_shapes_its_kernel(limits, core) -> None:
    before = opened(product(core.dtype_in, core.dtype_out), PRESETS[limits])
    after = before.apply_opt(tc())
    assert after.tensor is not None
    assert after.tensor.core == core
    warp = [axis.extent for axis in after.axes if axis.type.name == "WARP"]
    assert warp == [amount for _, amount in core.threads]
    upcast = [axis.extent for axis in after.axes if axis.type.name in ("UPCAST", "UNROLL")]
    n, m, k = core.dims
    total = 1
    for extent in upcast:
        total *= extent
    assert total * core.thread_count == n * m * k


def test_threads_and_tile_of_each_table_agree() -> None:
    for core in (*METAL, *CUDA, *PTX, *AMD, *METAL_0_8_0, *HIP_0_8_0):
        for dim in range(2):
            assert core.dims[dim] % core.threads_along(dim) == 0
        assert len(core.aliases) == 3
        assert {len(alias) for alias in core.aliases} == {len(core.aliases[0])}
        assert len(core.sizes) == 3


def test_level_1_takes_casts_and_several_reduced_axes() -> None:
    cast = kernel((buffer(1, (32, 1, 32), HALF).cast(FLOAT) * buffer(2, (1, 32, 32))).sum(2))
    kernel_of_cast = opened(cast, PRESETS["metal"])
    assert isinstance(kernel_of_cast.attempt(tc(0, 0)), KernelOptError)
    assert isinstance(kernel_of_cast.attempt(tc(0, 1)), Kernel)


def several_reduced():
    left = buffer(1, (16, 1, 8, 4, 3)).permute(0, 1, 3, 2, 4)
    right = buffer(2, (1, 16, 4, 8, 3))
    return kernel((left * right).sum(2, 3, 4))


def test_the_axis_counts_choices_from_the_last() -> None:
    before = opened(several_reduced(), PRESETS["metal"])
    assert axes(before) == "GLOBAL(16) GLOBAL(16) REDUCE(4) REDUCE(8) REDUCE(3)"
    assert isinstance(before.attempt(tc(0, 1)), KernelOptError)
    assert "UNROLL(8)" in axes(before.apply_opt(tc(1, 1)))
    assert "REDUCE(8) UNROLL(8)" in axes(before.apply_opt(tc(0, 2)))
    assert isinstance(before.attempt(tc(3, 2)), KernelOptError)


def test_level_2_pads() -> None:
    before = opened(matmul(12, 20, 30), PRESETS["metal"])
    assert isinstance(before.attempt(tc(0, 1)), KernelOptError)
    law = before.axis_map(tc(0, 2))
    assert law.before == (12, 20, 30)
    assert len(law.guard) == 3
    assert before.apply_opt(tc(0, 2)).full_shape[:2] == (2, 3)


def test_a_refused_tensor_core_leaves_nothing() -> None:
    before = opened(matmul(12, 20, 30), PRESETS["metal"])
    again = opened(matmul(12, 20, 30), PRESETS["metal"])
    before.attempt(tc(0, 1))
    assert before == again


def test_level_2_marks_nothing() -> None:
    shape_only = replace(PRESETS["metal"], tc=2)
    after = opened(matmul(), shape_only).apply_opt(tc())
    assert not after.has_tensor_core
    warp = after.colors.index("cyan")
    assert isinstance(after.attempt(Opt(OptOps.UPCAST, warp, 2)), Kernel)
    marked = opened(matmul(64, 64, 64), PRESETS["metal"]).apply_opt(tc())
    assert marked.has_tensor_core
    answer = marked.attempt(Opt(OptOps.UPCAST, 2, 2))
    assert isinstance(answer, KernelOptError)
    assert answer.check == "tensor-core-threads"


def test_n_and_m_are_followed() -> None:
    kernel = opened(matmul(16, 64, 32), PRESETS["metal"]).apply_opt(tc())
    assert kernel.tensor is not None
    n, m = kernel.tensor.axes
    assert n is not None
    assert m is not None
    assert kernel.full_shape[m] == 2
    after = kernel.apply_opt(Opt(OptOps.UPCAST, m, 0))
    assert after.tensor is not None
    assert after.tensor.axes == (n - 1 if m < n else n, None)
    assert after.full_shape[after.tensor.axes[0] or 0] == 8


def test_constants_fit_in_a_release_only() -> None:
    def ast():
        left = buffer(1, (16, 1, 16)).expand((16, 16, 16))
        right = constant(2, (1, 16, 16), HALF).expand((16, 16, 16)).cast(FLOAT)
        return kernel((left * right).sum(2))

    shape = replace(PRESETS["metal"], tc=2)
    sound = opened(ast(), shape).attempt(tc(0, 1))
    assert isinstance(sound, KernelOptError)
    assert sound.check == "tensor-core-fits"
    # The constant stands still on both axes, so the last choice has N and M on one axis.
    assert isinstance(opened(ast(), shape, TINYGRAD_0_9_1).attempt(tc(1, 1)), Kernel)


def test_sibling_sums_of_products_are_shaped_together() -> None:
    def term(first: int, second: int):
        return buffer(first, (16, 16)) @ buffer(second, (16, 16))

    after = opened(kernel(term(1, 2) + term(3, 4)), PRESETS["metal"]).apply_opt(tc())
    assert after.tensor is not None
    assert len(after.tensor.operands) == 2


def test_apply_tensor_cores_upcasts_and_makes_local() -> None:
    session = Session(opened(matmul(64, 64, 64), PRESETS["metal"]), Settings())
    assert apply_tensor_cores(session)
    assert session.kernel.applied_opts == (
        tc(), Opt(OptOps.UPCAST, 0, 4), Opt(OptOps.UPCAST, 1, 4), Opt(OptOps.LOCAL, 1, 2)
    )  # fmt: skip


def test_apply_tensor_cores_goes_back_when_refused() -> None:
    before = opened(matmul(64, 64, 64), PRESETS["metal"])
    bad = [Opt(OptOps.UPCAST, 0, 4), Opt(OptOps.UPCAST, 0, 3)]
    session = Session(before, Settings())
    assert not apply_tensor_cores(session, extra_opts=bad)
    assert session.kernel == before
    release = Session(opened(matmul(64, 64, 64), PRESETS["metal"], TINYGRAD_0_9_1), Settings())
    assert not apply_tensor_cores(release, extra_opts=bad)
    assert release.kernel.applied_opts == (tc(), bad[0])


def test_0_8_0_records_the_opts_one_by_one() -> None:
    kernel = opened(matmul(64, 64, 64), PRESETS["metal"], TINYGRAD_0_8_0)
    after = engine(kernel).kernel
    assert after.has_tensor_core
    assert [opt.op.value for opt in after.applied_opts] == (
        ["UNROLL", "UPCAST", *["LASTLOCAL"] * 4, "UPCAST", "UPCAST", "LASTLOCAL"]
    )


@pytest.mark.parametrize("rules", [SOUND, TINYGRAD_0_9_1], ids=str)
def test_an_image_output_never_gets_a_tensor_core(rules) -> None:
    after = engine(opened(image_sum(), PRESETS["metal"], rules)).kernel
    assert after.tensor is None


def test_a_core_without_a_cast_needs_the_dtype_throughout() -> None:
    limits = PRESETS["cuda"]
    assert isinstance(opened(matmul(dtype=BFLOAT16), limits).attempt(tc()), KernelOptError)
    assert isinstance(opened(product(BFLOAT16, FLOAT), limits).attempt(tc()), Kernel)
