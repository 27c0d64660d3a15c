"""A finding of a release is made again in a process that has served nothing, and says what came."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace

import pytest

from kernelref.cases.case import parse_case
from kernelref.fuzzing import campaign_confirm
from kernelref.fuzzing.campaign_case import Plan, guarded, new_attempt
from kernelref.fuzzing.campaign_check import Ending, Stage
from kernelref.fuzzing.campaign_confirm import confirmed
from kernelref.fuzzing.campaign_feedback import Feedback
from kernelref.fuzzing.campaign_result import Confirmed
from kernelref.ir.builder import buffer, kernel
from kernelref.opt.kernel import Kernel
from kernelref.opt.opt import Opt, OptOps
from kernelref.optimizers.process import WorkerError
from kernelref.run.outcome import Outcome

AST = kernel(buffer(1, (8, 8)) * 2.0)
OPTS = (Opt(OptOps.LOCAL, 0, 2), Opt(OptOps.UPCAST, 1, 2))
WRONG = Ending(Stage.OPTIMISED, Outcome.WRONG_VALUE, "got 1")


def ladder(attempt, release=None, *, ending=WRONG, keeps=1):
    """A release that is wrong with two opts, of which our copy of it needs `keeps`."""
    attempt.ast = AST
    attempt.whole = _applied(OPTS), ending
    attempt.kernel = _applied(OPTS[:keeps])
    return ending


def _applied(opts):
    kernel = Kernel.open(AST)
    for opt in opts:
        kernel = kernel.apply_opt(opt)
    return kernel


@contextmanager
def nothing(name):
    assert name == "tinygrad==0.9.1"
    yield "a process"


@pytest.fixture
def made(monkeypatch):
    """The attempt and its finding; `confirmed` asks what is planted with `again`."""
    monkeypatch.setattr(campaign_confirm, "fresh_release", nothing)
    attempt = new_attempt(Plan(optimizer="tinygrad==0.9.1"), 3, Feedback().steering())
    return attempt, guarded(attempt, ladder)


def again(monkeypatch, **planted):
    def other(attempt, release):
        assert release == "a process"
        return ladder(attempt, **planted)

    monkeypatch.setattr(campaign_confirm, "release_ladder", other)


def test_what_shows_again_is_the_finding_of_the_new_process(made, monkeypatch):
    again(monkeypatch, ending=replace(WRONG, detail="got 2"))
    attempt, told = confirmed(*made)
    assert attempt is not made[0]
    assert told.confirmed is Confirmed.FRESH
    assert told.key == made[1].key == "WRONG_VALUE at optimised: LOCAL"
    assert told.ending.detail == "got 2"
    assert parse_case(told.case).expect.outcome == "WRONG_VALUE"


@pytest.mark.parametrize(
    ("ending", "alone"),
    [
        (Ending(Stage.OPTIMISED, Outcome.PASS), "PASS"),
        (Ending(Stage.PLAIN, Outcome.WRONG_VALUE), "WRONG_VALUE"),
        (Ending(Stage.OPTS, Outcome.HARNESS_ERROR, "x", "reference-differs"), "HARNESS_ERROR"),
    ],
)
def test_what_does_not_is_kept_with_all_opts_and_says_so(made, monkeypatch, ending, alone):
    again(monkeypatch, ending=ending)
    attempt, told = confirmed(*made)
    assert attempt is made[0]
    assert attempt.kernel.applied_opts == told.opts == OPTS
    assert (told.ending, told.confirmed, told.is_finding) == (WRONG, Confirmed.HISTORY, True)
    assert told.key == "WRONG_VALUE at optimised, only after other kernels"
    case = parse_case(told.case)
    assert case.opts == OPTS
    assert case.title == "WRONG_VALUE at optimised, only after other kernels"
    assert case.expect.outcome == alone
    # What devices say of it later leaves that as it is.
    later = parse_case(told.ended(replace(WRONG, detail="got 1 [pocl: UNSUPPORTED]")).case)
    assert (later.title, later.expect) == (case.title, case.expect)
    assert later.origin.endswith("UNSUPPORTED]")


def test_other_opts_are_another_finding(made, monkeypatch):
    again(monkeypatch, keeps=2)
    assert confirmed(*made)[1].confirmed is Confirmed.HISTORY


def test_where_no_process_starts_it_stays_as_it_was_found(made, monkeypatch):
    @contextmanager
    def dead(name):
        raise WorkerError("start", "no memory")
        yield

    monkeypatch.setattr(campaign_confirm, "fresh_release", dead)
    assert confirmed(*made) == made
    assert made[1].confirmed is Confirmed.UNASKED
