"""For which sizes an opt is right: proved for all, or said to be unknown."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kernelref.opt.kernel import Kernel
from kernelref.opt.opt import Opt, OptOps
from kernelref.prove import generalise as module
from kernelref.prove.generalise import generalise
from kernelref.prove.portfolio import Portfolio
from kernelref.prove.verdict import Answer
from tests.opt.kernels import add, matmul, row_sum
from tests.prove.plants import masked, stacked


@pytest.mark.parametrize(
    ("ast", "opt", "words"),
    [
        (add(16, 12), Opt(OptOps.UPCAST, 0, 4), "4 divides the extent of axis 0"),
        (add(16, 12), Opt(OptOps.LOCAL, 1, 3), "3 divides the extent of axis 1"),
        (matmul(), Opt(OptOps.UNROLL, 0, 4), "4 divides the extent of axis 2"),
        (row_sum(6, 64), Opt(OptOps.GROUPTOP, 0, 16), "16 divides the extent of axis 1"),
        (row_sum(6, 64), Opt(OptOps.GROUP, 0, 8), "8 divides the extent of axis 1"),
        (matmul(10, 12, 9), Opt(OptOps.PADTO, 0, 4), "axis 0 has any extent"),
        (matmul(10, 12, 9), Opt(OptOps.PADTO, 2, 4), "axis 2 has any extent"),
        (stacked(), Opt(OptOps.UPCAST, 0, 2), "2 divides the extent of axis 0"),
    ],
    ids=str,
)
def test_an_opt_is_right_for_all_sizes(ast, opt, words) -> None:
    found = generalise(Kernel.open(ast), opt, Portfolio())
    assert found.verdict.answer is Answer.PROVED, found.verdict
    assert str(found) == f"{opt} is right whenever {words}"


def test_a_mask_on_the_axis_leaves_it_unknown() -> None:
    found = generalise(Kernel.open(masked()), Opt(OptOps.LOCAL, 0, 3), Portfolio())
    assert found.verdict.answer is Answer.UNKNOWN
    assert "masked-axis" in found.verdict.reason
    assert "unknown" in str(found)


def test_another_axis_may_be_masked() -> None:
    found = generalise(Kernel.open(masked()), Opt(OptOps.UPCAST, 1, 2), Portfolio())
    assert found.verdict.answer is Answer.PROVED


def test_a_wrong_movement_is_not_generalised(monkeypatch) -> None:
    """The condition rests on what the movement ops do, not on the opt's name."""

    def outer(layout, step):
        return original(layout, replace(step, outer=not step.outer))

    original = module.move
    monkeypatch.setattr(module, "move", outer)
    found = generalise(Kernel.open(add(16, 12)), Opt(OptOps.UPCAST, 0, 4), Portfolio())
    assert found.verdict.answer is Answer.UNKNOWN
