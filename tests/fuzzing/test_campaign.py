"""Campaigns: the same cases however many jobs, after a kill, and when workers die."""

from __future__ import annotations

import multiprocessing
import os
import time
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace

from kernelref.fuzzing.campaign import Campaign, Pace
from kernelref.fuzzing.campaign_case import Chunk, Plan
from kernelref.fuzzing.campaign_check import Ending, Stage
from kernelref.fuzzing.campaign_feedback import GENERATION
from kernelref.fuzzing.campaign_result import CaseResult
from kernelref.fuzzing.campaign_store import Store
from kernelref.opt.opt import Opt, OptOps
from kernelref.run.outcome import Outcome

DEADLY = {5, 40}


class Inline(Executor):
    """Does the work when it is handed in, or in the opposite order of a pair."""

    def submit(self, work, /, *arguments, **named):
        future: Future = Future()
        future.set_result(work(*arguments, **named))
        return future


def work(plan: Plan, chunk: Chunk) -> list[CaseResult]:
    """Cases whose features depend on the steering, so that a wrong order would show."""
    total = sum(weight for _, weight in chunk.steering.ops)
    return [
        CaseResult(
            number,
            Ending(Stage.OPTIMISED, Outcome.PASS),
            (Opt(OptOps.LOCAL, 0, 2),),
            features=(f"ADD float {number % 7} {total}",),
        )
        for number in chunk.numbers
    ]


def deadly(plan: Plan, chunk: Chunk) -> list[CaseResult]:
    if DEADLY & set(chunk.numbers):
        os._exit(9)
    return work(plan, chunk)


def campaign(folder, *, pace, work=work, executor=Inline) -> dict[int, str]:
    with Store(folder, Plan()) as store:
        Campaign(Plan(), store, work, executor, pace).run()
        cases = store._db.execute("select number, outcome || opts || features from cases")
        names = dict(store._db.execute("select id, name from features").fetchall())
        return {
            n: text.split("[")[0]
            + str([names[int(i)] for i in text.rsplit("[", 1)[1][:-1].split(",") if i])
            for n, text in cases
        }


def test_every_case_is_done_once_and_in_full(tmp_path):
    done = campaign(tmp_path, pace=Pace(cases=300))
    assert set(done) == set(range(300))


def test_the_cases_do_not_depend_on_the_jobs(tmp_path):
    count = 3 * GENERATION + 10
    one = campaign(tmp_path / "1", pace=Pace(jobs=1, cases=count))
    four = campaign(tmp_path / "4", pace=Pace(jobs=4, cases=count, chunk=5))
    assert one == four


def test_going_on_gives_the_cases_of_one_go(tmp_path):
    count = 4 * GENERATION
    whole = campaign(tmp_path / "whole", pace=Pace(cases=count))
    campaign(tmp_path / "parts", pace=Pace(cases=GENERATION + 50))
    assert campaign(tmp_path / "parts", pace=Pace(cases=count)) == whole


def test_the_steering_changes_with_what_was_seen(tmp_path):
    done = campaign(tmp_path, pace=Pace(cases=4 * GENERATION))
    weights = {text.split(" ")[-1] for text in done.values()}
    assert len(weights) > 1


def test_a_spent_budget_ends_it(tmp_path):
    with Store(tmp_path, Plan()) as store:
        run = Campaign(Plan(), store, work, Inline, Pace(budget=0.0))
        run.run()
        assert run.stopped_early


class Slowly:
    """A device that takes a case up and gives it back when asked the second time."""

    def __init__(self) -> None:
        self.taken: list[CaseResult] = []
        self.given: list[CaseResult] = []
        self.most = 0

    @property
    def pending(self) -> int:
        return len(self.taken) + len(self.given)

    @property
    def is_full(self) -> bool:
        return len(self.taken) >= 20

    def put(self, result: CaseResult) -> None:
        self.taken.append(replace(result, launches=()))
        self.most = max(self.most, len(self.taken))

    def ready(self) -> list[CaseResult]:
        back, self.given, self.taken = self.given, self.taken, []
        return back


def launching(plan: Plan, chunk: Chunk) -> list[CaseResult]:
    return [replace(result, launches=("launch",)) for result in work(plan, chunk)]


def test_the_last_cases_come_back_from_a_device_too(tmp_path):
    later = Slowly()
    with Store(tmp_path, Plan()) as store:
        Campaign(Plan(), store, launching, Inline, Pace(cases=150, chunk=5), later=later).run()
        assert store.numbers() == set(range(150))
    assert later.most < 20 + 2 * 5
    assert not later.pending


def test_no_device_is_asked_once_the_budget_is_spent(tmp_path):
    later = Slowly()

    def late(plan: Plan, chunk: Chunk) -> list[CaseResult]:
        time.sleep(0.05)
        return launching(plan, chunk)

    with Store(tmp_path, Plan()) as store:
        Campaign(Plan(), store, late, Inline, Pace(budget=0.02), later=later).run()
        assert not store.numbers()
    assert not later.pending


def _pool() -> Executor:
    return ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("fork"))


class Breaking(Inline):
    """A pool that is found broken when the third chunk is handed in."""

    handed_in = 0

    def submit(self, work, /, *arguments, **named):
        Breaking.handed_in += 1
        if Breaking.handed_in == 3:
            raise BrokenProcessPool
        return super().submit(work, *arguments, **named)


def test_a_pool_that_breaks_while_a_chunk_is_handed_in_loses_nothing(tmp_path):
    opened = []

    def executor() -> Executor:
        opened.append(Breaking())
        return opened[-1]

    done = campaign(tmp_path, pace=Pace(cases=100), executor=executor)
    assert set(done) == set(range(100))
    assert len(opened) == 2


def test_a_case_that_kills_its_worker_is_a_finding_and_the_rest_goes_on(tmp_path):
    done = campaign(tmp_path, pace=Pace(jobs=2, cases=64, chunk=8), work=deadly, executor=_pool)
    assert set(done) == set(range(64))
    crashed = {number for number, text in done.items() if text.startswith("CRASH")}
    assert crashed == DEADLY
