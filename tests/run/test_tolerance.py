"""The ladder of contracts: what each rung lets pass, and that its bounds hold for any device."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from kernelref.ir import semantics
from kernelref.ir.ast import Alu, Cast, Load, Op, Reduce, ReduceOp, Store
from kernelref.ir.builder import buffer, kernel
from kernelref.ir.dtype import BFLOAT16, BOOL, DOUBLE, FLOAT, HALF, INT32, DType
from kernelref.ir.semantics import Array
from kernelref.ir.shapetracker import ShapeTracker
from kernelref.run import errorrules
from kernelref.run.accuracy import FULL_PROFILE
from kernelref.run.arithmetic import Exact
from kernelref.run.errorbound import FULL_BOUNDS, BoundedArithmetic
from kernelref.run.inputs import make_inputs
from kernelref.run.oracle import Oracle, Values
from kernelref.run.tolerance import Rung, judge, judged, only_moves
from tests.run.random_ast import RandomAst

FUNCTIONS = (Op.EXP2, Op.LOG2, Op.SIN, Op.SQRT, Op.RECIP, Op.DIV, Op.MULACC)
ROW = ShapeTracker.from_shape((4,))


class Device(Exact):
    """A conforming device: errs by its ULPs, adds in any order, may fuse, flush, keep float."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.random = np.random.default_rng(seed)
        self.fuses, self.flushes, self.is_wide = self.random.integers(0, 2, 3).astype(bool)

    def lift(self, values: Array, dtype: DType) -> Array:
        return values.astype(np.float32) if self.is_wide and dtype == HALF else values

    def apply(self, op: Op, operands: Sequence[Array], dtype: DType) -> Array:
        if self.is_wide and dtype in (HALF, BFLOAT16):
            return self.flush(super().apply(op, operands, FLOAT), dtype)
        if op is Op.MULACC and dtype.is_float and self.fuses:
            a, b, c = (operand.astype(np.float64) for operand in operands)
            return self.flush(semantics.convert(a * b + c, DOUBLE, dtype), dtype)
        result = super().apply(op, operands, dtype)
        units = FULL_PROFILE.units(op, dtype) if dtype.is_float else 1
        if units > 1:
            wide = [operand.astype(np.float64) for operand in operands]
            exact = semantics.apply(op, wide, DOUBLE)
            noise = self.random.uniform(-1, 1, np.shape(exact)) * (units - 1) / 2
            ulp = np.spacing(np.abs(exact).astype(np.float32)).astype(np.float64)
            ulp = np.where(exact == 0, 0.0, ulp)
            scale = {HALF: 2.0**13, BFLOAT16: 2.0**16, DOUBLE: 2.0**-29}.get(dtype, 1.0)
            result = semantics.convert(exact + noise * ulp * scale, DOUBLE, dtype)
        return self.flush(result, dtype) if dtype.is_float else result

    def flush(self, values: Array, dtype: DType) -> Array:
        if not self.flushes or values.dtype.kind != "f":
            return values
        tiny = np.finfo(dtype.numpy.name).smallest_normal
        return np.where(np.abs(values) < tiny, dtype.numpy.type(0), values)

    def fold(
        self, node: Reduce, so_far: Array, terms: Array, steps_first: Callable[[Array], Array]
    ) -> Array:
        ordered = steps_first(terms)
        ordered = ordered[self.random.permutation(len(ordered))]
        return super().fold(node, so_far, ordered, lambda array: array)


def extreme(values: Array, seed: int) -> Array:
    """Floats of every size that their type holds, so that much overflows and underflows."""
    if values.dtype.kind != "f":
        return values
    random = np.random.default_rng(seed)
    limits = np.finfo(values.dtype)
    sizes = np.exp2(random.uniform(limits.minexp, limits.maxexp - 1, values.shape))
    return (sizes * random.choice([-1.0, 1.0], values.shape)).astype(values.dtype)


def misses(
    seed: int, dtypes: tuple[DType, ...], *, is_extreme: bool = False
) -> tuple[int, int, int]:
    """Outputs of a random kernel outside the bound, within a tight one, and all."""
    ast = RandomAst(seed, dtypes, FUNCTIONS).make()
    inputs = make_inputs(ast, seed, "reals")
    if is_extreme:
        inputs = {number: extreme(values, seed) for number, values in inputs.items()}
    oracle = Oracle(ast, inputs)
    outside = tight = total = 0
    for output, store in enumerate(ast):
        values = oracle.values(output)
        for run in range(4):
            (got,) = oracle.compute(Device(seed * 4 + run), output)
            with semantics.quiet():
                stored = semantics.encode(semantics.round_to(got, store.dtype), store.dtype)
            wrong = judge(stored, values, Rung.BOUNDED, store.dtype)
            outside += wrong.count if wrong else 0
        tight += int((values.bound <= 0.05 * np.abs(values.reference) + 0.05).sum())
        total += len(values.bound)
    return outside, tight, total


