"""Texts that a release cannot print are asked of a process that has printed nothing else."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace
from typing import ClassVar

import pytest

from kernelref.cases.case import Case, dump_case, parse_case
from kernelref.codegen.target import FULL
from kernelref.fuzzing.campaign_case import Plan, new_attempt
from kernelref.fuzzing.campaign_check import Ending, Stage
from kernelref.fuzzing.campaign_feedback import Feedback
from kernelref.fuzzing.campaign_result import Confirmed
from kernelref.ir.builder import buffer, kernel
from kernelref.jobs import fuzz_alone, fuzz_changed, fuzz_devices
from kernelref.jobs.fuzz_alone import Answer, process_alone
from kernelref.jobs.run_report import Ending as Ran
from kernelref.jobs.run_report import Pair
from kernelref.opt.kernel import Kernel
from kernelref.opt.opt import Opt, OptOps
from kernelref.optimizers.process import WorkerError
from kernelref.run.outcome import Outcome

AST = kernel(buffer(1, (8, 8)) * 2.0)
LOCAL = Opt(OptOps.LOCAL, 0, 2)
RELEASE = "tinygrad==0.9.1"


@pytest.fixture
def attempt():
    made = new_attempt(Plan(optimizer=RELEASE, targets=(FULL,)), 3, Feedback().steering())
    made.ast, made.kernel = AST, Kernel.open(AST).apply_opt(LOCAL)
    return made


class Processes:
    """What processes print: `breaks(opts, is_alone)`; it counts those that were started."""

    def __init__(self, monkeypatch, breaks, outcome=Outcome.BROKE):
        self.breaks, self.outcome, self.started = breaks, outcome, 0
        for module in (fuzz_devices, fuzz_changed, fuzz_alone):
            monkeypatch.setattr(module, "fresh_release", self.fresh)
            monkeypatch.setattr(module, "prepare_release", self.prepared)

    @contextmanager
    def fresh(self, name):
        if self.breaks is None:
            raise WorkerError("start", "no memory")
        self.started += 1
        yield "alone"

    def prepared(self, subject, name, choice, limits, targets, release=None):
        is_broken = self.breaks is None or self.breaks(choice.opts, release is not None)
        outcome = self.outcome if is_broken else Outcome.UNSUPPORTED
        yield Ran(Pair("3", FULL.name, opts=choice.opts), outcome, "rendering: KeyError: MULACC")


BROKEN = (
    (lambda opts, is_alone: True, Confirmed.FRESH, (), 1),
    (lambda opts, is_alone: bool(opts), Confirmed.FRESH, (LOCAL,), 2),
    (lambda opts, is_alone: not is_alone, Confirmed.HISTORY, (LOCAL,), 2),
    (None, Confirmed.UNASKED, (LOCAL,), 0),
)


@pytest.mark.parametrize(("breaks", "confirmed", "opts", "started"), BROKEN)
def test_a_release_that_cannot_print(attempt, monkeypatch, breaks, confirmed, opts, started):
    processes = Processes(monkeypatch, breaks)
    host = attempt.result(Ending(Stage.OPTIMISED, Outcome.PASS))
    told = fuzz_devices.with_launches(attempt, host)
    assert (told.confirmed, told.opts, processes.started) == (confirmed, opts, started)
    assert (told.ending.stage, told.ending.outcome) == (Stage.DEVICE, Outcome.BROKE)
    assert told.is_finding
    case = parse_case(told.case)
    assert case.opts == opts
    assert ("only after" in case.title) == (confirmed is Confirmed.HISTORY)


CHANGED = (
    (lambda opts, is_alone: True, Confirmed.FRESH),
    (lambda opts, is_alone: not is_alone, Confirmed.HISTORY),
    (None, Confirmed.UNASKED),
)


@pytest.mark.parametrize(("breaks", "confirmed"), CHANGED)
@pytest.mark.parametrize("outcome", [Outcome.BROKE, Outcome.OUT_OF_MEMORY])
def test_a_changed_release_that_cannot_print(attempt, monkeypatch, breaks, confirmed, outcome):
    Processes(monkeypatch, breaks, outcome)
    monkeypatch.setattr(fuzz_changed, "published_name", lambda optimizer: None)
    host = attempt.result(Ending(Stage.OPTIMISED, Outcome.PASS))
    told = fuzz_changed.with_changed_launches(attempt, host)
    assert (told.confirmed, told.opts) == (confirmed, (LOCAL,))
    assert (told.ending.outcome, told.is_finding) == (outcome, True)


def test_a_case_that_comes_to_no_launch_is_answered_all_the_same(monkeypatch):
    class Pool:
        def run(self, launches):
            assert not list(launches)
            return []

    Processes(monkeypatch, lambda opts, is_alone: bool(opts))
    with process_alone(RELEASE, FULL, Pool()) as ask:
        answers = ask([Case(AST), Case(AST, opts=(LOCAL,))])
    assert answers == [Answer(Outcome.UNSUPPORTED), Answer(Outcome.BROKE)]


def test_a_text_that_failed_is_tried_again_on_its_device_beside_what_ran_there(attempt):
    class Lane:
        given: ClassVar[list[object]] = []

        def put(self, item):
            self.given.append(item)

    def launch(device, base, text):
        pair = Pair("3", device, base=base)
        return SimpleNamespace(pair=pair, launch=SimpleNamespace(source=text))

    launches = tuple(
        launch(*what) for what in (("a", "", "A"), ("b", "", "B"), ("b", "published", "P"))
    )
    host = attempt.result(Ending(Stage.OPTIMISED, Outcome.PASS))
    rung = fuzz_devices.DeviceRung()
    rung._is_changed = True
    rung._lanes = {"a": Lane(), "b": Lane()}
    case = attempt.as_case(AST, host.ending)
    rung.put(replace(host, launches=launches, case=dump_case(case)))
    Lane.given.clear()
    for item, outcome in zip(launches, (Outcome.PASS, Outcome.RACE, Outcome.PASS), strict=True):
        rung._ended(Ran(item.pair, outcome))
    (failed,) = Lane.given
    assert (failed.text, failed.result.ending.outcome) == ("B", Outcome.RACE)
    assert rung.pending == 1
