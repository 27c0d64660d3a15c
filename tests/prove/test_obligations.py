"""Right steps are proved by every engine; planted faults are refuted, with a witness."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kernelref.opt.axis import REDUCES, AxisType
from kernelref.opt.kernel import Kernel
from kernelref.prove.portfolio import Portfolio
from kernelref.prove.step import construction_step
from kernelref.prove.verdict import Answer, Obligation
from tests.opt.kernels import matmul
from tests.prove.plants import FAULTS, SITUATIONS, last_step, refuted, verdicts

SOLVERS_ONLY = (
    Portfolio(("enumerate",)),
    Portfolio(("digits", "enumerate")),
    Portfolio(("z3-structured",)),
    Portfolio(("z3-bitvector",)),
)


@pytest.mark.parametrize("name", SITUATIONS)
def test_a_right_step_is_proved(name) -> None:
    step, kernel = last_step(name)
    for obligation, verdict in verdicts(step, kernel).items():
        assert verdict.answer is Answer.PROVED, (obligation, verdict)


@pytest.mark.parametrize("portfolio", SOLVERS_ONLY, ids=lambda p: "+".join(p.engines))
@pytest.mark.parametrize("name", SITUATIONS)
def test_every_engine_alone_comes_to_the_same_verdict(name, portfolio) -> None:
    step, kernel = last_step(name)
    for obligation, verdict in verdicts(step, kernel, portfolio).items():
        assert verdict.answer is Answer.PROVED, (obligation, verdict)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_refuted(fault) -> None:
    planted = 0
    for name in SITUATIONS:
        step, kernel = last_step(name)
        for wrong in FAULTS[fault](step):
            planted += 1
            found = verdicts(wrong, kernel)
            assert refuted(found), (name, fault, [str(v) for v in found.values()])
            for verdict in found.values():
                assert (verdict.answer is Answer.REFUTED) == (verdict.witness is not None)
                assert verdict.answer in (Answer.PROVED, Answer.REFUTED), verdict
    assert planted > 5, f"{fault} was planted {planted} times only"


@pytest.mark.parametrize(
    ("fault", "obligation"),
    [
        ("wrong stride", Obligation.INDEX),
        ("wrong offset", Obligation.INDEX),
        ("lost mask", Obligation.INDEX),
        ("wrong mask", Obligation.INDEX),
        ("wrong reduction", Obligation.REDUCTION),
    ],
)
def test_a_fault_is_found_by_the_obligation_it_breaks(fault, obligation) -> None:
    for name in SITUATIONS:
        step, kernel = last_step(name)
        for wrong in FAULTS[fault](step):
            assert obligation in refuted(verdicts(wrong, kernel)), (name, fault)


@pytest.mark.parametrize("kind", [kind for kind in AxisType if kind not in REDUCES])
@pytest.mark.parametrize("name", ["unroll", "group", "padto reduce", "whole axis"])
def test_a_summed_axis_that_is_not_run_as_summed_is_refuted(name, kind) -> None:
    step, kernel = last_step(name)
    side = step.after
    for axis in sorted(frozenset().union(*side.sums)):
        types = (*side.types[:axis], kind, *side.types[axis + 1 :])
        wrong = replace(step, fine=replace(side, types=types))
        found = verdicts(wrong, kernel)[Obligation.REDUCTION]
        assert found.answer is Answer.REFUTED, (axis, found)
        assert found.witness is not None
        assert found.witness.says == f"axis {axis} is run as summed"


def test_a_kernel_opened_with_a_summed_axis_run_otherwise_is_refuted() -> None:
    kernel = Kernel.open(matmul())
    step = construction_step(kernel)
    assert verdicts(step, kernel)[Obligation.REDUCTION].answer is Answer.PROVED
    types = tuple(AxisType.GLOBAL for _ in step.coarse.types)
    wrong = replace(step, coarse=replace(step.coarse, types=types))
    assert verdicts(wrong, kernel)[Obligation.REDUCTION].answer is Answer.REFUTED


@pytest.mark.parametrize("engine", ["enumerate", "z3-structured", "z3-bitvector"])
def test_a_fault_is_refuted_by_each_engine_alone(engine) -> None:
    portfolio = Portfolio((engine,))
    for fault in ("wrong map", "wrong guard", "lost mask", "wrong stride"):
        for name in ("padto after split", "split of padded", "stacked"):
            step, kernel = last_step(name)
            for wrong in list(FAULTS[fault](step))[:2]:
                found = verdicts(wrong, kernel, portfolio)
                assert refuted(found), (name, fault, [str(v) for v in found.values()])


def test_a_witness_says_where_and_what() -> None:
    step, kernel = last_step("upcast")
    wrong = next(FAULTS["wrong stride"](step))
    witness = verdicts(wrong, kernel)[Obligation.INDEX].witness
    assert witness is not None
    assert witness.expected != witness.found
    assert f"{witness.point}" in str(witness)
    assert f"{witness.expected} and {witness.found}" in str(witness)
