"""Convolutions and pooling, forward and backward."""

from __future__ import annotations

import math

from kernelref.ir.ast import Ast
from kernelref.ir.builder import Tensor, buffer, constant, kernel
from kernelref.ir.dtype import FLOAT, HALF


def patches(x: Tensor, rows: int, columns: int, step: int = 1) -> Tensor:
    """Shapes: (n, c, h, w) -> (n, c, y, x, rows, columns)."""
    wide = x.windows(columns, step).permute(0, 1, 3, 4, 2)
    return wide.windows(rows, step).permute(0, 1, 4, 2, 5, 3)


def convolved(x: Tensor, weight: Tensor, step: int = 1) -> Tensor:
    """Shapes: (n, c, h, w) by (o, c, rows, columns) -> (n, o, y, x, 1, 1, 1)."""
    outputs, channels, rows, columns = weight.shape
    assert isinstance(rows, int)
    assert isinstance(columns, int)
    seen = patches(x, rows, columns, step).permute(0, 2, 3, 1, 4, 5)
    n, height, width = seen.shape[:3]
    seen = seen.reshape((n, 1, height, width, channels, rows, columns))
    return (seen * weight.reshape((1, outputs, 1, 1, channels, rows, columns))).sum(4, 5, 6)


def conv2d() -> Ast:
    """3x3 convolution, 8 channels to 12."""
    return kernel(convolved(buffer(1, (2, 8, 14, 14)), buffer(2, (12, 8, 3, 3))))


def conv2d_bias_relu() -> Ast:
    """3x3 convolution that keeps the size: zero padding, bias, ReLU."""
    padded = buffer(1, (1, 6, 15, 13)).pad([(0, 0), (0, 0), (1, 1), (1, 1)])
    bias = buffer(3, (10,)).reshape((1, 10, 1, 1, 1, 1, 1))
    return kernel((convolved(padded, buffer(2, (10, 6, 3, 3))) + bias).relu())


def conv2d_strided() -> Ast:
    """5x5 convolution by steps of 2 over an image of 3 channels."""
    return kernel(convolved(buffer(1, (1, 3, 29, 29)), buffer(2, (8, 3, 5, 5)), 2))


def conv2d_1x1() -> Ast:
    """1x1 convolution: a product over channels."""
    return kernel(convolved(buffer(1, (2, 24, 9, 9)), buffer(2, (20, 24, 1, 1))))


def conv2d_half() -> Ast:
    """Half convolution, accumulated in float."""
    x, weight = buffer(1, (1, 8, 12, 12), HALF), buffer(2, (8, 8, 3, 3), HALF)
    return kernel(convolved(x.cast(FLOAT), weight.cast(FLOAT)).cast(HALF))


def conv2d_depthwise() -> Ast:
    """Depthwise 3x3 convolution: each channel has its own filter."""
    seen = patches(buffer(1, (1, 24, 16, 16)).pad([(0, 0), (0, 0), (1, 1), (1, 1)]), 3, 3)
    return kernel((seen * buffer(2, (1, 24, 1, 1, 3, 3))).sum(4, 5))


def conv2d_grouped() -> Ast:
    """3x3 convolution in 4 groups of 3 channels to 2."""
    seen = patches(buffer(1, (1, 12, 11, 11)), 3, 3).reshape((4, 3, 9, 9, 3, 3))
    seen = seen.permute(0, 2, 3, 1, 4, 5).reshape((4, 1, 9, 9, 3, 3, 3))
    weight = buffer(2, (4, 2, 3, 3, 3)).reshape((4, 2, 1, 1, 3, 3, 3))
    return kernel((seen * weight).sum(4, 5, 6))


def conv2d_dilated() -> Ast:
    """3x3 convolution that looks at every second point."""
    seen = patches(buffer(1, (1, 4, 18, 18)), 5, 5).stride(1, 1, 1, 1, 2, 2)
    seen = seen.permute(0, 2, 3, 1, 4, 5).reshape((1, 1, 14, 14, 4, 3, 3))
    return kernel(
        (seen * buffer(2, (6, 1, 1, 4, 3, 3)).reshape((1, 6, 1, 1, 4, 3, 3))).sum(4, 5, 6)
    )


