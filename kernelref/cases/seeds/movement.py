"""Counting and moving: arange and cumulative sums, concatenation, flips, transposes, windows."""

from __future__ import annotations

from kernelref.cases.seeds.convolution import patches
from kernelref.ir.ast import Ast
from kernelref.ir.builder import Tensor, buffer, constant, kernel
from kernelref.ir.dtype import FLOAT, INT32, UINT8


def triangle(n: int) -> Tensor:
    """1 where column <= row, else 0. Shapes: (n, n)."""
    return constant(1, (n,), INT32).pad([(n - 1, 0)]).windows(n).flip(1)


def joined(axis: int, *parts: Tensor) -> Tensor:
    """Parts one after the other along an axis, each padded to the whole and added."""
    total, whole = 0, sum(_extent(part, axis) for part in parts)
    padded = []
    for part in parts:
        edges = [(0, 0)] * len(part.shape)
        edges[axis] = (total, whole - total - _extent(part, axis))
        padded.append(part.pad(edges))
        total += _extent(part, axis)
    result = padded[0]
    for part in padded[1:]:
        result = result + part
    return result


def _extent(part: Tensor, axis: int) -> int:
    extent = part.shape[axis]
    assert isinstance(extent, int)
    return extent


def arange() -> Ast:
    """0, 1, ..., 255 as sums of ones under a triangle."""
    return kernel(triangle(256).sum(1) + -1)


def arange_by_step() -> Ast:
    """100, 97, 94, ... as float: sums of a masked constant, then scaled."""
    return kernel(triangle(67).cast(FLOAT).sum(1) * -3.0 + 103.0)


def arange_uchar() -> Ast:
    """A count that wraps at 256, as unsigned 8-bit sums."""
    ones = constant(1, (300,), UINT8).pad([(299, 0)]).windows(300)
    return kernel(ones.sum(1))


def cumulative_sum() -> Ast:
    """Running sums along rows: windows over a row that is padded by zeros."""
    return kernel(buffer(1, (8, 64)).pad([(0, 0), (63, 0)]).windows(64).sum(2))


def cumulative_sum_of_columns() -> Ast:
    """Running sums down columns."""
    columns = buffer(1, (50, 9)).permute(1, 0).pad([(0, 0), (49, 0)]).windows(50)
    return kernel(columns.sum(2).permute(1, 0, 2))


def concat_rows() -> Ast:
    """Two matrices, one below the other."""
    return kernel(joined(0, buffer(1, (20, 15)), buffer(2, (13, 15))))


def concat_columns() -> Ast:
    """Three matrices side by side."""
    parts = [buffer(1 + i, (21, width)) for i, width in enumerate((5, 16, 3))]
    return kernel(joined(1, *parts))


def concat_channels_relu() -> Ast:
    """Skip connection: channels of two tensors joined, then ReLU."""
    first, second = buffer(1, (2, 8, 9, 9)), buffer(2, (2, 5, 9, 9))
    return kernel(joined(1, first, second).relu())


def stack() -> Ast:
    """Four vectors as the rows of a matrix."""
    return kernel(joined(0, *(buffer(1 + i, (1, 70)) for i in range(4))))


def roll() -> Ast:
    """Rows moved by 3 places, the last ones to the front."""
    x = buffer(1, (17, 24))
    return kernel(joined(1, x.shrink([(0, 17), (21, 24)]), x.shrink([(0, 17), (0, 21)])))


def flip_both() -> Ast:
    """A matrix turned by 180 degrees, scaled."""
    return kernel(buffer(1, (31, 22)).flip(0, 1) * 2.0)


def flip_added() -> Ast:
    """A matrix plus itself mirrored: one buffer under two views."""
    x = buffer(1, (19, 40))
    return kernel(x + x.flip(1))


def transpose() -> Ast:
    """Transposed copy."""
    return kernel(buffer(1, (63, 45)).permute(1, 0))


def transpose_to_channels_last() -> Ast:
    """Images from channels first to channels last, plus a bias by channel."""
    return kernel(buffer(1, (2, 7, 12, 12)).permute(0, 2, 3, 1) + buffer(2, (7,)))


def repeat() -> Ast:
    """A matrix tiled 3 times down and 2 times across."""
    tiled = buffer(1, (1, 11, 1, 14)).expand((3, 11, 2, 14))
    return kernel(tiled.reshape((33, 28)))


def upsample() -> Ast:
    """Nearest-neighbour upsampling by 2."""
    wide = buffer(1, (3, 10, 1, 10, 1)).expand((3, 10, 2, 10, 2))
    return kernel(wide.reshape((3, 20, 20)))


def pixel_shuffle() -> Ast:
    """Depth to space: 4 channels become a 2x2 block of points."""
    blocks = buffer(1, (1, 3, 2, 2, 9, 9)).permute(0, 1, 4, 2, 5, 3)
    return kernel(blocks.reshape((1, 3, 18, 18)))


def every_third_reversed() -> Ast:
    """Every third column, from the right."""
    return kernel(buffer(1, (14, 50)).stride(1, -3))


def diagonal() -> Ast:
    """The diagonal of a matrix: flat, padded, and the first column."""
    flat = buffer(1, (24, 24)).reshape((576,)).pad([(0, 24)]).reshape((24, 25))
    return kernel(flat.shrink([(0, 24), (0, 1)]))


def image_to_columns() -> Ast:
    """3x3 patches of an image, written out."""
    seen = patches(buffer(1, (1, 3, 12, 12)), 3, 3).permute(0, 2, 3, 1, 4, 5)
    return kernel(seen)


def crop_and_pad() -> Ast:
    """An image moved by 2 points each way, zeros where nothing came."""
    x = buffer(1, (3, 16, 16)).shrink([(0, 3), (0, 14), (2, 16)])
    return kernel(x.pad([(0, 0), (2, 0), (0, 2)]))


def padded_reshaped() -> Ast:
    """A mask that a reshape cuts across: two views that cannot merge."""
    padded = buffer(1, (9, 10)).pad([(1, 2), (0, 2)])
    return kernel(padded.reshape((16, 9)).permute(1, 0) + 1.0)


def upper_triangle() -> Ast:
    """A matrix with zeros below its diagonal."""
    below = triangle(37).shrink([(0, 36), (0, 37)]).pad([(1, 0), (0, 0)])
    return kernel(below.differs(0).where(0.0, buffer(1, (37, 37))))


SEEDS = (
    arange, arange_by_step, arange_uchar, cumulative_sum, cumulative_sum_of_columns, concat_rows,
    concat_columns, concat_channels_relu, stack, roll, flip_both, flip_added, transpose,
    transpose_to_channels_last, repeat, upsample, pixel_shuffle, every_third_reversed, diagonal,
    image_to_columns, crop_and_pad, padded_reshaped, upper_triangle,
)  # fmt: skip
