"""The obligations of a Program as a whole: what each verdict rests on."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kernelref.codegen import program as lir
from kernelref.codegen.lower import lower
from kernelref.opt.kernel import Kernel
from kernelref.prove.portfolio import Portfolio
from kernelref.prove.program.races import races
from kernelref.prove.subject import ANY, prove_program
from kernelref.prove.verdict import Answer, Obligation, Verdict, judge
from tests.opt.kernels import add
from tests.prove.program.rewrite import each
from tests.prove.program.test_domain import built, moved_load, short_loop


def verdicts(
    kernel: Kernel, program: lir.Program, portfolio: Portfolio | None = None
) -> dict[Obligation, Verdict]:
    portfolio = Portfolio() if portfolio is None else portfolio
    return {v.obligation: v for v in prove_program(kernel, portfolio, ANY, program)}


@pytest.mark.parametrize(
    ("name", "kind", "change"),
    [
        ("plain", lir.Define, moved_load),
        ("matmul", lir.Define, moved_load),
        ("matmul", lir.Loop, short_loop),
        ("group", lir.Loop, short_loop),
    ],
)
def test_races_rest_on_domain(name, kind, change) -> None:
    """No race by itself, but what is stored is not what was to be: nothing is proved of it."""
    kernel, right = built(name)
    assert verdicts(kernel, right)[Obligation.RACES].answer is Answer.PROVED
    planted = 0
    for wrong in each(right, kind, change):
        found = verdicts(kernel, wrong)
        if wrong == right or found[Obligation.DOMAIN].answer is Answer.PROVED:
            continue
        alone = judge("program", Obligation.RACES, races(kernel, wrong), Portfolio())
        if alone.answer is Answer.PROVED:
            planted += 1
            assert found[Obligation.RACES].answer is Answer.UNKNOWN, found[Obligation.RACES]
            assert "domain" in found[Obligation.RACES].reason
    assert planted, "no fault left the races as they were"


@pytest.mark.parametrize("engine", ["enumerate", "z3-structured", "z3-bitvector", None])
def test_an_index_beyond_int_in_an_int_text_is_refuted(engine) -> None:
    """Every address lies in its buffer and is right; only the width it is computed in is not."""
    kernel = Kernel.open(add(1 << 17, 1 << 16))
    wide = lower(kernel, ANY)
    assert wide.wide, "the kernel needs no index beyond int"
    assert verdicts(kernel, wide)[Obligation.BOUNDS].answer is Answer.PROVED
    portfolio = Portfolio() if engine is None else Portfolio(("digits", engine))
    narrow = verdicts(kernel, replace(wide, wide=frozenset()), portfolio)
    assert narrow[Obligation.BOUNDS].answer is Answer.REFUTED, narrow[Obligation.BOUNDS]
    witness = narrow[Obligation.BOUNDS].witness
    assert witness is not None
    assert witness.says == "fits int"
