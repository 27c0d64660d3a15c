"""The place that says PROVED: engines alone move it, UNKNOWN is never green, models replay."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from kernelref.errors import InvalidInput
from kernelref.prove import verdict as verdicts
from kernelref.prove.claim import Counterexample, Everywhere, Fact, Missing, OneToOne
from kernelref.prove.portfolio import ENGINES, Portfolio, portfolio_of
from kernelref.prove.verdict import (
    Answer,
    EngineFault,
    Failure,
    Obligation,
    Open,
    Shown,
    Witness,
    is_missing,
    judge,
    replay,
)

PROVE = Path(__file__).resolve().parents[2] / "kernelref" / "prove"
DOUBLE = Everywhere(
    "double", (10,), (), 100, lambda at, _: [Fact("twice", True, at[0] + at[0], at[0] * 2)]
)
WRONG = Everywhere(
    "square", (10,), (), 100, lambda at, _: [Fact("square", True, at[0] * at[0], at[0] * 2)]
)
PAIRS = OneToOne("pairs", (4, 3), (), 100, lambda at, _: (True, at[0] * 3 + at[1]), 12)
CLASH = OneToOne("clash", (4, 3), (), 100, lambda at, _: (True, at[0] * 2 + at[1]))
HOLES = OneToOne("holes", (4,), (), 100, lambda at, _: (True, at[0] * 2), 8)
BEYOND = OneToOne("beyond", (4,), (), 100, lambda at, _: (True, at[0]), 3)


def verdict(*parts, portfolio: Portfolio | None = None):
    portfolio = Portfolio() if portfolio is None else portfolio
    return judge("step", Obligation.INDEX, parts, portfolio)


@pytest.mark.parametrize("engine", ["enumerate", "z3-structured", "z3-bitvector"])
def test_every_engine_tells_right_from_wrong(engine) -> None:
    portfolio = Portfolio((engine,))
    assert verdict(DOUBLE, PAIRS, portfolio=portfolio).answer is Answer.PROVED
    for claim in (WRONG, CLASH, HOLES, BEYOND):
        found = verdict(DOUBLE, claim, portfolio=portfolio)
        assert found.answer is Answer.REFUTED, (engine, claim.subject, found)
        assert found.witness is not None
        assert found.witness.subject == claim.subject


def test_all_parts_must_be_proved() -> None:
    assert verdict(DOUBLE, Shown("enumerate", "phases")).answer is Answer.PROVED
    assert verdict(DOUBLE, Open("cannot say")).answer is Answer.UNKNOWN
    assert verdict(DOUBLE, Open("no model", is_unsupported=True)).answer is Answer.UNSUPPORTED
    witness = Witness("program", "a run", (), 1, 2)
    assert verdict(Open("cannot say"), Failure(witness)).answer is Answer.REFUTED
    assert verdict(Open("cannot say"), WRONG).answer is Answer.REFUTED


def test_what_an_engine_that_is_off_has_shown_does_not_count() -> None:
    portfolio = Portfolio(("digits",))
    assert verdict(Shown("enumerate", "phases"), portfolio=portfolio).answer is Answer.UNKNOWN


def test_without_an_engine_nothing_is_proved() -> None:
    assert verdict(DOUBLE, portfolio=Portfolio(())).answer is Answer.UNKNOWN


def test_too_large_a_domain_is_unknown_and_says_so() -> None:
    large = Everywhere("large", (10**6, 10**6), (), 1 << 50, lambda at, _: [])
    found = verdict(large, portfolio=Portfolio(("enumerate",)))
    assert found.answer is Answer.UNKNOWN
    assert "points" in found.reason


def test_numbers_beyond_64_bits_are_not_enumerated() -> None:
    top = 1 << 70
    huge = Everywhere(
        "huge", (4,), (), 4 * top, lambda at, _: [Fact("x", True, at[0] * top, at[0] * top)]
    )
    assert verdict(huge, portfolio=Portfolio(("enumerate",))).answer is Answer.UNKNOWN


def test_a_counterexample_that_does_not_replay_is_a_fault_of_the_engine() -> None:
    for claim in (DOUBLE, PAIRS):
        with pytest.raises(EngineFault):
            replay(claim, Counterexample("liar", {}, (3, 1)[: len(claim.box)]))
    with pytest.raises(EngineFault):
        replay(WRONG, Counterexample("liar", {}, (2,)))
    with pytest.raises(EngineFault):
        replay(WRONG, Counterexample("liar", {}, (11,)))
    with pytest.raises(EngineFault):
        replay(CLASH, Counterexample("liar", {}, (1, 1), (1, 1)))
    with pytest.raises(EngineFault):
        is_missing(PAIRS, Missing("liar", {}, 5))


def test_a_missing_key_with_too_many_points_to_replay_is_unknown(monkeypatch) -> None:
    """It is no refutation, because nobody looked again; still less is it a proof."""
    portfolio = Portfolio(("enumerate",))
    assert verdict(HOLES, portfolio=portfolio).answer is Answer.REFUTED
    monkeypatch.setattr(verdicts, "MOST_REPLAYED", 3)
    for parts in ((HOLES,), (DOUBLE, HOLES), (HOLES, DOUBLE, PAIRS)):
        found = verdict(*parts, portfolio=portfolio)
        assert found.answer is Answer.UNKNOWN, found
        assert found.reason == "holes: too many points to replay"
    assert verdict(HOLES, WRONG, portfolio=portfolio).answer is Answer.REFUTED


def test_a_counterexample_that_replays_says_what_was_found() -> None:
    witness = replay(WRONG, Counterexample("engine", {}, (3,)))
    assert (witness.expected, witness.found) == (6, 9)
    pair = replay(CLASH, Counterexample("engine", {}, (0, 2), (1, 0)))
    assert pair.other == (1, 0)


def test_the_same_claims_in_another_order_get_the_same_verdict() -> None:
    for parts in ((DOUBLE, PAIRS, WRONG), (WRONG, PAIRS, DOUBLE), (PAIRS, WRONG, DOUBLE)):
        found = verdict(*parts)
        assert (found.answer, found.witness and found.witness.point) == (Answer.REFUTED, (1,))


def test_only_judge_says_proved() -> None:
    """PROVED is written in one function of one file."""
    for path in PROVE.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for function in ast.walk(tree):
            if not isinstance(function, ast.FunctionDef):
                continue
            made = [
                node
                for node in ast.walk(function)
                if isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id == "Verdict"
            ]
            assert not made or path.name == "verdict.py", path


def test_unknown_engines_are_bad_input() -> None:
    assert portfolio_of(["z3-structured", "digits"]).engines == ("digits", "z3-structured")
    assert portfolio_of(ENGINES).engines == ENGINES
    for names in ([], ["z4"], ["digits", ""]):
        with pytest.raises(InvalidInput):
            portfolio_of(names)
