"""Element-wise kernels and dtypes: activations, optimisers in place, integers, bits, bools."""

from __future__ import annotations

from kernelref.ir.ast import Ast, Op
from kernelref.ir.builder import Tensor, buffer, kernel
from kernelref.ir.dtype import (
    BFLOAT16,
    BOOL,
    DOUBLE,
    FLOAT,
    HALF,
    INT8,
    INT16,
    INT32,
    INT64,
    UINT8,
    UINT32,
    UINT64,
)


def gelu() -> Ast:
    """GELU by tanh, as 2 * sigmoid(2x) - 1."""
    x = buffer(1, (30, 50))
    inner = (x + x * x * x * 0.044715) * 1.595769
    return kernel(x * inner.sigmoid())


def silu_gate() -> Ast:
    """SwiGLU: silu(a) * b."""
    a = buffer(1, (17, 88))
    return kernel(a * a.sigmoid() * buffer(2, (17, 88)))


def clamp() -> Ast:
    """Values kept between -1 and 1."""
    x = buffer(1, (777,)).maximum(-1.0)
    return kernel(-(-x).maximum(-1.0))


def sine_positions() -> Ast:
    """Positional encoding: the sine of position times frequency."""
    return kernel((buffer(1, (60, 1)) * buffer(2, (1, 32))).sin())


def dropout() -> Ast:
    """Dropout: values times a random mask, scaled."""
    kept = buffer(2, (25, 40)) > 0.1
    return kernel(kept.where(buffer(1, (25, 40)), 0.0) * (1 / 0.9))


def scalar_step() -> Ast:
    """One number from another: a kernel of a single point."""
    return kernel(buffer(1, ()) * 0.5 + 1.0)


def add_in_place() -> Ast:
    """x += y."""
    return kernel(buffer(0, (40, 31)) + buffer(1, (40, 31)))


def increment_in_place() -> Ast:
    """A step counter, counted up."""
    return kernel(buffer(0, (1,), INT32) + 1)


def sgd_in_place() -> Ast:
    """Gradient step with weight decay: w -= rate * (g + decay * w)."""
    weight, gradient = buffer(0, (24, 36)), buffer(1, (24, 36))
    return kernel(weight - (gradient + weight * 0.01) * buffer(2, (1, 1)))


def adam_in_place() -> Ast:
    """Adam: both moments and the weight, three outputs that read themselves."""
    mean, square, weight = (buffer(number, (20, 33)) for number in range(3))
    gradient = buffer(3, (20, 33))
    new_mean = mean * 0.9 + gradient * 0.1
    new_square = square * 0.999 + gradient * gradient * 0.001
    step = new_mean * buffer(4, (1, 1)) / (new_square.sqrt() + 1e-8)
    return kernel(new_mean, new_square, weight - step)


def running_mean_in_place() -> Ast:
    """Batch norm's running mean: a sum and the old value."""
    fresh = buffer(1, (14, 60)).mean(1)
    return kernel(buffer(0, (14, 1)) * 0.9 + fresh * 0.1)


def cast_half_to_float() -> Ast:
    """Half to float."""
    return kernel(buffer(1, (33, 31), HALF).cast(FLOAT))


def cast_chain() -> Ast:
    """Float to int8 to uint8 to half: each step wraps or rounds."""
    return kernel(buffer(1, (600,), INT32).cast(INT8).cast(UINT8).cast(HALF))


def half_arithmetic() -> Ast:
    """Half sums and products, rounded at each step."""
    x, y = buffer(1, (500,), HALF), buffer(2, (500,), HALF)
    return kernel((x + y) * x - y)


def half_sum() -> Ast:
    """Rows of half values summed in half."""
    return kernel(buffer(1, (20, 64), HALF).sum(1))


def bfloat16_scale() -> Ast:
    """bfloat16 values scaled and shifted."""
    return kernel(buffer(1, (420,), BFLOAT16) * 1.5 + 0.25)


def double_norm() -> Ast:
    """The root of a sum of squares, in double."""
    x = buffer(1, (15, 90), DOUBLE)
    return kernel((x * x).sum(1).sqrt())


def image_normalise() -> Ast:
    """Bytes of an image to floats around 0."""
    pixels = buffer(1, (20, 20, 3), UINT8).cast(FLOAT)
    return kernel((pixels * (1 / 255) - buffer(2, (3,))) * buffer(3, (3,)))


