"""Accesses lie in their memory: of lowered kernels they do, planted ones that do not are found."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kernelref.codegen import program as lir
from kernelref.ir.dtype import FLOAT
from kernelref.ir.index import Var, add, and_, as_expr, floordiv, ge, lt, mod
from kernelref.prove.portfolio import Portfolio
from kernelref.prove.program.inside import inside
from kernelref.prove.program.widths import fits_int
from kernelref.prove.verdict import Answer, Obligation, Verdict, judge
from kernelref.run.interp import interpret
from kernelref.run.outcome import Outcome
from tests.prove.program.rewrite import each
from tests.prove.program.test_domain import CASES, built
from tests.prove.program.test_races import inputs_of

G = Var("gidx0", 0, 11)
R = Var("r", 0, 3)


def verdict(program: lir.Program) -> Verdict:
    """Of accesses and of vectors: the interpreter calls one outside that is not aligned, too."""
    return judge("program", Obligation.BOUNDS, [*inside(program), *fits_int(program)], Portfolio())


def leaves_memory(program: lir.Program) -> bool:
    """What the interpreter says of an access outside, in a run of all groups."""
    result = interpret(program, inputs_of(program), {v.name: v.low for v in program.variables})
    return result.fault is not None and result.fault.outcome is Outcome.OUT_OF_BOUNDS


@pytest.mark.parametrize("name", CASES)
def test_a_lowered_kernel_stays_inside(name) -> None:
    found = verdict(built(name)[1])
    assert found.answer is Answer.PROVED, found


def moved(step: int):
    """Every access `step` elements further on."""

    def change(statement: lir.Statement) -> lir.Statement:
        match statement:
            case lir.StoreGlobal(address=at) | lir.StoreShared(address=at):
                return replace(statement, address=add(at, step))
            case lir.Define(_, lir.LoadGlobal() | lir.LoadShared() as load):
                return replace(statement, value=replace(load, address=add(load.address, step)))
        return statement

    return change


def unguarded(statement: lir.Statement) -> lir.Statement:
    match statement:
        case lir.StoreGlobal():
            return replace(statement, guard=1)
        case lir.Define(_, lir.LoadGlobal() as load):
            return replace(statement, value=replace(load, guard=1))
    return statement


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("change", [moved(1), moved(-1), moved(7), unguarded])
def test_prover_and_interpreter_agree_on_a_changed_access(name, change) -> None:
    _, program = built(name)
    kinds = (lir.StoreGlobal, lir.StoreShared, lir.Define)
    for wrong in list(each(program, kinds, change))[:12]:
        found = verdict(wrong)
        assert found.answer in (Answer.PROVED, Answer.REFUTED), found
        if leaves_memory(wrong) or not wrong.variables:
            assert (found.answer is Answer.REFUTED) == leaves_memory(wrong), found


@pytest.mark.parametrize("name", [name for name in CASES if built(name)[1].shared])
def test_a_shared_array_one_short_is_refuted(name) -> None:
    _, program = built(name)
    for array in program.shared:
        short = replace(array, elements=array.elements - 1)
        others = tuple(short if one == array else one for one in program.shared)
        found = verdict(replace(program, shared=others))
        assert found.answer is Answer.REFUTED
        assert array.name in str(found.witness)
        assert f"of {short.elements} exists" in str(found.witness)


def reading(address, guard=1, *, loop=None, condition=None, defined=()) -> lir.Program:
    """A program that loads once, from 10 elements, under a launch of 12 groups."""
    load = lir.LoadGlobal("data1", address, guard, FLOAT)
    body: tuple[lir.Statement, ...] = (lir.Define(lir.Register("v", FLOAT), load),)
    if loop is not None:
        body = (lir.Loop(R, loop, body),)
    if condition is not None:
        body = (lir.Guarded(as_expr(condition), body),)
    buffers = (lir.BufferArgument("data1", 1, FLOAT, 10, is_output=False),)
    return lir.Program("k", buffers, (), (12, 1, 1), (1, 1, 1), (*defined, *body))


N = Var("n", 0, 11)


@pytest.mark.parametrize(
    ("program", "is_inside"),
    [
        (reading(G), False),
        (reading(G, lt(G, 10)), True),
        (reading(G, lt(G, 11)), False),
        (reading(G, condition=lt(G, 10)), True),
        (reading(add(G, -2), ge(G, 2)), True),
        (reading(add(G, -2), ge(G, 1)), False),
        (reading(add(G, -2), and_(ge(G, 2), lt(G, 12))), True),
        (reading(add(G, R), lt(add(G, R), 10), loop=4), True),
        (reading(add(G, R), lt(add(G, R), 11), loop=4), False),
        (reading(add(mod(G, 7), R), loop=4), True),
        (reading(add(mod(G, 7), R), loop=5), False),
        (reading(N, defined=(lir.DefineIndex(N, as_expr(add(G, -2))),)), False),
        (reading(N, ge(G, 2), defined=(lir.DefineIndex(N, as_expr(add(G, -2))),)), True),
        (reading(N, defined=(lir.DefineIndex(N, as_expr(floordiv(G, 2))),)), True),
    ],
)
def test_conditions_loops_and_definitions_count(program, is_inside) -> None:
    found = verdict(program)
    assert found.answer is (Answer.PROVED if is_inside else Answer.REFUTED), found
    assert leaves_memory(program) is not is_inside


def test_a_loop_may_be_as_long_as_the_work_item_says() -> None:
    """Which the interpreter does not run."""
    assert verdict(reading(R, loop=G)).answer is Answer.REFUTED
    assert verdict(reading(R, loop=as_expr(add(G, -1)))).answer is Answer.PROVED
    assert verdict(reading(R, condition=lt(G, 11), loop=G)).answer is Answer.PROVED


@pytest.mark.parametrize(
    "program",
    [
        reading(G, condition=lt(G, 5), defined=(lir.DefineIndex(Var("gidx0", 0, 3), as_expr(0)),)),
        reading(Var("nobody", 0, 3)),
        replace(reading(G, lt(G, 10)), buffers=()),
    ],
)
def test_what_the_text_does_not_say_is_left_open(program) -> None:
    assert verdict(program).answer is Answer.UNKNOWN
