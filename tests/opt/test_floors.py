"""Lower bounds of expressions."""

from __future__ import annotations

from math import inf, nan

import pytest

from kernelref.ir.ast import Op
from kernelref.ir.builder import buffer, constant
from kernelref.ir.dtype import BOOL, FLOAT, HALF, INT32, UINT8
from kernelref.opt.floors import floor_of

X, N, U = buffer(1, (4,)), buffer(2, (4,), INT32), buffer(3, (4,), UINT8)


@pytest.mark.parametrize(
    ("value", "floor"),
    [
        (X, -inf),
        (N, -inf),
        (U, 0),
        (X < X, 0),
        (X.maximum(0.5), 0.5),
        (X.maximum(-3.0), -3.0),
        (constant(7, (4,), INT32), 7),
        (constant(0.1, (4,), HALF), 0.0999755859375),
        (constant(7.0, (2,)).pad([(0, 2)]), 0),
        (constant(-7.0, (2,)).pad([(0, 2)]), -7),
        (constant(nan, (4,)), -inf),
        ((X < X).where(X.relu(), constant(-1.0, (4,))), -1),
        (X * X, 0),
        (N * N, -inf),  # it may wrap
        (X * (X + 1.0), -inf),
        (X.sqrt(), 0),
        (X.relu().cast(HALF), 0),
        (X.maximum(-3.0).cast(HALF), -inf),  # it may round below
        (U.cast(FLOAT), 0),
        (X.relu().cast(INT32), -inf),  # what does not fit is undefined
        (X.relu().max(0), 0),
        (X.relu().sum(0), -inf),
        (X.apply(Op.NEG), -inf),
        (constant(True, (4,), BOOL), 1),
    ],
)
def test_floor(value, floor) -> None:
    assert floor_of(value.node) == floor


def test_a_deep_expression_is_given_up() -> None:
    value = X.relu()
    for _ in range(20):
        value = value.maximum(-1.0)
    assert floor_of(value.node) == -1
    assert floor_of(value.node, depth=0) == -inf
