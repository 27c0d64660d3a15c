"""Tensor cores: instructions that multiply small matrices across the threads of a warp.

D(M, N) = A(M, K) * B(K, N) + C(M, N). A record says the tile, the dtypes and how the tile's rows
and columns lie on threads; `opt/rules/tc` shapes a kernel after it.

Source: tinygrad 0.9.1 renderer/cstyle.py and assembly.py; 0.8.0 codegen/kernel.py (HIP and Metal).
"""

from __future__ import annotations

from dataclasses import dataclass

from kernelref.ir.dtype import BFLOAT16, FLOAT, HALF, DType

Aliases = tuple[tuple[tuple[int, ...], ...], ...]


@dataclass(frozen=True, slots=True)
class TensorCore:
    """One instruction.

    Shapes: `dims` are the tile's extents along (N, M, K). `threads` are (dim, amount) pairs with
    dim 0 for N and 1 for M, in the order in which they are taken. `aliases[x][a]` says, for operand
    x of (A, B, D) and axis a of (threads..., the unrolled and upcast axes), which axes its fragment
    takes there: 0 none, positive a thread axis counted from 1, negative an upcast axis counted from
    the last. `sizes` are the elements of each operand that one thread holds, by upcast axis.
    `upcast_dim` is the dim that 0.8.0 upcasts; it leaves the other to the threads.
    """

    dims: tuple[int, int, int]
    dtype_in: DType
    dtype_out: DType
    threads: tuple[tuple[int, int], ...]
    aliases: Aliases = ()
    sizes: tuple[tuple[int, ...], ...] = ()
    upcast_dim: int = 0

    def __str__(self) -> str:
        n, m, k = self.dims
        return f"{n}x{m}x{k} {self.dtype_in}/{self.dtype_out}"

    @property
    def thread_count(self) -> int:
        """How many threads the instruction runs on."""
        count = 1
        for _, amount in self.threads:
            count *= amount
        return count

    def threads_along(self, dim: int) -> int:
        """How many threads lie along N (0) or M (1)."""
        count = 1
        for thread_dim, amount in self.threads:
            count *= amount if thread_dim == dim else 1
        return count


@dataclass(frozen=True, slots=True)
class TensorState:
    """A tensor core's shape on a kernel.

    `axes` are where N and M are, None when gone. `operands` are the buffers A and B of each
    reduction. `marked`: the kernel is meant for the instruction, not for its shape only.
    """

    core: TensorCore
    axes: tuple[int | None, int | None]
    operands: tuple[tuple[int, int], ...]
    marked: bool = False


_METAL_THREADS = ((0, 2), (1, 4), (0, 2), (1, 2))
_METAL_ALIASES: Aliases = (
    ((0,), (2,), (0,), (4,), (-1, 1, 3), (0,)),
    ((1,), (0,), (3,), (0,), (2, 4), (-1,)),
    ((1,), (2,), (3,), (4,), (0,), (-1,)),
)
_CUDA_THREADS = ((0, 2), (0, 2), (1, 2), (1, 2), (0, 2))
_CUDA_ALIASES: Aliases = (
    ((0,), (0,), (5,), (-2,), (0,), (-1, 1, 2, -3), (3, 4)),
    ((3,), (4,), (0,), (0,), (5,), (-1, 1, 2, -2), (0,)),
    ((-1,), (1,), (5,), (-2,), (2,), (0,), (3, 4)),
)
_AMD_THREADS = ((0, 8), (0, 2), (1, 2))
_AMD_ALIASES: Aliases = (
    ((0,), (0,), (2,), (-1,), (1,)),
    ((1,), (2,), (0,), (-1,), (0,)),
    ((1,), (2,), (-2,), (0,), (3, -1)),
)
_HIP_THREADS = ((0, 16), (1, 2))
_HIP_ALIASES: Aliases = (
    ((0,), (0,), (-1,), (1,)),
    ((0,), (1,), (-1,), (0,)),
    ((0,), (1,), (0,), (2, -1)),
)
_METAL_0_8_0_ALIASES: Aliases = (
    ((4,), (0,), (2,), (0,), (-1, 1, 3), (0,)),
    ((0,), (3,), (0,), (1,), (2, 4), (-1,)),
    ((4,), (3,), (2,), (1,), (0,), (-1,)),
)


def _metal(dtype_in: DType, dtype_out: DType) -> TensorCore:
    sizes = ((2,), (2,), (2,))
    return TensorCore((8, 8, 8), dtype_in, dtype_out, _METAL_THREADS, _METAL_ALIASES, sizes)


def _cuda(dtype_in: DType, dtype_out: DType) -> TensorCore:
    sizes = ((2, 2, 2), (2, 2), (2, 2))
    return TensorCore((8, 16, 16), dtype_in, dtype_out, _CUDA_THREADS, _CUDA_ALIASES, sizes)


def _amd(dtype_in: DType, dtype_out: DType) -> TensorCore:
    sizes = ((16,), (16,), (4, 2))
    return TensorCore((16, 16, 16), dtype_in, dtype_out, _AMD_THREADS, _AMD_ALIASES, sizes)


def _hip(dtype_in: DType, dtype_out: DType) -> TensorCore:
    sizes = ((16,), (16,), (8,))
    return TensorCore((16, 16, 16), dtype_in, dtype_out, _HIP_THREADS, _HIP_ALIASES, sizes, 1)


METAL = (_metal(FLOAT, FLOAT), _metal(HALF, FLOAT), _metal(HALF, HALF))
CUDA = (_cuda(HALF, FLOAT), _cuda(BFLOAT16, FLOAT))
PTX = (_cuda(HALF, FLOAT),)
AMD = (_amd(HALF, FLOAT), _amd(HALF, HALF))
METAL_0_8_0 = (
    TensorCore(
        (8, 8, 8), FLOAT, FLOAT, _METAL_THREADS, _METAL_0_8_0_ALIASES, ((2,), (2,), (2,)), 0
    ),
)
HIP_0_8_0 = (_hip(HALF, FLOAT), _hip(HALF, HALF))