def int8_wraps() -> Ast:
    """8-bit sums and products, which wrap."""
    x = buffer(1, (512,), INT8)
    return kernel(x * 3 + x)


def int16_maximum() -> Ast:
    """The maximum of 16-bit rows, negative ones too."""
    return kernel(buffer(1, (25, 40), INT16).max(1))


def uint8_sum_wraps() -> Ast:
    """A sum of bytes in 8 bits."""
    return kernel(buffer(1, (16, 100), UINT8).sum(1))


def int_sum_of_long() -> Ast:
    """A sum in 64 bits."""
    return kernel(buffer(1, (12, 75), INT64).sum(1))


def int_divide_and_remainder() -> Ast:
    """Indices split into row and column, and put together again."""
    x = buffer(1, (640,), INT32)
    return kernel(x // 7 * 100 + x % 7)


def uint64_remainder() -> Ast:
    """A remainder of large unsigned numbers."""
    return kernel(buffer(1, (300,), UINT64) % 1_000_003)


def random_bits_round() -> Ast:
    """One round of a counter-based random generator: add, rotate, xor."""
    x, y = buffer(1, (900,), UINT32), buffer(2, (900,), UINT32)
    total = x + y
    turned = y.apply(Op.SHL, 13) + y.apply(Op.SHR, 19)
    return kernel(total ^ turned)


def uniform_from_bits() -> Ast:
    """Random bits to floats in [0, 1): exponent of 1, mantissa of the bits, minus 1."""
    bits = buffer(1, (700,), UINT32).apply(Op.SHR, 9) + 0x3F800000
    return kernel(bits.bitcast(FLOAT) - 1.0)


def sign_bit() -> Ast:
    """Whether a float's sign bit is set, by its bits."""
    return kernel(buffer(1, (333,)).bitcast(INT32) < 0)


def bool_any() -> Ast:
    """Whether any of a row is above a threshold: a sum over bools is or."""
    return kernel((buffer(1, (30, 41)) > 0.5).sum(1))


def bool_all() -> Ast:
    """Whether all of a row is below a threshold."""
    return kernel((buffer(1, (30, 41)) > 0.5).sum(1).differs(True))


def bool_maximum() -> Ast:
    """Whether any of a row is set, as a maximum."""
    return kernel(buffer(1, (22, 19), BOOL).max(1))


def bool_logic() -> Ast:
    """and, or, exclusive or of masks, as the releases write them."""
    a, b, c = (buffer(number, (480,), BOOL) for number in (1, 2, 3))
    return kernel((a * b + c) ^ a)


def bool_count() -> Ast:
    """How many of a row are set: cast first, then sum."""
    return kernel(buffer(1, (26, 35), BOOL).cast(INT32).sum(1))


def nan_test() -> Ast:
    """Which values are not equal to themselves."""
    x = buffer(1, (300,)) / buffer(2, (300,))
    return kernel(x.differs(x).where(0.0, x))


def subtract_and_divide() -> Ast:
    """Normalisation as 0.8.0 and 0.9.0 write it, with SUB, DIV and CMPEQ."""
    centred = buffer(1, (16, 24)).apply(Op.SUB, buffer(2, (16, 1)))
    divided = centred.apply(Op.DIV, buffer(3, (16, 1)))
    return kernel(divided.apply(Op.CMPEQ, 0.0).where(1.0, divided))


def multiply_accumulate() -> Ast:
    """a * b + c as one op."""
    a, b, c = (buffer(number, (23, 18)) for number in (1, 2, 3))
    return kernel(a.apply(Op.MULACC, b, c))


def powers() -> Ast:
    """x ** y of positive x, by exp2 and log2."""
    x: Tensor = buffer(1, (256,)).maximum(1e-3)
    return kernel((x.apply(Op.LOG2) * buffer(2, (256,))).exp2())


SEEDS = (
    gelu, silu_gate, clamp, sine_positions, dropout, scalar_step, add_in_place, increment_in_place,
    sgd_in_place, adam_in_place, running_mean_in_place, cast_half_to_float, cast_chain,
    half_arithmetic, half_sum, bfloat16_scale, double_norm, image_normalise, int8_wraps,
    int16_maximum, uint8_sum_wraps, int_sum_of_long, int_divide_and_remainder, uint64_remainder,
    random_bits_round, uniform_from_bits, sign_bit, bool_any, bool_all, bool_maximum, bool_logic,
    bool_count, nan_test, subtract_and_divide, multiply_accumulate, powers,
)  # fmt: skip
