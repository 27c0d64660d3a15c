"""What may be padded: the oracle of the padded AST is the judge."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from kernelref.ir.ast import Alu, Ast, Cast, Constant, Load, Node, Op, Reduce, Store, Value
from kernelref.ir.builder import buffer, constant, kernel
from kernelref.ir.dtype import BOOL, FLOAT, HALF, INT32, UINT8
from kernelref.ir.shapetracker import ShapeTracker
from kernelref.opt.padding import judge
from kernelref.run.oracle import Oracle
from tests.opt.kernels import opened

ROWS, TERMS, EXTRA = 3, 5, 3
X = buffer(1, (ROWS, TERMS))
Y = buffer(2, (ROWS, TERMS))
ROW = buffer(3, (ROWS, 1)).expand((ROWS, TERMS))
N = buffer(1, (ROWS, TERMS), INT32)
U = buffer(1, (ROWS, TERMS), UINT8)
M = buffer(2, (ROWS, TERMS), INT32)
ROW_N = buffer(3, (ROWS, 1), INT32).expand((ROWS, TERMS))


SAFE: dict[str, Callable[[], Ast]] = {
    "sum": lambda: kernel(X.sum(1)),
    "product": lambda: kernel((X * Y).sum(1)),
    "sum of sin": lambda: kernel(X.sin().sum(1)),
    "sum of sqrt": lambda: kernel(X.sqrt().sum(1)),
    "cast": lambda: kernel(X.cast(HALF).cast(INT32).sum(1)),
    "where false": lambda: kernel((X < Y).where(ROW, X).sum(1)),
    "less": lambda: kernel((X < Y).cast(INT32).sum(1)),
    "not different": lambda: kernel(X.equal(Y).cast(FLOAT).sum(1)),
    "plus a row": lambda: kernel((X + ROW).sum(1)),
    "plus one": lambda: kernel((X + 1.0).sum(1)),
    "shift": lambda: kernel(N.apply(Op.SHL, constant(2, (ROWS, TERMS), INT32)).sum(1)),
    "exp2 of nothing": lambda: kernel((X.exp2() * Y).sum(1)),
    "max of unsigned": lambda: kernel(U.max(1)),
    "max of bool": lambda: kernel((X < Y).max(1)),
    "max of relu": lambda: kernel(X.relu().max(1)),
    "max of square": lambda: kernel((X * X).max(1)),
    "max of a chosen relu": lambda: kernel((X < Y).where(X.relu(), 0.5).max(1)),
    "sum of sums": lambda: kernel(buffer(1, (ROWS, TERMS, 4)).sum(2).sum(1)),
    "sum of a max": lambda: kernel(buffer(1, (ROWS, TERMS, 4)).max(2).sum(1)),
    "int sum times 0": lambda: kernel((buffer(1, (ROWS, TERMS, 4), INT32).apply(Op.SHL,
        constant(1, (ROWS, TERMS, 4), INT32)).sum(2) * buffer(2, (ROWS, TERMS, 1), INT32)).sum(1)),
    "divided after it": lambda: kernel(N.sum(1) // buffer(2, (ROWS, 1), INT32).apply(
        Op.MAX, constant(1, (ROWS, 1), INT32))),
}  # fmt: skip
UNSAFE: dict[str, Callable[[], Ast]] = {
    "sum of exp2": lambda: kernel(X.exp2().sum(1)),
    "sum of reciprocal": lambda: kernel(X.reciprocal().sum(1)),
    "sum of log2": lambda: kernel(X.apply(Op.LOG2).sum(1)),
    "equal": lambda: kernel(X.apply(Op.CMPEQ, Y).cast(INT32).sum(1)),
    "not": lambda: kernel((-(X < Y)).cast(INT32).sum(1)),
    "max": lambda: kernel(X.max(1)),
    "max of ints": lambda: kernel(N.max(1)),
    "max of a negative": lambda: kernel(((X * X) * -1.0 + -1.0).max(1)),
    "max of a sum": lambda: kernel(buffer(1, (ROWS, TERMS, 4)).sum(2).max(1)),
    "sum of an inner exp2": lambda: kernel(buffer(1, (ROWS, TERMS, 4)).exp2().max(2).sum(1)),
}
TRAPS: dict[str, Callable[[], Ast]] = {
    "divisor": lambda: kernel((M // N).sum(1)),
    "modulo": lambda: kernel((M % N).sum(1)),
    "on an output axis": lambda: kernel(M % N),
    "a constant": lambda: kernel((N // constant(3, (ROWS, TERMS), INT32)).sum(1)),
    "a row": lambda: kernel(M // (N + ROW_N)),
    "an inner count": lambda: kernel(
        (
            buffer(2, (ROWS, TERMS, 1), INT32)
            // buffer(1, (ROWS, TERMS, 4))
            .apply(Op.CMPEQ, buffer(3, (ROWS, TERMS, 4)))
            .cast(INT32)
            .sum(2)
        ).sum(1)
    ),
    "an inner sum": lambda: kernel(
        (buffer(2, (ROWS, TERMS, 1), INT32) // buffer(1, (ROWS, TERMS, 4), INT32).sum(2)).sum(1)
    ),
}


def padded(ast: Ast, axis: int, extra: int) -> Ast:
    """The AST with `extra` masked points at the end of an axis."""
    done: dict[Node, Value] = {}

    def pad(st: ShapeTracker) -> ShapeTracker:
        if st.shape[axis] == 1:
            return st
        return st.pad(tuple((0, extra * (i == axis)) for i in range(len(st.shape))))

    def visit(node: Value) -> Value:
        if node not in done:
            match node:
                case Load(buffer=number, dtype=dtype, st=st):
                    done[node] = Load(number, dtype, pad(st))
                case Constant(value=value, dtype=dtype, st=st):
                    done[node] = Constant(value, dtype, pad(st))
                case Alu(op=op, src=src):
                    done[node] = Alu(op, tuple(visit(source) for source in src))
                case Cast(value=value, dtype=dtype, bitcast=bitcast):
                    done[node] = Cast(visit(value), dtype, bitcast)
                case Reduce(op=op, value=value, axes=axes):
                    done[node] = Reduce(op, visit(value), axes)
        return done[node]

    return tuple(Store(s.buffer, s.dtype, pad(s.st), visit(s.value)) for s in ast)


def results(ast: Ast, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    inputs = {}
    for node in opened(ast).index:
        if isinstance(node, Load):
            size = node.st.real_size()
            low, high = (0, 5) if node.dtype in (UINT8, BOOL) else (-4, 5 if seed % 2 else 0)
            values = rng.integers(low, high, max(int(size), 60))
            inputs[node.buffer] = values.astype(node.dtype.numpy)
    count = int(np.prod([int(n) for n in ast[0].shape]))
    value, _, _ = Oracle(ast, inputs, {}).values(0, np.arange(count))
    return np.asarray(value)


@pytest.mark.parametrize("name", SAFE)
def test_what_is_judged_safe_gives_the_same(name) -> None:
    ast = SAFE[name]()
    judgement = judge(opened(ast), 1)
    assert (judgement.reduction, judgement.trap) == ("", "")
    for seed in range(5):
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(results(padded(ast, 1, EXTRA), seed), results(ast, seed))


@pytest.mark.parametrize("name", UNSAFE)
def test_what_is_judged_unsafe_can_differ(name) -> None:
    ast = UNSAFE[name]()
    assert judge(opened(ast), 1).reduction
    with np.errstate(all="ignore"):
        assert any(
            not np.array_equal(results(padded(ast, 1, EXTRA), seed), results(ast, seed))
            for seed in range(5)
        )


@pytest.mark.parametrize("name", TRAPS)
def test_what_may_trap(name) -> None:
    kernel = opened(TRAPS[name]())
    assert judge(kernel, min(1, len(kernel.axes) - 1)).trap


def test_an_output_axis_has_no_reduction_to_change() -> None:
    judgement = judge(opened(UNSAFE["max"]()), 0)
    assert (judgement.reduction, judgement.trap) == ("", "")
