"""A Program's iterations: right ones are proved, planted faults refuted by a run."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kernelref.codegen import program as lir
from kernelref.codegen.lower import lower
from kernelref.ir.ast import Ast
from kernelref.ir.builder import buffer, kernel
from kernelref.ir.index import Var, add, evaluate, mul, substitute, variables
from kernelref.opt.kernel import Kernel
from kernelref.opt.opt import Opt, OptOps
from kernelref.prove.portfolio import Portfolio
from kernelref.prove.program.domain import domain
from kernelref.prove.subject import ANY
from kernelref.prove.verdict import Answer, Obligation, Verdict, judge
from tests.opt.kernels import add as sum_of
from tests.opt.kernels import image_sum, matmul, row_sum, symbolic_sum
from tests.prove.plants import masked, stacked
from tests.prove.program.rewrite import each


def dependent() -> Ast:
    """A sum of squared distances from the mean."""
    row = buffer(1, (6, 32))
    centre = buffer(2, (6, 32)).sum(1)
    return kernel(row.max(1) + centre)


CASES: dict[str, tuple[Ast, tuple[tuple[OptOps, int | None, int | None], ...]]] = {
    "plain": (sum_of(8, 12), ()),
    "upcast": (sum_of(8, 12), ((OptOps.UPCAST, 0, 4), (OptOps.LOCAL, 1, 4))),
    "matmul": (matmul(), ()),
    "tiles": (matmul(), ((OptOps.UPCAST, 0, 4), (OptOps.UPCAST, 1, 2), (OptOps.UNROLL, 0, 4))),
    "group": (matmul(8, 8, 32), ((OptOps.GROUP, 0, 8), (OptOps.LOCAL, 0, 2))),
    "grouptop": (row_sum(6, 64), ((OptOps.GROUPTOP, 0, 16), (OptOps.UNROLL, 0, 2))),
    "two groups": (row_sum(6, 64), ((OptOps.GROUP, 0, 4), (OptOps.GROUP, 0, 4))),
    "whole group": (row_sum(6, 64), ((OptOps.GROUP, 0, 0), (OptOps.UPCAST, 0, 3))),
    "padded": (matmul(10, 12, 9), ((OptOps.PADTO, 0, 4), (OptOps.PADTO, 2, 4))),
    "mid": (image_sum(), ((OptOps.GROUPTOP, 0, 16), (OptOps.UPCASTMID, 1, 4))),
    "symbolic": (symbolic_sum(), ((OptOps.LOCAL, 0, 4),)),
    "masked": (masked(), ((OptOps.UPCAST, 0, 2),)),
    "stacked": (stacked(), ((OptOps.LOCAL, 0, 4),)),
    "siblings": (dependent(), ((OptOps.GROUP, 0, 8),)),
    "no locals": (matmul(), ((OptOps.NOLOCALS, None, None),)),
}


def built(name: str) -> tuple[Kernel, lir.Program]:
    ast, opts = CASES[name]
    after = Kernel.open(ast)
    for op, axis, amt in opts:
        after = after.apply_opt(Opt(op, axis, amt))
    return after, lower(after, ANY)


def verdict(after: Kernel, program: lir.Program, portfolio: Portfolio | None = None) -> Verdict:
    portfolio = Portfolio() if portfolio is None else portfolio
    return judge("program", Obligation.DOMAIN, domain(after, program, ANY, portfolio), portfolio)


@pytest.mark.parametrize("name", CASES)
def test_the_iterations_of_a_lowered_kernel_are_proved(name) -> None:
    found = verdict(*built(name))
    assert found.answer is Answer.PROVED, found


@pytest.mark.parametrize("name", ["upcast", "group", "padded", "masked", "stacked", "symbolic"])
def test_without_normal_forms_every_form_is_proved_by_another_engine(name) -> None:
    found = verdict(*built(name), Portfolio(("enumerate", "z3-structured")))
    assert found.answer is Answer.PROVED, found
    assert "digits" not in found.engines


def short_loop(statement):
    return replace(statement, extent=statement.extent - 1)


def moved_load(statement):
    if not isinstance(statement.value, lir.LoadGlobal):
        return statement
    address = statement.value.address
    if isinstance(address, int) or statement.value.lanes > 1:
        return statement
    first = next(iter(sorted(_names(address))))
    other = evaluate(address, dict.fromkeys(_names(address), 0))
    moved = add(address, 0 if first == "" else 1, -other)
    return replace(statement, value=replace(statement.value, address=moved))


def _names(address) -> set[str]:
    return {var.name for var in variables(address)}


def unguarded_load(statement):
    value = statement.value
    if not isinstance(value, lir.LoadGlobal) or value.guard == 1:
        return statement
    return replace(statement, value=replace(value, guard=1))


def dropped(statement):
    return None


FAULTS = {
    "a shorter loop": (lir.Loop, short_loop),
    "a term added once": (lir.Assign, dropped),
    "another element": (lir.Define, moved_load),
    "a mask lost": (lir.Define, unguarded_load),
    "a store lost": (lir.StoreGlobal, dropped),
    "a barrier lost": (lir.Barrier, dropped),
    "a shared store lost": (lir.StoreShared, dropped),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_not_proved(fault) -> None:
    """It is refuted by a run, or unknown where none shows it (a lost mask whose value is then
    multiplied by a masked zero); most must be refuted."""
    kind, change = FAULTS[fault]
    planted, refuted = 0, 0
    for name in CASES:
        after, program = built(name)
        for wrong in list(each(program, kind, change))[:3]:
            if wrong == program:
                continue
            planted += 1
            found = verdict(after, wrong)
            assert found.answer is not Answer.PROVED, (name, fault, found)
            refuted += found.answer is Answer.REFUTED
    assert planted >= 3
    assert refuted > planted * 0.6, (refuted, planted)


def test_a_launch_that_lacks_groups_is_refuted() -> None:
    for name in ("plain", "matmul", "tiles"):
        after, program = built(name)
        x, y, z = program.groups
        found = verdict(after, replace(program, groups=(x - 1, y, z)))
        assert found.answer is Answer.REFUTED, (name, found)
        found = verdict(after, replace(program, groups=(x + 1, y, z)))
        assert found.answer is Answer.REFUTED, (name, found)


def test_swapped_coordinates_are_refuted() -> None:
    """Two groups' axes of one extent change places: each element is computed from others."""
    after, program = built("matmul")
    names = {"gidx0": "gidx1", "gidx1": "gidx0"}
    loads = [s for s in lir.nested(program.body) if isinstance(s, lir.Define)]
    assert loads

    def swapped(statement):
        value = statement.value
        if not isinstance(value, lir.LoadGlobal):
            return statement
        new = {
            var.name: Var(names[var.name], var.low, var.high)
            for var in variables(value.address)
            if var.name in names
        }
        return replace(statement, value=replace(value, address=substitute(value.address, new)))

    for wrong in each(program, lir.Define, swapped):
        if wrong != program:
            assert verdict(after, wrong).answer is Answer.REFUTED


def test_a_store_by_every_work_item_of_a_group_is_refuted() -> None:
    after, program = built("group")
    always = Var("lidx0", 0, 1) + 1
    guards = list(each(program, lir.Guarded, lambda s: replace(s, condition=always)))
    assert guards
    for wrong in guards:
        assert verdict(after, wrong).answer is not Answer.PROVED


def test_the_multiple_of_an_address_is_seen() -> None:
    after, program = built("plain")

    def doubled(statement):
        return replace(statement, address=mul(statement.address, 2))

    for wrong in each(program, lir.StoreGlobal, doubled):
        assert verdict(after, wrong).answer is Answer.REFUTED
