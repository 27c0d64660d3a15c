"""The questions kept as SMT-LIB are what the engines answered: other readers of the text agree."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import z3

from kernelref.prove import crosscheck
from kernelref.prove.claim import Claim, Counterexample, Everywhere, Fact, OneToOne, Proved
from kernelref.prove.dump import dump
from kernelref.prove.portfolio import Portfolio
from kernelref.prove.solve import GUESSED, Effort, structured

STEPS = 2_000_000


def claim(divisor: int, below: int) -> Everywhere:
    """x // d < below, for x in 0 .. 99: true or not."""
    return Everywhere(
        f"x // {divisor}",
        (100,),
        (),
        100,
        lambda point, _: [Fact("below", True, point[0] // divisor < below, True)],
    )


def keys(stride: int, onto: int | None) -> OneToOne:
    """stride * x + y for x below 5 and y below 7."""
    return OneToOne(
        "keys", (5, 7), (), 99, lambda point, _: (True, point[0] * stride + point[1]), onto
    )


CLAIMS: dict[str, tuple[Claim, bool]] = {
    "quotient": (claim(7, 15), True),
    "quotient too large": (claim(7, 14), False),
    "keys": (keys(7, None), True),
    "keys onto": (keys(7, 35), True),
    "keys that meet": (keys(6, None), False),
}


def by_z3(text: str) -> str:
    context = z3.Context()
    solver = z3.Solver(ctx=context)
    solver.add(z3.parse_smt2_string(text, ctx=context))
    return str(solver.check())


def by_cvc5(text: str) -> str:
    pytest.importorskip("cvc5", reason="needs kernelref[crosscheck]")
    return crosscheck._ask(text, STEPS)[0]


@pytest.mark.parametrize("ask", [by_z3, by_cvc5])
@pytest.mark.parametrize("name", CLAIMS)
def test_a_dump_is_answered_as_the_claim_is(name: str, ask, tmp_path: Path) -> None:
    asked, holds = CLAIMS[name]
    found = structured(asked, Effort())
    assert isinstance(found, Proved if holds else Counterexample), found
    files = dump(asked, tmp_path)
    assert files
    assert sorted(tmp_path.iterdir()) == sorted(files)
    answers = [ask(path.read_text(encoding="utf-8")) for path in files]
    assert set(answers) <= {"sat", "unsat"}
    decisive = answers if holds else answers[:GUESSED]
    assert all(answer == "unsat" for answer in decisive) == holds


def test_a_key_that_is_missing_shows_in_the_guessed_question(tmp_path: Path) -> None:
    files = dump(keys(7, 36), tmp_path)
    answers = [by_z3(path.read_text(encoding="utf-8")) for path in files]
    assert answers == ["unsat", "unsat", "sat"]


def test_what_no_solver_is_asked_is_not_kept(tmp_path: Path) -> None:
    portfolio = Portfolio(smt2=tmp_path / "asked")
    assert isinstance(portfolio.decide(claim(7, 15)), Proved)
    assert not (tmp_path / "asked").exists()
    asks = replace(portfolio, engines=("z3-structured",))
    assert isinstance(asks.decide(claim(7, 15)), Proved)
    assert len(list((tmp_path / "asked").iterdir())) == 1
