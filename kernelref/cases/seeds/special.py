"""Several outputs, several reductions, images and symbolic extents."""

from __future__ import annotations

from kernelref.ir.ast import Ast
from kernelref.ir.builder import Tensor, buffer, constant, kernel
from kernelref.ir.dtype import FLOAT, HALF, IMAGE_FLOAT, IMAGE_HALF, INT32, DType, image
from kernelref.ir.index import Var
from kernelref.ir.shapetracker import ShapeTracker


def sum_and_product() -> Ast:
    """Two outputs from the same loads."""
    x, y = buffer(2, (35, 22)), buffer(3, (35, 22))
    return kernel(x + y, x * y)


def sum_twice() -> Ast:
    """A row sum stored as float and as half."""
    total = buffer(2, (24, 65)).sum(1)
    return kernel(total, total.cast(HALF))


def outputs_transposed() -> Ast:
    """One value stored row-major and column-major."""
    x = buffer(2, (18, 27)) * 2.0
    return kernel(x, x, places={1: ShapeTracker.from_shape((27, 18)).permute((1, 0))})


def outputs_of_two_reduces() -> Ast:
    """Sum and maximum of the same rows, each to its own output."""
    x = buffer(2, (20, 57))
    return kernel(x.sum(1), x.max(1))


def sum_plus_max() -> Ast:
    """Sibling reductions of one buffer over the same axis."""
    x = buffer(1, (28, 44))
    return kernel(x.sum(1) + x.max(1))


def variance_in_one_kernel() -> Ast:
    """Mean of squares minus square of the mean: two sums of one buffer."""
    x = buffer(1, (16, 50))
    mean = x.mean(1)
    return kernel((x * x).mean(1) - mean * mean)


def two_products() -> Ast:
    """a @ b + c @ d: sibling sums over one inner axis, four buffers."""
    left = buffer(1, (14, 20)) @ buffer(2, (20, 18))
    return kernel(left + buffer(3, (14, 20)) @ buffer(4, (20, 18)))


def siblings_over_two_axes() -> Ast:
    """Sums over different axes that land on one shape.

    The first sum's own source has extent 1 on the axis that the second one sums, and the other way
    round: neither may be summed over the other's axis.
    """
    first = buffer(1, (12, 15, 1)).sum(1)
    return kernel(first + buffer(2, (12, 1, 9)).sum(2))


def extent_one_on_a_summed_axis() -> Ast:
    """A maximum whose own source has extent 1 on an axis that the other reduction sums."""
    return kernel(buffer(1, (10, 8, 11)).sum(1, 2) + buffer(2, (10, 8, 1)).max(1))


def max_of_sums() -> Ast:
    """Dependent reductions: sums over k land on (n, m, 1), then the maximum over m."""
    return kernel(buffer(1, (9, 13, 21)).sum(2).max(1))


def max_of_product() -> Ast:
    """The largest score of each query: a matrix product, then the maximum over keys."""
    return kernel((buffer(1, (12, 16)) @ buffer(2, (16, 18))).max(1))


def sum_of_maxima() -> Ast:
    """Pooling, then a total: maxima over windows, summed over windows."""
    return kernel(buffer(1, (11, 40)).windows(4, 4).max(2).sum(1))


def sum_of_squared_sums() -> Ast:
    """A dependent sum with arithmetic between, over the same axis type but another extent."""
    sums = buffer(1, (7, 19, 12)).sum(2)
    return kernel((sums * sums).sum(1) * buffer(2, (7, 1, 1)))


def dependent_and_sibling() -> Ast:
    """A dependent reduction beside a sibling that sums both axes at once."""
    x = buffer(1, (6, 14, 10))
    return kernel(x.sum(2).max(1) + x.sum(1, 2))


