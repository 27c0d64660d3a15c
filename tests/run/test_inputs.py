"""Inputs: that nothing rounds where that is promised, nothing is undefined, nothing is all zero."""

from __future__ import annotations

import numpy as np
import pytest

from kernelref.errors import InvalidInput
from kernelref.ir import semantics
from kernelref.ir.ast import Alu, Ast, Cast, Load, Op, Store, postorder
from kernelref.ir.builder import buffer, constant, kernel
from kernelref.ir.dtype import BFLOAT16, DOUBLE, FLOAT, HALF, INT8, INT32, SCALARS, UINT8, DType
from kernelref.ir.shapetracker import ShapeTracker
from kernelref.run.draw import _between, draw
from kernelref.run.errorbound import BoundedArithmetic, unit_of
from kernelref.run.inputs import Domain, make_inputs, plan_inputs
from kernelref.run.oracle import Oracle
from kernelref.run.ranges import Range, analyse, whole_range
from kernelref.run.tolerance import Rung
from tests.run.random_ast import RandomAst

ROW = ShapeTracker.from_shape((64,))


def errors(ast: Ast, seed: int) -> float:
    """The largest bound of any output: 0 where the oracle proves that nothing rounded."""
    oracle = Oracle(ast, make_inputs(ast, seed, "integers"))
    return max(float(oracle.values(i).bound.max(initial=0)) for i in range(len(ast)))


def test_nothing_rounds_at_the_second_rung() -> None:
    kept = 0
    for seed in range(200):
        ast = RandomAst(seed).make()
        if plan_inputs(ast, "integers").rung is Rung.INTEGERS:
            assert errors(ast, seed) == 0
            kept += 1
    assert kept > 50


def test_the_order_of_sums_does_not_show_at_the_second_rung() -> None:
    for n, dtype in ((4096, FLOAT), (500, HALF), (60, BFLOAT16)):
        ast = kernel((buffer(1, (3, n), dtype) * buffer(2, (3, n), dtype)).sum(1))
        plan = plan_inputs(ast)
        assert plan.rung is Rung.INTEGERS, dtype
        inputs = plan.draw(9)
        turned = {
            b: semantics.encode(semantics.decode(a, dtype).reshape(3, n)[:, ::-1].copy(), dtype)
            for b, a in inputs.items()
        }
        assert Oracle(ast, inputs).exact(0).tolist() == Oracle(ast, turned).exact(0).tolist()


def test_a_sum_too_long_for_half_is_bounded_but_mostly_exact() -> None:
    ast = kernel((buffer(1, (4, 4096), HALF) * buffer(2, (4, 4096), HALF)).sum(1))
    plan = plan_inputs(ast)
    assert plan.domain is Domain.INTEGERS
    assert plan.rung is Rung.BOUNDED
    assert Oracle(ast, plan.draw(1)).values(0).bound.min() == 0


def test_the_rung_and_domain_that_auto_chooses() -> None:
    x = buffer(1, (8,))
    cases = {
        Rung.EXACT: (kernel(x), kernel(-x), kernel(buffer(1, (8,), INT32) * 3)),
        Rung.INTEGERS: (kernel(x + 1.0), kernel(x * 0.5), kernel((x * x).sum(0))),
        Rung.BOUNDED: (kernel(x.exp2()), kernel(x * 0.1), kernel(x.sqrt())),
    }
    for rung, kernels in cases.items():
        for ast in kernels:
            assert plan_inputs(ast).rung is rung
    assert plan_inputs(cases[Rung.EXACT][0]).domain is Domain.BITS


@pytest.mark.parametrize("dtype", SCALARS, ids=str)
@pytest.mark.parametrize("domain", [d.value for d in Domain])
def test_every_dtype_is_drawn_fresh_and_never_all_zero(dtype: DType, domain: str) -> None:
    ast = kernel(buffer(1, (1,), dtype))
    for seed in range(20):
        (drawn,) = make_inputs(ast, seed, domain).values()
        assert drawn.dtype == semantics.storage(dtype)
        assert semantics.decode(drawn, dtype).any()
    wide = kernel(buffer(1, (500,), dtype))
    first, second, again = (make_inputs(wide, seed, domain)[1] for seed in (1, 2, 1))
    assert first.tobytes() == again.tobytes()
    assert first.tobytes() != second.tobytes()


