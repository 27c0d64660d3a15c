"""Races and barriers: lowered kernels have none, planted ones are found."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from kernelref.codegen import program as lir
from kernelref.codegen.lower import lower
from kernelref.ir.ast import Alu, Load, Op, Store
from kernelref.ir.builder import buffer, kernel
from kernelref.ir.dtype import FLOAT
from kernelref.ir.index import Var, lt
from kernelref.ir.shapetracker import ShapeTracker
from kernelref.opt.kernel import Kernel
from kernelref.opt.opt import Opt, OptOps
from kernelref.prove.portfolio import Portfolio
from kernelref.prove.program.races import global_races, races, shared_races
from kernelref.prove.subject import ANY
from kernelref.prove.verdict import Answer, Obligation, Verdict, judge
from kernelref.run.interp import interpret
from kernelref.run.outcome import Outcome
from tests.prove.program.rewrite import each
from tests.prove.program.test_domain import CASES, built

GROUPED = [name for name in CASES if built(name)[1].shared]


def verdict(parts) -> Verdict:
    return judge("program", Obligation.RACES, list(parts), Portfolio())


@pytest.mark.parametrize("name", CASES)
def test_a_lowered_kernel_has_no_race(name) -> None:
    found = verdict(races(*built(name)))
    assert found.answer is Answer.PROVED, found


def test_some_cases_share_memory() -> None:
    assert len(GROUPED) >= 5


@pytest.mark.parametrize("name", GROUPED)
def test_a_lost_barrier_is_a_race(name) -> None:
    """And the interpreter says so too."""
    _, program = built(name)
    for wrong in each(program, lir.Barrier, lambda _: None):
        found = verdict(shared_races(wrong))
        assert found.answer is Answer.REFUTED, found
        result = interpret(wrong, inputs_of(wrong), {v.name: v.low for v in wrong.variables})
        assert result.fault is not None
        assert result.fault.outcome in (Outcome.RACE, Outcome.UNINITIALISED)


@pytest.mark.parametrize("name", GROUPED)
def test_work_items_that_share_an_element_race(name) -> None:
    _, program = built(name)

    def at_zero(statement):
        return replace(statement, address=0)

    for wrong in each(program, lir.StoreShared, at_zero):
        assert verdict(shared_races(wrong)).answer is Answer.REFUTED


@pytest.mark.parametrize("name", GROUPED)
def test_a_barrier_that_some_pass_over_is_not_proved(name) -> None:
    _, program = built(name)
    ids = [n for n, count in zip(lir.LOCAL_IDS, program.local, strict=True) if count > 1]
    condition = lt(Var(ids[0], 0, 63), 1)

    def divergent(statement):
        return lir.Guarded(condition, (statement,))

    for wrong in each(program, lir.Barrier, divergent):
        assert verdict(shared_races(wrong)).answer is not Answer.PROVED


def inputs_of(program):
    return {b.number: np.ones(int(b.elements), b.dtype.storage.numpy) for b in program.buffers}


def in_place(*, transposed: bool) -> Kernel:
    """Buffer 0 is read where it is written, or elsewhere."""
    rows = ShapeTracker.from_shape((8, 8))
    read = rows.permute((1, 0)) if transposed else rows
    value = (buffer(1, (8, 8)) + buffer(2, (8, 8))).node
    both = Alu(Op.ADD, (Load(0, FLOAT, read), value))
    return Kernel.open((Store(0, FLOAT, rows, both),))


def test_in_place_reading_is_of_the_own_element() -> None:
    assert verdict(global_races(in_place(transposed=False))).answer is Answer.PROVED
    found = verdict(global_races(in_place(transposed=True)))
    assert found.answer is Answer.REFUTED
    assert "in place" in str(found)


def test_in_place_under_opts() -> None:
    opened = in_place(transposed=False)
    after = opened.apply_opt(Opt(OptOps.UPCAST, 0, 4))
    assert verdict(races(after, lower(after, ANY))).answer is Answer.PROVED


def test_a_store_of_two_points_to_one_element_is_refuted() -> None:
    opened = Kernel.open(kernel(buffer(1, (8, 8)) + buffer(2, (8, 8)).permute(1, 0)))
    same = ShapeTracker((replace(opened.sts[0].views[0], strides=(8, 0)),))
    wrong = replace(opened, sts=(same, *opened.sts[1:]))
    assert verdict(global_races(wrong)).answer is Answer.REFUTED


def test_a_barrier_that_some_pass_over_is_refuted_by_two_of_them() -> None:
    """Under a condition of the group alone nothing is said: perhaps no group passes it."""
    local, group = Var("lidx0", 0, 3), Var("gidx0", 0, 1)

    def under(*conditions) -> lir.Program:
        body: tuple[lir.Statement, ...] = (lir.Barrier(),)
        for condition in reversed(conditions):
            body = (lir.Guarded(condition, body),)
        return lir.Program("k", (), (), (2, 1, 1), (4, 1, 1), body)

    found = verdict(shared_races(under(lt(local, 2))))
    assert found.answer is Answer.REFUTED
    assert found.witness is not None
    assert (found.witness.expected, found.witness.found) == (0, 2)
    assert verdict(shared_races(under(lt(group, 1)))).answer is Answer.PROVED
    assert verdict(shared_races(under(lt(group, 1), lt(local, 2)))).answer is Answer.UNKNOWN
