"""Z3's terms mean what `evaluate` means; the three divisions against numpy."""

from __future__ import annotations

import random

import numpy as np
import pytest
import z3

from kernelref.errors import Unsupported
from kernelref.ir.index import Var, cdiv, cmod, evaluate, floordiv, mod
from kernelref.prove.encode import Encoding, check_divisors, floor_quotient, truncated_quotient
from kernelref.prove.spans import span
from tests.prove.expressions import axes, condition, number, points

MODES = [None, 16]


def truncated(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """C's quotient as numpy has it: what is left after the remainder of `fmod`."""
    return (a - np.fmod(a, b)) // b


def signed(term: z3.ExprRef) -> int:
    value = z3.simplify(term)
    return value.as_signed_long() if isinstance(value, z3.BitVecNumRef) else value.as_long()


@pytest.mark.parametrize("bits", MODES)
@pytest.mark.parametrize(
    ("model", "numpy"), [(floor_quotient, np.floor_divide), (truncated_quotient, truncated)]
)
def test_division_on_the_whole_int8_square(bits, model, numpy) -> None:
    """One law names the quotient; numpy keeps it on the whole square, and Z3 proves the model to.

    With r = a - q*b: |r| < |b|, and r has the sign of b (floor) or of a (truncated), or is 0.
    """
    a, b = np.meshgrid(np.arange(-128, 128), np.delete(np.arange(-128, 128), 128))
    rest = a - numpy(a, b) * b
    sign = b if numpy is np.floor_divide else a
    assert ((abs(rest) < abs(b)) & ((rest == 0) | ((rest < 0) == (sign < 0)))).all()
    encoding = Encoding(z3.Context(), bits)
    solver = z3.Solver(ctx=encoding.context)
    dividend = encoding.number(Var("a", -128, 127))
    zero = encoding.constant(0)
    solver.add(*encoding.facts)
    for value in range(-128, 128):
        if value == 0:
            continue
        divisor = encoding.constant(value)
        left = dividend - model(encoding, dividend, divisor) * divisor
        like = divisor if model is floor_quotient else dividend
        size = encoding.constant(abs(value))
        law = z3.And(-size < left, left < size, z3.Or(left == zero, (left < zero) == (like < zero)))
        solver.push()
        solver.add(z3.Not(law))
        assert solver.check() == z3.unsat, value
        solver.pop()


@pytest.mark.parametrize("bits", MODES)
def test_division_of_random_int32(bits) -> None:
    rng = np.random.default_rng(1)
    encoding = Encoding(z3.Context(), bits and 40)
    a = rng.integers(-(2**31), 2**31, 300)
    b = np.where(rng.random(300) < 0.5, rng.integers(-(2**31), 2**31, 300), rng.integers(1, 99))
    b = np.where(b == 0, 1, b)
    for x, y, floor, cut in zip(a, b, a // b, truncated(a, b), strict=True):
        terms = encoding.constant(int(x)), encoding.constant(int(y))
        assert signed(floor_quotient(encoding, *terms)) == floor
        assert signed(truncated_quotient(encoding, *terms)) == cut


def test_the_model_of_c_is_the_index_layer_s() -> None:
    a, b = np.meshgrid(np.arange(-128, 128), np.delete(np.arange(-128, 128), 128))
    x, y = Var("a", -128, 127), Var("b", -128, 127)
    values = {"a": a, "b": b}
    assert (evaluate(cdiv(x, y), values) == truncated(a, b)).all()
    assert (evaluate(cmod(x, y), values) == np.fmod(a, b)).all()
    assert (evaluate(floordiv(x, y), values) == a // b).all()
    assert (evaluate(mod(x, y), values) == a % b).all()


def holds_at(encoding: Encoding, term: z3.BoolRef, values: dict[str, int]) -> bool:
    """Whether a term can hold with these values of the variables."""
    solver = z3.Solver(ctx=encoding.context)
    solver.add(*encoding.facts, term)
    solver.add(*(encoding.variables[n] == v for n, v in values.items() if n in encoding.variables))
    return solver.check() == z3.sat


@pytest.mark.parametrize("bits", MODES)
@pytest.mark.parametrize("seed", range(12))
def test_terms_mean_what_evaluate_means(bits, seed) -> None:
    rng = random.Random(seed)
    over = axes(rng)
    expr, where = number(rng, over, 3), condition(rng, over, 2)
    encoding = Encoding(z3.Context(), bits and 40)
    term, truth = encoding.number(expr), encoding.condition(where)
    everywhere = list(points(over))
    for values in rng.sample(everywhere, k=min(3, len(everywhere))):
        value = evaluate(expr, values)
        assert holds_at(encoding, term == encoding.constant(int(value)), values)
        assert not holds_at(encoding, term != encoding.constant(int(value)), values)
        assert holds_at(encoding, truth, values) == bool(evaluate(where, values))


def test_a_divisor_that_may_be_0_is_refused() -> None:
    n = Var("n", 0, 4)
    with pytest.raises(Unsupported):
        check_divisors(floordiv(Var("x.0", 0, 9), n), lambda d: span(d)[0])
    check_divisors(floordiv(Var("x.0", 0, 9), n + 1), lambda d: span(d)[0])
