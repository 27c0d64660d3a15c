"""Normalisation, softmax, losses, attention and embeddings, kernel by kernel."""

from __future__ import annotations

from kernelref.cases.seeds.movement import triangle
from kernelref.ir.ast import Ast
from kernelref.ir.builder import Tensor, buffer, kernel
from kernelref.ir.dtype import BOOL, FLOAT, HALF, INT32

ROWS, COLUMNS = 48, 77


def softmax_max() -> Ast:
    """Softmax, first kernel: the maximum of each row."""
    return kernel(buffer(1, (ROWS, COLUMNS)).max(1))


def softmax_sum() -> Ast:
    """Softmax, second kernel: the sum of exp(x - max)."""
    return kernel((buffer(1, (ROWS, COLUMNS)) - buffer(2, (ROWS, 1))).exp().sum(1))


def softmax_normalise() -> Ast:
    """Softmax, third kernel: exp(x - max) / sum."""
    shifted = buffer(1, (ROWS, COLUMNS)) - buffer(2, (ROWS, 1))
    return kernel(shifted.exp() / buffer(3, (ROWS, 1)))


def softmax_half() -> Ast:
    """Softmax of half values, computed in float."""
    shifted = buffer(1, (24, 100), HALF).cast(FLOAT) - buffer(2, (24, 1), HALF).cast(FLOAT)
    return kernel((shifted.exp() / buffer(3, (24, 1))).cast(HALF))


def softmax_gradient() -> Ast:
    """Gradient of softmax: y * (g - sum of g*y), the sum given."""
    y, gradient, total = buffer(1, (30, 50)), buffer(2, (30, 50)), buffer(3, (30, 1))
    return kernel(y * (gradient - total))


def log_softmax() -> Ast:
    """Log-softmax from the maximum and the sum."""
    shifted = buffer(1, (ROWS, 10)) - buffer(2, (ROWS, 1))
    return kernel(shifted - buffer(3, (ROWS, 1)).log())


def layernorm_mean() -> Ast:
    """Layer norm, first kernel: the mean of each row."""
    return kernel(buffer(1, (6, 25, 96)).mean(2))


def layernorm_variance() -> Ast:
    """Layer norm, second kernel: 1 / sqrt(mean((x - mean)^2) + eps)."""
    centred = buffer(1, (6, 25, 96)) - buffer(2, (6, 25, 1))
    return kernel(((centred * centred).mean(2) + 1e-5).sqrt().reciprocal())


def layernorm_apply() -> Ast:
    """Layer norm, third kernel: (x - mean) * scale * weight + bias."""
    centred = buffer(1, (6, 25, 96)) - buffer(2, (6, 25, 1))
    return kernel(centred * buffer(3, (6, 25, 1)) * buffer(4, (96,)) + buffer(5, (96,)))


def rmsnorm() -> Ast:
    """RMS norm: 1 / sqrt(mean(x^2) + eps)."""
    x = buffer(1, (18, 160))
    return kernel(((x * x).mean(1) + 1e-6).sqrt().reciprocal())


def batchnorm_mean() -> Ast:
    """Batch norm: the mean of each channel, over batch and points."""
    return kernel(buffer(1, (5, 12, 9, 9)).mean(0, 2, 3))


def batchnorm_apply() -> Ast:
    """Batch norm, scale and shift by channel, and ReLU."""

    def channel(number: int) -> Tensor:
        return buffer(number, (12,)).reshape((1, 12, 1, 1))

    x = buffer(1, (3, 12, 9, 9))
    return kernel(((x - channel(2)) * channel(3) * channel(4) + channel(5)).relu())


def cross_entropy() -> Ast:
    """Cross entropy: minus the log-probability of each row's label, by compare and sum."""
    labels, classes = buffer(2, (64, 1), INT32), buffer(3, (1, 10), INT32)
    return kernel(labels.equal(classes).where(-buffer(1, (64, 10)), 0.0).sum(1))


def cross_entropy_mean() -> Ast:
    """The mean loss, ignoring rows whose label is -1."""
    counted = buffer(2, (64,), INT32).differs(-1)
    return kernel(counted.where(buffer(1, (64,)), 0.0).sum() * (1.0 / 64))


