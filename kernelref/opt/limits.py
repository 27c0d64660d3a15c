"""What a device can do, as the optimizer sees it, and the presets that the releases ship.

`group_max` is what such devices allow; the releases never look at it.
Source: tinygrad 0.9.1 renderer/__init__.py, cstyle.py, assembly.py, llvmir.py; 0.8.0 runtime/ops_*.
"""

from __future__ import annotations

from dataclasses import dataclass

from kernelref.opt.tensor_core import AMD, CUDA, METAL, PTX, TensorCore

MAX_GRID = 0x8FFFFFFF


@dataclass(frozen=True, slots=True)
class Limits:
    """Device limits.

    Units: `shared_max` bytes of on-chip memory a work-group; `global_max` work-groups and
    `local_max` work-items along (x, y, z); `group_max` work-items in a group. None: no limit.
    `tc` is the tensor-core level (0 off, 1 the instruction, 2 the shape only).
    """

    has_local: bool = True
    has_shared: bool = True
    shared_max: int = 32768
    global_max: tuple[int, int, int] | None = None
    local_max: tuple[int, int, int] | None = None
    group_max: int | None = None
    supports_float4: bool = True
    tensor_cores: tuple[TensorCore, ...] = ()
    tc: int = 1


_WIDE = (MAX_GRID, MAX_GRID, MAX_GRID)
_CUDA_GRID = (2147483647, 65535, 65535)
_CUDA_BLOCK = (1024, 1024, 64)

PRESETS: dict[str, Limits] = {
    "opencl": Limits(global_max=_WIDE, local_max=_WIDE, group_max=1024),
    "clang": Limits(has_local=False, supports_float4=False, local_max=_WIDE),
    "llvm": Limits(has_local=False, has_shared=False, supports_float4=False, local_max=_WIDE),
    "metal": Limits(global_max=_WIDE, local_max=_WIDE, group_max=1024, tensor_cores=METAL),
    "amd": Limits(
        shared_max=65536, global_max=_WIDE, local_max=_WIDE, group_max=1024, tensor_cores=AMD
    ),
    "cuda": Limits(
        shared_max=49152,
        global_max=_CUDA_GRID,
        local_max=_CUDA_BLOCK,
        group_max=1024,
        tensor_cores=CUDA,
    ),
    "ptx": Limits(
        shared_max=49152,
        global_max=_CUDA_GRID,
        local_max=_CUDA_BLOCK,
        group_max=1024,
        tensor_cores=PTX,
    ),
}
OPENCL = PRESETS["opencl"]
