"""Matrix products: what linear layers, attention and their gradients multiply."""

from __future__ import annotations

from kernelref.ir.ast import Ast
from kernelref.ir.builder import Tensor, buffer, constant, kernel
from kernelref.ir.dtype import BFLOAT16, DOUBLE, FLOAT, HALF, INT8, INT32, DType


def _product(n: int, m: int, k: int, dtype: DType = FLOAT) -> tuple[Tensor, Tensor]:
    """Operands at shape (n, m, k)."""
    left = buffer(1, (n, k), dtype).reshape((n, 1, k)).expand((n, m, k))
    right = buffer(2, (k, m), dtype).permute(1, 0).reshape((1, m, k)).expand((n, m, k))
    return left, right


def matmul() -> Ast:
    """Matrix product, 96x80 by 80x72."""
    return kernel(buffer(1, (96, 80)) @ buffer(2, (80, 72)))


def matmul_odd_sizes() -> Ast:
    """Matrix product whose extents are primes, 37x53 by 53x29."""
    return kernel(buffer(1, (37, 53)) @ buffer(2, (53, 29)))


def matmul_bias_relu() -> Ast:
    """Linear layer: product, bias and ReLU in one kernel."""
    bias = buffer(3, (48,)).reshape((1, 48, 1)).expand((32, 48, 1))
    return kernel(((buffer(1, (32, 64)) @ buffer(2, (64, 48))) + bias).relu())


def matmul_batched() -> Ast:
    """Batched matrix product, 6 times 20x24 by 24x28."""
    return kernel(buffer(1, (6, 20, 24)) @ buffer(2, (6, 24, 28)))


def matmul_shared_right() -> Ast:
    """Batched matrix product with one right operand for the batch."""
    return kernel(buffer(1, (5, 18, 24)) @ buffer(2, (1, 24, 16)))


def matmul_weight_gradient() -> Ast:
    """Gradient of a linear layer's weight: transposed input by output gradient."""
    return kernel(buffer(1, (40, 30)).permute(1, 0) @ buffer(2, (40, 26)))


def matmul_input_gradient() -> Ast:
    """Gradient of a linear layer's input: output gradient by transposed weight."""
    return kernel(buffer(1, (40, 26)) @ buffer(2, (30, 26)).permute(1, 0))


def matmul_gram() -> Ast:
    """A matrix by its own transpose: one buffer read by two views."""
    x = buffer(1, (44, 36))
    return kernel(x @ x.permute(1, 0))


def matmul_of_three() -> Ast:
    """Bilinear form, sum over k of x[n, k] * scale[k] * w[k, m]."""
    scaled = buffer(1, (24, 40)) * buffer(3, (40,))
    return kernel(scaled @ buffer(2, (40, 32)))


def matmul_half() -> Ast:
    """Half product accumulated in float and stored as half."""
    left, right = _product(32, 48, 40, HALF)
    return kernel((left * right).cast(FLOAT).sum(2).cast(HALF))


def matmul_half_accumulated_in_half() -> Ast:
    """Half product that rounds to half at every step."""
    return kernel(buffer(1, (16, 24), HALF) @ buffer(2, (24, 20), HALF))


def matmul_half_tiles() -> Ast:
    """Half product in whole 16x16x16 tiles, accumulated and stored in float."""
    left, right = _product(64, 48, 32, HALF)
    return kernel((left * right).cast(FLOAT).sum(2))


def matmul_half_no_tiles() -> Ast:
    """Half product whose extents are no multiples of a tensor core's tile."""
    left, right = _product(39, 21, 27, HALF)
    return kernel((left * right).cast(FLOAT).sum(2))


def matmul_bfloat16() -> Ast:
    """bfloat16 product accumulated in float."""
    left, right = _product(24, 32, 48, BFLOAT16)
    return kernel((left * right).cast(FLOAT).sum(2).cast(BFLOAT16))


def matmul_int8() -> Ast:
    """Quantised product: int8 operands widened to int before they are multiplied."""
    left, right = _product(28, 36, 64, INT8)
    return kernel((left.cast(INT32) * right.cast(INT32)).sum(2))


def matmul_int8_weights() -> Ast:
    """Product with int8 weights, each row scaled by a float."""
    left = buffer(1, (16, 48)).reshape((16, 1, 48)).expand((16, 40, 48))
    weights = buffer(2, (40, 48), INT8).cast(FLOAT) * buffer(3, (40, 1))
    return kernel((left * weights.reshape((1, 40, 48))).sum(2))


def matmul_double() -> Ast:
    """Product in double."""
    return kernel(buffer(1, (24, 30), DOUBLE) @ buffer(2, (30, 18), DOUBLE))


def matvec() -> Ast:
    """Matrix by vector, 272 rows of 384: what a language model does for one token."""
    return kernel((buffer(1, (384,)).reshape((1, 384)) * buffer(2, (272, 384))).sum(1))


def matvec_odd_sizes() -> Ast:
    """Matrix by vector whose extents divide by no power of 2."""
    return kernel((buffer(1, (255,)).reshape((1, 255)) * buffer(2, (171, 255))).sum(1))


def vector_matrix() -> Ast:
    """Vector by matrix: the reduced axis is the outer one in memory."""
    weights = buffer(2, (288, 208)).permute(1, 0)
    return kernel((buffer(1, (288,)).reshape((1, 288)) * weights).sum(1))


def dot() -> Ast:
    """Dot product of two vectors, one output."""
    return kernel((buffer(1, (4096,)) * buffer(2, (4096,))).sum())


def outer_product() -> Ast:
    """Outer product, nothing to sum."""
    return kernel(buffer(1, (120,)).reshape((120, 1)) * buffer(2, (91,)))


def matmul_of_masked() -> Ast:
    """Product with an operand that is zero-padded on both axes."""
    left = buffer(1, (30, 21)).pad([(1, 1), (2, 1)])
    return kernel(left @ buffer(2, (24, 20)))


def matmul_by_constant() -> Ast:
    """Product with a constant matrix: sums of scaled rows."""
    return kernel(buffer(1, (40, 33)) @ constant(0.5, (33, 12)))


SEEDS = (
    matmul, matmul_odd_sizes, matmul_bias_relu, matmul_batched, matmul_shared_right,
    matmul_weight_gradient, matmul_input_gradient, matmul_gram, matmul_of_three, matmul_half,
    matmul_half_accumulated_in_half, matmul_half_tiles, matmul_half_no_tiles, matmul_bfloat16,
    matmul_int8, matmul_int8_weights, matmul_double, matvec, matvec_odd_sizes, vector_matrix, dot,
    outer_product, matmul_of_masked, matmul_by_constant,
)  # fmt: skip
