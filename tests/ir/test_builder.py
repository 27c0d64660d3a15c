"""The builder: its kernels compute what the same numpy expression computes."""

from __future__ import annotations

import numpy as np
import pytest

from kernelref.errors import InvalidInput
from kernelref.ir.ast import Constant, Load, Op, Store, postorder
from kernelref.ir.builder import Tensor, buffer, constant, kernel
from kernelref.ir.dtype import BOOL, FLOAT, HALF, INT8, INT32, UINT32
from kernelref.ir.index import Var
from kernelref.ir.shapetracker import ShapeTracker
from kernelref.run.oracle import Oracle

A = np.arange(1, 25, dtype=np.float32).reshape(4, 6) - 9
B = np.arange(1, 43, dtype=np.float32).reshape(6, 7) % 5 - 2


def computed(output: Tensor, *inputs: np.ndarray) -> np.ndarray:
    """Output 0 in the order of its buffer, whose points are row-major here."""
    ast = kernel(output)
    arrays = {i + 1: array.reshape(-1) for i, array in enumerate(inputs)}
    shape = tuple(int(n) for n in output.shape)
    points = np.arange(int(np.prod(shape)))
    value, _, _ = Oracle(ast, arrays, {}).values(0, points)
    return value.reshape(shape)


def a(dtype=FLOAT) -> Tensor:
    return buffer(1, (4, 6), dtype)