def test_integers_meet_their_extremes_and_negatives() -> None:
    ast = kernel(buffer(1, (500,), INT8))
    drawn = set(make_inputs(ast, 1)[1].tolist())
    assert {-128, -127, 127, 126, 0, -1, 1} <= drawn
    floats = make_inputs(kernel(buffer(1, (500,)) + 1.0), 1)[1]
    assert (floats < 0).any()
    assert (floats > 0).any()
    below = make_inputs(kernel(buffer(1, (500,)).max(0)), 1, "negative")[1]
    assert (below < 0).all()


def test_divisors_shifts_and_roots_get_what_they_can_take() -> None:
    x, y = Load(1, INT32, ROW), Load(2, INT32, ROW)
    for op in (Op.IDIV, Op.MOD, Op.SHL, Op.SHR):
        oracle = Oracle(
            ast := (Store(0, INT32, ROW, Alu(op, (x, y))),), make_inputs(ast, 3, "auto")
        )
        oracle.exact(0)
        assert not oracle.undefined, op
    for value in (buffer(1, (64,)).sqrt(), buffer(1, (64,)).log()):
        values = Oracle(kernel(value), make_inputs(kernel(value), 2)).values(0)
        assert np.isfinite(values.bound).all()
    uniform = kernel((constant(1.0, (64,)) - buffer(1, (64,))).log())
    assert np.isfinite(Oracle(uniform, make_inputs(uniform, 2)).values(0).bound).all()
    byte = (Store(0, UINT8, ROW, Cast(Load(1, FLOAT, ROW), UINT8)),)
    oracle = Oracle(byte, make_inputs(byte, 1))
    oracle.exact(0)
    assert not oracle.undefined


def test_without_roles_divisions_would_be_undefined(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kernelref.run.inputs._roles", lambda analysis: iter(()))
    with pytest.raises(AssertionError):
        test_divisors_shifts_and_roots_get_what_they_can_take()


def test_compares_are_met() -> None:
    ast = kernel(buffer(1, (200,), INT32).equal(37).cast(INT32).sum(0))
    assert Oracle(ast, make_inputs(ast, 1)).exact(0)[0] > 0


def test_a_long_buffer_repeats_what_was_drawn() -> None:
    ast = kernel(buffer(1, (3_000_000,)))
    drawn = make_inputs(ast, 1)[1]
    assert len(drawn) == 3_000_000
    assert drawn[-5:].any()


def test_only_known_domains() -> None:
    with pytest.raises(InvalidInput, match="domain: 'odd'"):
        make_inputs(kernel(buffer(1, (2,))), 1, "odd")


def test_the_analysis_bounds_every_value_and_sees_every_rounding() -> None:
    """On random kernels: values lie in their ranges, and a kernel said not to round does not."""
    for seed in range(100):
        ast = RandomAst(seed).make()
        plan = plan_inputs(ast, "integers")
        analysis = analyse(ast, plan.ranges, {})
        oracle = Oracle(ast, plan.draw(seed))
        for i, store in enumerate(ast):
            value = oracle.exact(i).astype(float)
            ends = analysis.ranges[store.value]
            if not analysis.rounds:
                assert (value >= ends.low).all()
                assert (value <= ends.high).all()
    inexact = kernel(buffer(1, (4,)) * 3.0 + 2.0**24)
    assert analyse(inexact, {1: Range(-1, 1)}, {}).rounds
    assert not analyse(inexact, {1: Range(0, 0)}, {}).rounds
    assert {n.dtype for n in postorder(inexact)} == {FLOAT}


def test_units_are_half_ulps() -> None:
    assert [unit_of(d) for d in (HALF, BFLOAT16, FLOAT, DOUBLE)] == [2**-11, 2**-8, 2**-24, 2**-53]
    assert BoundedArithmetic().accuracy.units(None, HALF) == 1


@pytest.mark.parametrize("dtype", [d for d in SCALARS if d.is_int], ids=str)
def test_what_is_compared_with_the_ends_of_a_dtype_is_drawn(dtype: DType) -> None:
    whole = whole_range(dtype)
    for end, name in ((whole.low, dtype.lowest), (whole.high, dtype.highest)):
        drawn = draw(np.random.default_rng(1), 200, dtype, whole, Range(end, end))
        assert drawn.dtype == dtype.numpy
        assert np.count_nonzero(drawn == drawn.dtype.type(name)) > 60, f"{name} is hardly drawn"


def test_more_steps_than_a_signed_dtype_holds_are_drawn_alike() -> None:
    drawn = _between(np.random.default_rng(1), 20_000, INT8, -100, 100)
    assert set(map(int, drawn)) == set(range(-100, 101))