@pytest.mark.parametrize("dtypes", [(FLOAT, BOOL, INT32), (HALF, FLOAT), (BFLOAT16,), (DOUBLE,)])
def test_no_conforming_device_leaves_the_bound(dtypes: tuple[DType, ...]) -> None:
    results = [misses(seed, dtypes) for seed in range(120)]
    outside, tight, total = (sum(column) for column in zip(*results, strict=True))
    assert outside == 0
    assert tight > total / 2


@pytest.mark.parametrize("dtypes", [(FLOAT,), (HALF, FLOAT), (BFLOAT16,)])
def test_nor_where_values_overflow_and_underflow(dtypes: tuple[DType, ...]) -> None:
    results = [misses(seed, dtypes, is_extreme=True) for seed in range(120)]
    assert sum(outside for outside, _, _ in results) == 0
    assert sum(total for _, _, total in results) > 0


def test_the_sine_of_what_overflows_is_not_judged() -> None:
    square = Alu(Op.MUL, (Load(1, FLOAT, ROW), Load(1, FLOAT, ROW)))
    ast = (Store(0, FLOAT, ROW, Alu(Op.SIN, (square,))),)
    values = Oracle(ast, {1: np.array([1e30, 1e10, 1.0, 0.0], np.float32)}).values(0)
    assert judged(values).tolist() == [False, True, True, True]


@pytest.mark.parametrize("op", [Op.EXP2, Op.LOG2, Op.SQRT, Op.SIN, Op.RECIP, Op.DIV, Op.MUL])
def test_a_rule_that_carries_no_error_is_seen(op: Op, monkeypatch: pytest.MonkeyPatch) -> None:
    """log2(x * y) and the like: without the carried error the bound is too small."""
    random = np.random.default_rng(3)
    x = Load(1, FLOAT, ShapeTracker.from_shape((500,)))
    y = Load(2, FLOAT, ShapeTracker.from_shape((500,)))
    inexact = Alu(Op.EXP2, (x,))
    value = Alu(op, (inexact,) if op.arity == 1 else (Alu(Op.EXP2, (y,)), inexact))
    for _ in range(2):
        value = Alu(Op.MUL, (value, Alu(Op.ADD, (value, y)))) if op is Op.MUL else value
    ast = (Store(0, FLOAT, ShapeTracker.from_shape((500,)), value),)
    inputs = {i: random.uniform(0.2, 4, 500).astype(np.float32) for i in (1, 2)}

    def outside() -> int:
        oracle = Oracle(ast, inputs)
        values = oracle.values(0)
        found = 0
        for seed in range(10):
            (got,) = oracle.compute(Device(seed), 0)
            wrong = judge(got, values, Rung.BOUNDED, FLOAT)
            found += wrong.count if wrong else 0
        return found

    assert outside() == 0
    carried = errorrules.carried

    def forgetful(which: Op, operands, result):
        return np.zeros(()) if which is op else carried(which, operands, result)

    monkeypatch.setattr("kernelref.run.errorbound.carried", forgetful)
    assert outside() > 0


def test_a_dropped_term_of_a_dot_product_is_seen_where_a_fixed_tolerance_is_blind() -> None:
    a, b = buffer(1, (8, 1024)), buffer(2, (1024, 8))
    ast = kernel(a @ b)
    for domain, rung in (("integers", Rung.INTEGERS), ("reals", Rung.BOUNDED)):
        inputs = make_inputs(ast, 5, domain)
        values = Oracle(ast, inputs).values(0, bounds=None if domain == "integers" else FULL_BOUNDS)
        assert judge(values.value, values, rung, FLOAT) is None
        left, right = (inputs[i].astype(np.float64) for i in (1, 2))
        term = left.reshape(8, 1024)[:, 700, None] * right.reshape(1024, 8)[700]
        dropped = (values.reference - term.ravel()).astype(np.float32)
        wrong = judge(dropped, values, rung, FLOAT)
        assert wrong is not None
        assert wrong.count >= (50 if domain == "integers" else 40)


def test_sums_of_small_integers_have_no_error_and_depth_tightens_others() -> None:
    ast = kernel(buffer(1, (1000,)).sum(0))
    whole = np.arange(1000, dtype=np.float32)
    assert Oracle(ast, {1: whole}).values(0).bound.tolist() == [0.0]
    oracle = Oracle(ast, {1: whole + np.float32(0.3)})
    loose = oracle.values(0).bound[0]
    reduce = ast[0].value
    assert isinstance(reduce, Reduce)
    tight = oracle.values(0, bounds=BoundedArithmetic(depths={reduce: 10})).bound[0]
    assert 0 < tight < loose / 50


def test_an_unsure_condition_covers_both_sides() -> None:
    x = Load(1, FLOAT, ROW)
    third = Alu(Op.MUL, (Alu(Op.RECIP, (Load(2, FLOAT, ROW),)), Load(2, FLOAT, ROW)))
    sides = (Load(3, FLOAT, ROW), Load(4, FLOAT, ROW))
    ast = (Store(0, FLOAT, ROW, Alu(Op.WHERE, (Alu(Op.CMPLT, (x, third)), *sides))),)
    data = {
        1: np.array([0.5, 1.0, 2.0, 1.0], np.float32),
        2: np.array([3, 3, 3, 7], np.float32),
        3: np.full(4, 10, np.float32),
        4: np.full(4, 30, np.float32),
    }
    values = Oracle(ast, data).values(0)
    assert values.bound.tolist() == [0, 20, 0, 20]
    whole = (Store(0, INT32, ROW, Cast(Alu(Op.MUL, (third, sides[0])), INT32)),)
    assert Oracle(whole, data).values(0).bound.tolist() == [1, 1, 1, 1]