CASES = {
    "reshape": (lambda x: x.reshape((2, 12)), lambda x: x.reshape(2, 12)),
    "permute": (lambda x: x.permute(1, 0), lambda x: x.T),
    "expand": (
        lambda x: x.reshape((4, 1, 6)).expand((4, 3, 6)),
        lambda x: np.broadcast_to(x[:, None], (4, 3, 6)),
    ),
    "pad": (lambda x: x.pad([(1, 0), (0, 2)]), lambda x: np.pad(x, [(1, 0), (0, 2)])),
    "shrink": (lambda x: x.shrink([(1, 3), (2, 5)]), lambda x: x[1:3, 2:5]),
    "flip": (lambda x: x.flip(1), lambda x: x[:, ::-1]),
    "stride": (lambda x: x.stride(2, -3), lambda x: x[::2, ::-3]),
    "sum": (lambda x: x.sum(1), lambda x: x.sum(1, keepdims=True)),
    "sum of all": (lambda x: x.sum(), lambda x: x.sum(keepdims=True)),
    "max of the last": (lambda x: x.max(-1), lambda x: x.max(-1, keepdims=True)),
    "mean": (lambda x: x.mean(0), lambda x: x.mean(0, keepdims=True)),
    "reflected": (lambda x: 2 - 3 * (1 + x), lambda x: 2 - 3 * (1 + x)),
    "relu": (lambda x: x.relu(), lambda x: np.maximum(x, 0)),
    "greater": (lambda x: (x > 2).where(x, 0.0), lambda x: np.where(x > 2, x, 0)),
    "equal": (lambda x: x.equal(3.0).cast(FLOAT), lambda x: (x == 3) * 1.0),
    "pad of a sum": (
        lambda x: (x + x).pad([(1, 1), (0, 0)]),
        lambda x: np.pad(2 * x, [(1, 1), (0, 0)]),
    ),
    "permuted reduce": (lambda x: x.sum(1).permute(1, 0), lambda x: x.sum(1)[None]),
    "shrunk reduce": (
        lambda x: x.sum(1).shrink([(1, 3), (0, 1)]),
        lambda x: x.sum(1, keepdims=True)[1:3],
    ),
    "padded reduce": (
        lambda x: x.max(1).pad([(1, 1), (0, 0)]),
        lambda x: np.pad(x.max(1, keepdims=True), [(1, 1), (0, 0)]),
    ),
    "flipped reduce": (lambda x: x.sum(1).flip(0), lambda x: x.sum(1, keepdims=True)[::-1]),
    "stepped reduce": (lambda x: x.max(1).stride(2, 2), lambda x: x.max(1, keepdims=True)[::2]),
    "expanded reduce": (
        lambda x: x.reshape((1, 4, 6)).sum(2).expand((3, 4, 1)),
        lambda x: np.broadcast_to(x.sum(1)[None, :, None], (3, 4, 1)),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_movement_and_arithmetic(name: str) -> None:
    build, numpy_build = CASES[name]
    np.testing.assert_array_equal(computed(build(a()), A), numpy_build(A))


def test_matmul() -> None:
    product = a() @ buffer(2, (6, 7))
    assert product.shape == (4, 7, 1)
    np.testing.assert_array_equal(computed(product, A, B)[..., 0], A @ B)


def test_batched_matmul_broadcasts() -> None:
    x = np.arange(2 * 3 * 4, dtype=np.float32).reshape(2, 3, 4)
    y = np.arange(4 * 5, dtype=np.float32).reshape(1, 4, 5)
    product = buffer(1, (2, 3, 4)) @ buffer(2, (1, 4, 5))
    np.testing.assert_array_equal(computed(product, x, y)[..., 0], x @ y)


@pytest.mark.parametrize("n", [1, 5, 6, 7, 12])
@pytest.mark.parametrize("extent", [1, 2, 3, 5])
@pytest.mark.parametrize("step", [1, 2, 3])
def test_windows(n: int, extent: int, step: int) -> None:
    x = buffer(1, (2, n))
    if extent > n:
        with pytest.raises(InvalidInput, match="windows"):
            x.windows(extent, step)
        return
    values = np.arange(2 * n, dtype=np.float32).reshape(2, n)
    seen = np.lib.stride_tricks.sliding_window_view(values, extent, axis=1)[:, ::step]
    np.testing.assert_array_equal(computed(x.windows(extent, step), values), seen)


def test_windows_merge_to_one_view() -> None:
    (load,) = (
        n for n in postorder(kernel(buffer(1, (2, 12)).windows(3, 2))) if isinstance(n, Load)
    )
    assert [view.strides for view in load.st.views] == [(12, 2, 1)]


def test_exp_log_and_division_are_close() -> None:
    positive = np.abs(A) + 1
    output = (a().log() / a().exp()).sigmoid()
    expected = 1 / (1 + np.exp(-(np.log(positive) / np.exp(positive))))
    np.testing.assert_allclose(computed(output, positive), expected, rtol=1e-5)


def test_integer_ops() -> None:
    x = np.array([[7, -7, 5], [9, -2, 3]], np.int32)
    values = buffer(1, (2, 3), INT32)
    np.testing.assert_array_equal(computed(values // 2, x), np.trunc(x / 2).astype(np.int32))
    np.testing.assert_array_equal(computed(values % 4, x), np.fmod(x, 4))
    np.testing.assert_array_equal(computed(values ^ 3, x), x ^ 3)


def test_numbers_take_the_dtype_of_the_tensor() -> None:
    def number(tensor: Tensor):
        (found,) = (n for n in postorder([tensor.node]) if isinstance(n, Constant))
        return found.value, found.dtype

    assert number(a(HALF) + 1) == (1.0, HALF)
    assert number(a(INT8) * 3) == (3, INT8)
    assert number(buffer(1, (2,), BOOL).differs(True)) == (True, BOOL)
    with pytest.raises(InvalidInput, match="dtype int"):
        a(INT32) + 0.5


def test_bitcast() -> None:
    output = a().bitcast(UINT32).bitcast(FLOAT)
    np.testing.assert_array_equal(computed(output, A), A)


def test_symbolic_extents() -> None:
    pos = Var("pos", 1, 100)
    ast = kernel(buffer(1, (4, pos)).sum(1))
    assert ast[0].shape == (4, 1)
    assert kernel(constant(pos, (4,), INT32))[0].value.value is pos
    with pytest.raises(InvalidInput, match="symbolic extent"):
        buffer(1, (4, pos)).mean(1)


def test_several_outputs_and_places() -> None:
    column = ShapeTracker.from_shape((6, 4)).permute((1, 0))
    first, second = kernel(buffer(2, (4, 6)), buffer(2, (4, 6)) * 2, places={1: column})
    assert (first.buffer, second.buffer) == (0, 1)
    assert first.st == ShapeTracker.from_shape((4, 6))
    assert second.st == column
    assert isinstance(second, Store)


REFUSED = {
    "reshape of a reduce": (lambda: a().sum(1).reshape((4,)), "keeps its shape"),
    "expand of a reduce": (lambda: a().sum(1) + a(), "extent 1 in this kernel"),
    "pad of a reduced axis": (lambda: a().sum(1).pad([(0, 0), (0, 1)]), "extent 1"),
    "shrink of a reduced axis": (lambda: a().sum(1).shrink([(0, 4), (0, 0)]), "extent 1"),
    "pad of exp2": (lambda: a().exp2().pad([(0, 1), (0, 0)]), "EXP2, which is not 0 at 0"),
    "broadcast": (lambda: a() + buffer(2, (4, 5)), "do not broadcast"),
    "order": (lambda: a().sum(1).permute(0, 0), "not an order"),
    "too few amounts": (lambda: a().sum(1).flip().stride(1), "1 amounts for 2 axes"),
    "too few pads": (lambda: a().pad([(0, 1)]), "1 amounts for 2 axes"),
    "expand to more axes": (lambda: a().sum(1).expand((4, 1, 1)), "cannot expand"),
    "two dtypes": (lambda: kernel(a() + buffer(2, (4, 6), HALF)), "dtypes float, half"),
    "outputs of two shapes": (lambda: kernel(a(), a().sum(1)), "output 0's"),
    "two numbers": (lambda: a().differs(0).where(1.0, 2.0), "plain numbers"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_one_kernel_cannot_say_is_refused(name: str) -> None:
    build, message = REFUSED[name]
    with pytest.raises(InvalidInput, match=message):
        build()


def test_every_op_can_be_applied() -> None:
    for op in Op:
        first = buffer(1, (2, 2), BOOL if op is Op.WHERE else INT32)
        others = [buffer(2 + i, (2, 2), INT32) for i in range(op.arity - 1)]
        assert first.apply(op, *others).shape == (2, 2)