def cross_entropy_gradient() -> Ast:
    """Gradient of cross entropy: (softmax - one-hot) / rows."""
    labels, classes = buffer(2, (64, 1), INT32), buffer(3, (1, 10), INT32)
    one_hot = labels.equal(classes).cast(FLOAT)
    return kernel((buffer(1, (64, 10)) - one_hot) * (1.0 / 64))


def attention_scores() -> Ast:
    """Attention: queries by keys, scaled, for 4 heads."""
    heads = (2, 16, 4, 24)
    queries = buffer(1, heads).permute(0, 2, 1, 3)
    keys = buffer(2, heads).permute(0, 2, 3, 1)
    return kernel((queries @ keys) * 24**-0.5)


def attention_masked_scores() -> Ast:
    """Attention with a mask that is added to the scores."""
    queries = buffer(1, (3, 20, 16))
    keys = buffer(2, (3, 20, 16)).permute(0, 2, 1)
    mask = buffer(3, (20, 20)).reshape((1, 20, 20, 1))
    return kernel((queries @ keys) * 0.25 + mask)


def attention_bool_mask() -> Ast:
    """Attention scores where a bool mask says, else minus infinity."""
    allowed = buffer(2, (1, 21, 21), BOOL)
    return kernel(allowed.where(buffer(1, (4, 21, 21)), float("-inf")))


def attention_causal_mask() -> Ast:
    """Scores where the key is not after the query, else minus infinity."""
    allowed = triangle(23).differs(0).reshape((1, 23, 23))
    return kernel(allowed.where(buffer(1, (3, 23, 23)), float("-inf")))


def attention_values() -> Ast:
    """Attention: weights by values, heads put side by side again."""
    weights = buffer(1, (4, 18, 18))
    values = buffer(2, (18, 4, 12)).permute(1, 0, 2)
    return kernel((weights @ values).permute(1, 0, 2, 3))


def rotary_embedding() -> Ast:
    """Rotary positions: halves of a head turned by an angle."""
    even = buffer(1, (10, 6, 16, 2)).shrink([(0, 10), (0, 6), (0, 16), (0, 1)])
    odd = buffer(1, (10, 6, 16, 2)).shrink([(0, 10), (0, 6), (0, 16), (1, 2)])
    cos, sin = buffer(2, (10, 1, 16, 1)), buffer(3, (10, 1, 16, 1))
    first = (even * cos - odd * sin).pad([(0, 0)] * 3 + [(0, 1)])
    second = (even * sin + odd * cos).pad([(0, 0)] * 3 + [(1, 0)])
    return kernel(first + second)


def embedding() -> Ast:
    """Embedding look-up as compare and sum: 12 tokens, 40 words, 24 numbers each."""
    tokens = buffer(1, (12,), INT32).reshape((12, 1, 1))
    words = buffer(2, (40,), INT32).reshape((1, 1, 40))
    vectors = buffer(3, (40, 24)).permute(1, 0).reshape((1, 24, 40))
    return kernel((tokens.equal(words).cast(FLOAT) * vectors).sum(2))


def gather_last() -> Ast:
    """One number of each row, chosen by an index, as compare and sum."""
    chosen = buffer(2, (50, 1), INT32).equal(buffer(3, (1, 33), INT32))
    return kernel(chosen.where(buffer(1, (50, 33)), 0.0).sum(1))


def argmax() -> Ast:
    """First place of each row's maximum: the largest of (n - place) where equal."""
    is_largest = buffer(1, (40, 33)).equal(buffer(2, (40, 1)))
    return kernel(-(is_largest.cast(INT32) * buffer(3, (33,), INT32)).max(1) + 33)


SEEDS = (
    softmax_max, softmax_sum, softmax_normalise, softmax_half, softmax_gradient, log_softmax,
    layernorm_mean, layernorm_variance, layernorm_apply, rmsnorm, batchnorm_mean, batchnorm_apply,
    cross_entropy, cross_entropy_mean, cross_entropy_gradient, attention_scores,
    attention_masked_scores, attention_bool_mask, attention_causal_mask, attention_values,
    rotary_embedding, embedding, gather_last, argmax,
)  # fmt: skip