def test_an_unsure_condition_beside_a_nan_is_not_judged() -> None:
    third = Alu(Op.DIV, (Load(1, FLOAT, ROW), Load(2, FLOAT, ROW)))
    unsure = Alu(Op.CMPNE, (Alu(Op.MUL, (third, Load(2, FLOAT, ROW))), Load(1, FLOAT, ROW)))
    choice = Alu(Op.WHERE, (unsure, Load(1, FLOAT, ROW), Load(3, FLOAT, ROW)))
    ones, threes = np.ones(4, np.float32), np.full(4, 3.0, np.float32)
    data = {1: ones, 2: threes, 3: np.array([np.nan, 5.0, np.nan, 7.0], np.float32)}
    values = Oracle((Store(0, FLOAT, ROW, choice),), data).values(0)
    assert judged(values).tolist() == [False, True, False, True]
    for got in (ones, data[3]):
        assert judge(got, values, Rung.BOUNDED, FLOAT) is None


def test_poles_overflows_and_nan_are_not_judged() -> None:
    data = np.array([0.0, -1.0, 200.0, 1.0], np.float32)
    for op, wanted in ((Op.LOG2, [0, 0, 1, 1]), (Op.EXP2, [1, 1, 0, 1]), (Op.SQRT, [1, 0, 1, 1])):
        ast = (Store(0, FLOAT, ROW, Alu(op, (Load(1, FLOAT, ROW),))),)
        values = Oracle(ast, {1: data}).values(0)
        assert judged(values).tolist() == [bool(bit) for bit in wanted], op


def test_an_infinite_mask_stays_exact() -> None:
    x = Load(1, FLOAT, ROW)
    score = Alu(Op.ADD, (Alu(Op.EXP2, (x,)), Load(2, FLOAT, ROW)))
    ast = (Store(0, FLOAT, ROW, Alu(Op.EXP2, (score,))),)
    mask = np.array([0, -np.inf, 0, -np.inf], np.float32)
    values = Oracle(ast, {1: np.ones(4, np.float32), 2: mask}).values(0)
    assert values.reference[[1, 3]].tolist() == [0, 0]
    assert values.bound[[1, 3]].tolist() == [0, 0]
    assert judge(np.array([4, 1, 4, 0], np.float32), values, Rung.BOUNDED, FLOAT) is not None


def values_of(value: list[float], bound: float = 0.0) -> Values:
    array = np.array(value, np.float32)
    return Values(array, array.astype(np.float64), np.full(len(value), bound))


def test_each_rung_judges_as_it_says() -> None:
    nan, zero = float("nan"), values_of([0.0])
    negative_zero = np.array([-0.0], np.float32)
    assert judge(negative_zero, zero, Rung.EXACT, FLOAT) is not None
    assert judge(negative_zero, zero, Rung.INTEGERS, FLOAT) is None
    assert judge(np.array([nan], np.float32), values_of([nan]), Rung.EXACT, FLOAT) is None
    assert judge(np.array([nan], np.float32), zero, Rung.INTEGERS, FLOAT) is not None
    assert judge(np.array([nan], np.float32), values_of([1.0], 0.5), Rung.BOUNDED, FLOAT)
    assert judge(np.array([1.25], np.float32), values_of([1.0], 0.5), Rung.BOUNDED, FLOAT) is None
    wrong = judge(np.array([1.0, 2.75], np.float32), values_of([1, 2], 0.5), Rung.BOUNDED, FLOAT)
    assert str(wrong) == "output 1: got 2.75, wanted 2.0 within 0.5"
    bits = semantics.encode(np.array([2.0], np.float32), BFLOAT16)
    assert judge(bits, values_of([2.0]), Rung.INTEGERS, BFLOAT16) is None


def test_long_integers_are_compared_whole() -> None:
    value = np.array([2**62 + 1], np.int64)
    values = Values(value, value.astype(np.float64), np.zeros(1))
    from kernelref.ir.dtype import INT64

    assert judge(value, values, Rung.BOUNDED, INT64) is None
    assert judge(value + 1, values, Rung.BOUNDED, INT64) is not None


def test_which_kernels_only_move() -> None:
    x = Load(1, FLOAT, ROW)
    assert only_moves((Store(0, FLOAT, ROW, Alu(Op.NEG, (x,))),))
    assert only_moves((Store(0, BOOL, ROW, Alu(Op.CMPLT, (x, x))),))
    assert not only_moves((Store(0, FLOAT, ROW, Alu(Op.ADD, (x, x))),))
    assert not only_moves((Store(0, HALF, ROW, Cast(x, HALF)),))
    one = ShapeTracker.from_shape((1,))
    assert not only_moves((Store(0, FLOAT, one, Reduce(ReduceOp.MAX, x, (0,))),))
