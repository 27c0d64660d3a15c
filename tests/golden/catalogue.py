"""Kernels whose text is kept: one per opt, and the combinations that share memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from kernelref.codegen.target import FULL, MINIMAL, POCL, Target
from kernelref.ir.ast import Ast, Load, Store
from kernelref.ir.builder import Tensor, buffer, constant, kernel
from kernelref.ir.dtype import (
    BFLOAT16,
    BOOL,
    DOUBLE,
    FLOAT,
    HALF,
    IMAGE_FLOAT,
    IMAGE_HALF,
    INT8,
    INT32,
    UINT8,
    image,
)
from kernelref.ir.index import Var
from kernelref.ir.shapetracker import ShapeTracker
from kernelref.ir.view import View
from kernelref.opt.kernel import Kernel
from kernelref.opt.limits import OPENCL, PRESETS, Limits
from kernelref.opt.opt import Opt, OptOps
from kernelref.opt.rules.ruleset import RuleSet
from kernelref.opt.rules.sets import SOUND, TINYGRAD_0_8_0


@dataclass(frozen=True)
class Entry:
    """A kernel, its opts as (op, axis, amount), and what it is lowered for."""

    ast: Callable[[], Ast]
    opts: tuple[tuple[str, int | None, int | None], ...] = ()
    limits: Limits = OPENCL
    rules: RuleSet = SOUND
    target: Target = POCL
    variables: dict[str, int] = field(default_factory=dict)

    def kernel(self) -> Kernel:
        opened = Kernel.open(self.ast(), self.limits, self.rules)
        for op, axis, amount in self.opts:
            opened = opened.apply_opt(Opt(OptOps[op], axis, amount))
        return opened


def matmul(rows: int = 16, inner: int = 32, columns: int = 8, dtype: object = FLOAT) -> Ast:
    assert isinstance(dtype, type(FLOAT))
    return kernel(buffer(1, (rows, inner), dtype) @ buffer(2, (inner, columns), dtype))


def row_sums(rows: int = 8, columns: int = 64) -> Ast:
    return kernel(buffer(1, (rows, columns)).sum(1))


def two_reduces() -> Ast:
    return kernel(buffer(1, (4, 16)).sum(1) + buffer(2, (4, 16)).max(1))


def max_of_sums() -> Ast:
    return kernel((buffer(1, (4, 8, 16)).sum(2) * buffer(2, (4, 8, 1))).max(1))


def convolution() -> Ast:
    """2 channels, 3 wide, padded by one: masked loads through windows."""
    x = buffer(1, (2, 10)).pad(((0, 0), (1, 1))).windows(3)
    weights = buffer(2, (2, 1, 3)).expand((2, 10, 3))
    return kernel((x * weights).permute(1, 0, 2).sum(1, 2))


def image_sums(base: object = IMAGE_HALF) -> Ast:
    """Sums over rows of an image, into an image of 4 texels."""
    assert isinstance(base, type(FLOAT))
    x = buffer(1, (16, 16), image(base, (16, 4, 4)))
    sums = x.permute(1, 0).sum(1)
    out = image(base, (1, 4, 4))
    return (Store(0, out, ShapeTracker.from_shape((16, 1)), sums.cast(out).node),)


def in_place() -> Ast:
    shape = (12, 16)
    st = ShapeTracker.from_shape(shape)
    return kernel(Tensor(Load(0, FLOAT, st)) * 0.9 + buffer(1, shape))


def far_addresses() -> Ast:
    """A small buffer through a view of 3.6e9 points: int cannot hold the flat index."""
    wide = View((60000, 60000), (0, 1), 0, ((0, 30000), (0, 60000)))
    load = Load(1, FLOAT, ShapeTracker((wide, View((4,), (1200000001,)))))
    return (Store(0, FLOAT, ShapeTracker.from_shape((4,)), load),)


def negative_steps() -> Ast:
    """A flipped read through a gapped view: the flat index passes below 0 before its mask."""
    below = View((3, 4), (4, 1), 0, ((1, 3), (0, 4)))
    load = Load(1, FLOAT, ShapeTracker((below, View((6,), (-2,), 9))))
    return (Store(0, FLOAT, ShapeTracker.from_shape((6,)), load),)


def symbolic_attention() -> Ast:
    length = Var("start_pos", 1, 20) + 1
    assert not isinstance(length, int)
    query = buffer(1, (4, 1, 8)).expand((4, length, 8))
    return kernel((query * buffer(2, (4, length, 8))).sum(2) * 0.125)


def symbolic_constant() -> Ast:
    return kernel(buffer(1, (4,), INT32) + constant(Var("n", 0, 10), (4,), INT32))


def every_width() -> Ast:
    """Several outputs of several dtypes."""
    a, b = buffer(4, (8,), UINT8), buffer(5, (8,), INT8)
    flags = buffer(6, (8,), BOOL)
    return kernel(a + a * 3, flags.where(b, -b), (b.cast(DOUBLE) * 0.1).cast(FLOAT).cast(HALF))


def masked_constant() -> Ast:
    ones = constant(1.0, (5,)).pad(((2, 1),))
    return kernel(ones * buffer(1, (8,)))


TC2 = replace(PRESETS["metal"], tc=2)
SMALL_GRID = replace(MINIMAL, grid_max=(4, 4, 4))

CATALOGUE: dict[str, Entry] = {
    "elementwise": Entry(lambda: kernel(buffer(1, (12, 16)) + buffer(2, (12, 16)))),
    "matmul": Entry(matmul),
    "max": Entry(lambda: kernel(buffer(1, (4, 7)).max(1))),
    "convolution": Entry(convolution),
    "masked-constant": Entry(masked_constant),
    "negative-steps": Entry(negative_steps),
    "far-addresses": Entry(far_addresses),
    "in-place": Entry(in_place),
    "several-outputs": Entry(every_width),
    "symbolic-extents": Entry(symbolic_attention, variables={"start_pos": 6}),
    "symbolic-constant": Entry(symbolic_constant, variables={"n": 3}),
    "sibling-reduces": Entry(two_reduces),
    "dependent-reduces": Entry(max_of_sums),
    "four-axes": Entry(lambda: kernel(buffer(1, (3, 5, 4, 2)).permute(3, 1, 2, 0) + 1.0)),
    "split-grid": Entry(lambda: kernel(buffer(1, (39,)) * 2.0), target=SMALL_GRID),
    "image": Entry(image_sums),
    "upcast": Entry(matmul, (("UPCAST", 0, 2), ("UPCAST", 1, 4))),
    "unroll": Entry(matmul, (("UNROLL", 0, 4),)),
    "local": Entry(matmul, (("LOCAL", 0, 4), ("LOCAL", 1, 2))),
    "lastlocal": Entry(matmul, (("LASTLOCAL", 0, 4),), rules=TINYGRAD_0_8_0),
    "group": Entry(row_sums, (("GROUP", 0, 8),)),
    "grouptop": Entry(row_sums, (("GROUPTOP", 0, 8),)),
    "nolocals": Entry(matmul, (("NOLOCALS", None, None),)),
    "padto": Entry(lambda: matmul(7, 9, 5), (("PADTO", 0, 8), ("PADTO", 2, 16))),
    "tensor-core": Entry(lambda: matmul(16, 16, 16), (("TC", 0, 0),), limits=TC2),
    "upcastmid": Entry(image_sums, (("GROUPTOP", 0, 4), ("UPCASTMID", 0, 4))),
    "upcast-image": Entry(image_sums, (("UPCAST", 0, 4),)),
    "group-upcast-unroll": Entry(
        row_sums, (("GROUP", 0, 8), ("UPCAST", 0, 4), ("UNROLL", 1, 4), ("LOCAL", 0, 2))
    ),
    "group-sibling-reduces": Entry(two_reduces, (("GROUP", 0, 0),)),
    "group-dependent-reduces": Entry(max_of_sums, (("GROUP", 0, 4), ("GROUPTOP", 1, 4))),
    "group-half": Entry(lambda: matmul(8, 16, 8, HALF), (("GROUPTOP", 0, 4), ("UPCAST", 1, 4))),
    "bfloat16": Entry(lambda: matmul(4, 8, 4, BFLOAT16), (("UNROLL", 0, 4),)),
    "native-half": Entry(lambda: matmul(8, 16, 8, HALF), (("UPCAST", 1, 4),), target=FULL),
    "no-float4": Entry(matmul, (("UPCAST", 1, 4),), limits=PRESETS["clang"]),
    "image-float": Entry(lambda: image_sums(IMAGE_FLOAT), (("UPCAST", 0, 4),), target=MINIMAL),
}