def _image(number: int, shape: tuple[int, ...], rows: int, base: DType = IMAGE_HALF) -> Tensor:
    count = 1
    for extent in shape:
        count *= extent
    return buffer(number, shape, image(base, (rows, count // rows // 4, 4)))


def image_conv_1x1() -> Ast:
    """1x1 convolution over half images: 32 channels to 24, in vectors of 4."""
    height, width, inputs, outputs = 8, 12, 8, 6
    x = _image(1, (height, width, 1, 1, inputs, 4), height)
    weight = _image(2, (1, 1, outputs, inputs, 4, 4), outputs).permute(0, 1, 2, 5, 3, 4)
    result = image(IMAGE_HALF, (height, width * outputs, 4))
    total = (x * weight.cast(x.dtype)).cast(result).sum(4, 5)
    bias = buffer(3, (1, 1, outputs, 4, 1, 1))
    return kernel((total + bias.cast(result)).relu())


def image_add() -> Ast:
    """Two half images added, ReLU."""
    shape = (16, 20, 4)
    return kernel((_image(1, shape, 16) + _image(2, shape, 16)).relu())


def image_to_buffer() -> Ast:
    """A float image copied into a buffer, transposed to channels first."""
    x = _image(1, (10, 12, 8), 10, IMAGE_FLOAT)
    return kernel(x.permute(2, 0, 1).cast(FLOAT))


def buffer_to_image() -> Ast:
    """A buffer of channels-first values written into a half image."""
    x = buffer(1, (8, 10, 12)).permute(1, 2, 0)
    return kernel(x.cast(image(IMAGE_HALF, (10, 24, 4))))


def image_average() -> Ast:
    """The mean over all points of an image, by channel."""
    x = _image(1, (14, 9, 4, 4), 14, IMAGE_FLOAT)
    return kernel(x.mean(0, 1).cast(FLOAT))


def image_depthwise() -> Ast:
    """Depthwise convolution along the width of a half image, padded."""
    x = _image(1, (6, 16, 5, 4), 6).permute(0, 2, 3, 1).pad([(0, 0)] * 3 + [(1, 1)])
    weight = buffer(2, (5, 4, 1, 3)).reshape((1, 5, 4, 1, 3))
    total = (x.windows(3).cast(FLOAT) * weight).sum(4).permute(0, 3, 1, 2, 4)
    return kernel(total.cast(image(IMAGE_HALF, (6, 80, 4))))


POSITION = Var("start_pos", 1, 127)


def symbolic_scores() -> Ast:
    """Attention scores of one token against all tokens so far."""
    queries = buffer(1, (1, 8, 1, 1, 16)).expand((1, 8, 1, POSITION + 1, 16))
    keys = buffer(2, (1, 128, 8, 16)).shrink([(0, 1), (0, POSITION + 1), (0, 8), (0, 16)])
    keys = keys.permute(0, 2, 1, 3).reshape((1, 8, 1, POSITION + 1, 16))
    return kernel((queries * keys).sum(4) * 0.25)


def symbolic_softmax_max() -> Ast:
    """The largest score of each head, over a symbolic number of tokens."""
    return kernel(buffer(1, (8, POSITION + 1)).max(1))


def symbolic_softmax_sum() -> Ast:
    """The sum of exp(x - max) over a symbolic number of tokens."""
    return kernel((buffer(1, (8, POSITION + 1)) - buffer(2, (8, 1))).exp().sum(1))


def symbolic_values() -> Ast:
    """Attention weights by values, over a symbolic number of tokens."""
    weights = buffer(1, (8, 1, POSITION + 1)).expand((8, 16, POSITION + 1))
    values = buffer(2, (128, 8, 16)).shrink([(0, POSITION + 1), (0, 8), (0, 16)])
    return kernel((weights * values.permute(1, 2, 0)).sum(2))


def symbolic_cache() -> Ast:
    """The cache of keys and one more: two parts padded to a symbolic whole and added."""
    old = buffer(1, (128, 24)).shrink([(0, POSITION), (0, 24)]).pad([(0, 1), (0, 0)])
    return kernel(old + buffer(2, (1, 24)).pad([(POSITION, 0), (0, 0)]))


def symbolic_offset() -> Ast:
    """One row of a table, at a symbolic place."""
    row = buffer(1, (128, 40)).shrink([(POSITION, POSITION + 1), (0, 40)])
    return kernel(row * 2.0)


def symbolic_constant() -> Ast:
    """A symbolic number added to every value."""
    return kernel(buffer(1, (50,), INT32) + constant(POSITION, (50,), INT32))


SEEDS = (
    sum_and_product, sum_twice, outputs_transposed, outputs_of_two_reduces, sum_plus_max,
    variance_in_one_kernel, two_products, siblings_over_two_axes, extent_one_on_a_summed_axis,
    max_of_sums, max_of_product, sum_of_maxima, sum_of_squared_sums, dependent_and_sibling,
    image_conv_1x1, image_add, image_to_buffer, buffer_to_image, image_average, image_depthwise,
    symbolic_scores, symbolic_softmax_max, symbolic_softmax_sum, symbolic_values, symbolic_cache,
    symbolic_offset, symbolic_constant,
)  # fmt: skip