def conv2d_weight_gradient() -> Ast:
    """Gradient of a convolution's weight: images by output gradients, summed over the batch."""
    seen = patches(buffer(1, (4, 5, 12, 12)), 10, 10).permute(1, 2, 3, 0, 4, 5)
    gradient = buffer(2, (4, 6, 10, 10)).permute(1, 0, 2, 3).reshape((6, 1, 1, 1, 4, 10, 10))
    return kernel((seen.reshape((1, 5, 3, 3, 4, 10, 10)) * gradient).sum(4, 5, 6))


def conv2d_input_gradient() -> Ast:
    """Gradient of a convolution's input: padded output gradients by flipped filters."""
    gradient = buffer(1, (2, 6, 9, 9)).pad([(0, 0), (0, 0), (2, 2), (2, 2)])
    flipped = buffer(2, (6, 5, 3, 3)).permute(1, 0, 2, 3).flip(2, 3)
    return kernel(convolved(gradient, flipped))


def conv2d_transposed() -> Ast:
    """Transposed convolution by steps of 2: zeros between points, then a convolution."""
    spread = buffer(1, (1, 4, 7, 1, 7, 1)).pad([(0, 0)] * 3 + [(0, 1), (0, 0), (0, 1)])
    spread = spread.reshape((1, 4, 14, 14)).shrink([(0, 1), (0, 4), (0, 13), (0, 13)])
    spread = spread.pad([(0, 0), (0, 0), (2, 2), (2, 2)])
    return kernel(convolved(spread, buffer(2, (4, 6, 3, 3)).permute(1, 0, 2, 3).flip(2, 3)))


def conv1d() -> Ast:
    """1-d convolution over sound, window 10 by steps of 5."""
    seen = buffer(1, (2, 3, 400)).windows(10, 5).permute(0, 2, 1, 3).reshape((2, 1, 79, 3, 10))
    return kernel((seen * buffer(2, (8, 3, 10)).reshape((1, 8, 1, 3, 10))).sum(3, 4))


def max_pool() -> Ast:
    """2x2 maximum by steps of 2."""
    return kernel(patches(buffer(1, (2, 8, 18, 18)), 2, 2, 2).max(4, 5))


def max_pool_padded() -> Ast:
    """3x3 maximum by steps of 2, where padding counts as minus infinity."""
    edges = [(0, 0), (0, 0), (1, 1), (1, 1)]
    x = buffer(1, (1, 6, 13, 13))
    outside = constant(1.0, x.shape).pad(edges).differs(1.0)
    return kernel(patches(outside.where(-math.inf, x.pad(edges)), 3, 3, 2).max(4, 5))


def max_pool_gradient() -> Ast:
    """Gradient of a 2x2 maximum: it goes to where the maximum was."""
    x = buffer(1, (2, 6, 8, 2, 8, 2))
    largest = buffer(2, (2, 6, 8, 1, 8, 1))
    return kernel(x.equal(largest).where(buffer(3, (2, 6, 8, 1, 8, 1)), 0.0))


def average_pool() -> Ast:
    """3x3 mean by steps of 3."""
    return kernel(patches(buffer(1, (2, 6, 15, 15)), 3, 3, 3).mean(4, 5))


def average_pool_padded() -> Ast:
    """3x3 mean over a zero-padded image, divided by the points that are inside."""
    edges = [(0, 0), (0, 0), (1, 1), (1, 1)]
    total = patches(buffer(1, (1, 5, 12, 12)).pad(edges), 3, 3).sum(4, 5)
    count = patches(constant(1.0, (1, 5, 12, 12)).pad(edges), 3, 3).sum(4, 5)
    return kernel(total / count)


def global_average_pool() -> Ast:
    """Mean over all points of each channel."""
    return kernel(buffer(1, (3, 20, 17, 17)).mean(2, 3))


SEEDS = (
    conv2d, conv2d_bias_relu, conv2d_strided, conv2d_1x1, conv2d_half, conv2d_depthwise,
    conv2d_grouped, conv2d_dilated, conv2d_weight_gradient, conv2d_input_gradient,
    conv2d_transposed, conv1d, max_pool, max_pool_padded, max_pool_gradient, average_pool,
    average_pool_padded, global_average_pool,
)  # fmt: skip
