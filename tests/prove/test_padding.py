"""Padding: what may be padded is proved, what may not is refuted by inputs that show it."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from kernelref.ir.ast import Alu, Ast, Cast, Constant, Load, Op, Reduce, ReduceOp, Store
from kernelref.ir.builder import buffer, kernel
from kernelref.ir.dtype import BOOL, FLOAT, INT32, UINT8
from kernelref.ir.shapetracker import ShapeTracker
from kernelref.ir.verify import verify
from kernelref.opt.kernel import Kernel
from kernelref.opt.rules.movement import Layout, drop_ones, move
from kernelref.opt.rules.step import Pad
from kernelref.prove.padding import padding
from kernelref.prove.portfolio import Portfolio
from kernelref.prove.step import Step, opts_step
from kernelref.prove.verdict import Answer, Obligation, Verdict, judge

N = 6


def load(number: int, dtype=FLOAT) -> Load:
    return Load(number, dtype, ShapeTracker.from_shape((4, N)))


def row(number: int, dtype=FLOAT) -> Load:
    """One value for each row, repeated: padding masks it all the same."""
    return Load(number, dtype, ShapeTracker.from_shape((4, 1)).expand((4, N)))


def constant(value, dtype=FLOAT) -> Constant:
    return Constant(value, dtype, ShapeTracker.from_shape((1, 1)).expand((4, N)))


def reduced(op: ReduceOp, value, dtype=FLOAT) -> Ast:
    store = Store(0, dtype, ShapeTracker.from_shape((4, 1)), Reduce(op, value, (1,)))
    return verify((store,))


def padded(ast: Ast, axis: int = 1, multiple: int = 4) -> tuple[Step, Kernel]:
    """The step that pads an axis, whatever a rule set would say."""
    before = Kernel.open(ast)
    pad = Pad(axis, multiple)
    layout = drop_ones(move(Layout(before.axes, before.sts, before.iterates), pad))
    after = replace(before, axes=layout.axes, sts=layout.sts, iterates=layout.iterates)
    return opts_step("pad", before, after, (pad,)), before


def verdict(ast: Ast, axis: int = 1, multiple: int = 4) -> Verdict:
    step, before = padded(ast, axis, multiple)
    return judge("pad", Obligation.PADDING, padding(step, before.ast), Portfolio())


SUM, MAX = ReduceOp.SUM, ReduceOp.MAX
HALVED = Alu(Op.CMPLT, (load(1), constant(0.5)))
RIGHT = {
    "sum": reduced(SUM, load(1)),
    "sum of products": reduced(SUM, Alu(Op.MUL, (load(1), row(2)))),
    "sum of sums": reduced(SUM, Alu(Op.ADD, (load(1), row(2)))),
    "sum of sines": reduced(SUM, Alu(Op.SIN, (load(1),))),
    "sum of choices": reduced(SUM, Alu(Op.WHERE, (HALVED, constant(1.0), constant(0.0)))),
    "max of what is not negative": reduced(MAX, Alu(Op.MAX, (load(1), constant(0.0)))),
    "max of unsigned": reduced(MAX, load(1, UINT8), UINT8),
}
PYTHON = re.compile(r"\w\(\w+=|[\[{<]")
WRONG = {
    "sum of powers": reduced(SUM, Alu(Op.EXP2, (load(1),))),
    "sum of reciprocals": reduced(SUM, Alu(Op.RECIP, (load(1),))),
    "sum of logarithms": reduced(SUM, Alu(Op.LOG2, (load(1),))),
    "sum of equals": reduced(SUM, Cast(Alu(Op.CMPEQ, (load(1), load(2))), FLOAT)),
    "sum of nots": reduced(SUM, Cast(Alu(Op.NEG, (load(1, BOOL),)), INT32), INT32),
    "max": reduced(MAX, load(1)),
    "max of int": reduced(MAX, load(1, INT32), INT32),
    "division by a padded 0": reduced(SUM, Alu(Op.IDIV, (row(1, INT32), load(2, INT32))), INT32),
    "remainder by a padded 0": reduced(
        SUM, Alu(Op.MOD, (load(1, INT32), constant(3, INT32))), INT32
    ),
}


@pytest.mark.parametrize("name", RIGHT)
def test_what_cannot_change_a_reduction_is_proved(name) -> None:
    found = verdict(RIGHT[name])
    assert found.answer is Answer.PROVED, found


@pytest.mark.parametrize("name", WRONG)
def test_what_can_is_refuted_by_inputs(name) -> None:
    found = verdict(WRONG[name])
    assert found.answer is Answer.REFUTED, found
    assert found.witness is not None
    assert found.witness.expected != found.witness.found
    assert not PYTHON.search(str(found)), "a value is told as Python spells it, not in words"


def test_an_output_axis_may_be_padded_unless_something_traps() -> None:
    assert verdict(RIGHT["sum of products"], axis=0, multiple=3).answer is Answer.PROVED
    assert verdict(WRONG["max"], axis=0, multiple=3).answer is Answer.PROVED
    found = verdict(WRONG["remainder by a padded 0"], axis=0, multiple=3)
    assert found.answer is Answer.REFUTED
    assert "MOD" in str(found)


def test_a_second_reduction_counts() -> None:
    """A sum may be padded, the maximum beside it may not."""
    x = buffer(1, (4, N))
    assert verdict(kernel(x.sum(1) + buffer(2, (4, N)).max(1))).answer is Answer.REFUTED
    assert verdict(kernel(x.sum(1) + buffer(2, (4, N)).sum(1))).answer is Answer.PROVED


def test_what_cannot_be_shown_is_unknown() -> None:
    """2 ** max(x, 0) is at least 2 ** 0, but devices need not round powers alike."""
    power = Alu(Op.EXP2, (Alu(Op.MAX, (load(1), constant(0.0))),))
    found = verdict(reduced(MAX, power))
    assert found.answer is Answer.UNKNOWN
    assert "no inputs that were tried" in found.reason


def test_nothing_is_padded() -> None:
    before = Kernel.open(RIGHT["sum"])
    step = opts_step("none", before, before, ())
    found = judge("none", Obligation.PADDING, padding(step, before.ast), Portfolio())
    assert found.answer is Answer.PROVED
