"""The presets are the releases' limits."""

from __future__ import annotations

import pytest

from kernelref.opt.limits import OPENCL, PRESETS

CUDA_GRID, CUDA_BLOCK = (2147483647, 65535, 65535), (1024, 1024, 64)


@pytest.mark.parametrize(
    ("name", "local", "shared", "float4", "nbytes", "cores"),
    [
        ("opencl", True, True, True, 32768, 0),
        ("clang", False, True, False, 32768, 0),
        ("llvm", False, False, False, 32768, 0),
        ("metal", True, True, True, 32768, 3),
        ("amd", True, True, True, 65536, 2),
        ("cuda", True, True, True, 49152, 2),
        ("ptx", True, True, True, 49152, 1),
    ],
)
def test_preset(name, local, shared, float4, nbytes, cores) -> None:
    limits = PRESETS[name]
    assert (limits.has_local, limits.has_shared, limits.supports_float4) == (local, shared, float4)
    assert (limits.shared_max, len(limits.tensor_cores), limits.tc) == (nbytes, cores, 1)


def test_grids() -> None:
    for name in ("cuda", "ptx"):
        assert (PRESETS[name].global_max, PRESETS[name].local_max) == (CUDA_GRID, CUDA_BLOCK)
    for name in ("clang", "llvm"):
        assert PRESETS[name].global_max is None
    assert OPENCL is PRESETS["opencl"]
    assert len(PRESETS) == 7
