"""`run` from files to counts, on the embedded device."""

from __future__ import annotations

import gzip
import os
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from pathlib import Path

import pytest

from kernelref.cases.case import Expect
from kernelref.cases.lines import Line
from kernelref.cases.sources import Place
from kernelref.codegen.target import FULL, POCL
from kernelref.errors import DeviceError, InvalidInput
from kernelref.jobs import run_host
from kernelref.jobs.progress import silent
from kernelref.jobs.run import RunRequest, _Run, run_kernels, with_lines
from kernelref.jobs.run_host import HostPool, Settings, Task
from kernelref.jobs.run_prepare import Ready
from kernelref.jobs.run_report import Ending
from kernelref.report.run import summary
from kernelref.run.devices import device_kind, report
from kernelref.run.outcome import Outcome
from tests.jobs.run_cases import ADD, BAD_UPCAST, MATMUL, UPCAST, case_file

LINE = (
    "(LazyOp(op=BufferOps.STORE, src=(LazyOp(op=BufferOps.LOAD, src=(), "
    "arg=MemBuffer(idx=1, dtype=dtypes.float, st=ShapeTracker(views=(View(shape=(5,), "
    "strides=(1,), offset=0, mask=None, contiguous=True),)))),), "
    "arg=MemBuffer(idx=0, dtype=dtypes.float, st=ShapeTracker(views=(View(shape=(5,), "
    "strides=(1,), offset=0, mask=None, contiguous=True),)))),)"
)

INTERP = ("interp",)
needs_pocl = pytest.mark.skipif(
    report(device_kind("pocl")).info is None, reason="the device pocl is not here"
)


@needs_pocl
def test_every_kernel_is_counted_once(tmp_path):
    for i in range(20):
        case_file(tmp_path, f"k{i:02}", ADD if i % 2 else MATMUL)
    endings = []
    found = run_kernels(RunRequest((str(tmp_path),), jobs=1), watch=endings.append)
    assert (found.read, found.run, found.pairs) == (20, 20, 20)
    assert found.outcomes == {"PASS": 20}
    assert found.outputs_checked == found.outputs_total == 20 * 32
    assert not found.findings
    assert {Path(e.pair.kernel).name for e in endings} == {f"k{i:02}.json" for i in range(20)}


def test_lines_that_are_not_run_are_read_all_the_same(tmp_path):
    dump = tmp_path / "dump.txt.gz"
    dump.write_bytes(gzip.compress("\n".join([LINE] * 30 + ["(nonsense", LINE]).encode()))
    found = run_kernels(RunRequest((str(dump),), sample=3, jobs=1, devices=INTERP))
    assert (found.read, found.run) == (31, 3)
    assert len(found.unreadable) == 1
    assert "dump.txt.gz:31:" in found.unreadable[0]


def test_a_refused_opt_is_skipped_and_counted_or_ends_a_strict_run(tmp_path):
    case_file(tmp_path, "refused", MATMUL, opts=(BAD_UPCAST,))
    loose = run_kernels(RunRequest((str(tmp_path),), jobs=1, devices=INTERP))
    assert sum(loose.skipped_opts.values()) == 1
    assert loose.outcomes == {"PASS": 1}
    endings = []
    strict = run_kernels(RunRequest((str(tmp_path),), jobs=1, is_strict=True), watch=endings.append)
    assert strict.outcomes == {"REFUSED": 1}
    assert endings[0].reason in loose.skipped_opts


@pytest.mark.parametrize(
    ("opts", "cases", "processes"),
    [("none", None, 1), ("random:1:2", None, 1), ("random:1:2", 2, 3), ("none", 2, 1)],
)
def test_there_are_no_more_processes_than_tasks(tmp_path, opts, cases, processes):
    path = case_file(tmp_path, "one", ADD)
    request = RunRequest((str(path),), opts=opts, cases=cases, jobs=3, devices=INTERP)
    assert _Run(request, silent, None)._processes() == processes


def test_a_budget_ends_a_run_and_says_so(tmp_path):
    for i in range(40):
        case_file(tmp_path, f"k{i:02}", ADD)
    found = run_kernels(RunRequest((str(tmp_path),), jobs=1, devices=INTERP, budget=1e-9))
    assert found.stopped_early
    assert found.pairs < 40


def test_drawn_sequences_are_drawn_anew_until_enough_cases_have_ended(tmp_path):
    case_file(tmp_path, "one", MATMUL)
    case_file(tmp_path, "two", ADD)
    endings = []
    request = RunRequest(
        (str(tmp_path),), jobs=1, devices=INTERP, opts="random:1:3", rules="sound", cases=9
    )
    found = run_kernels(request, watch=endings.append)
    assert (found.read, found.run, found.pairs) == (2, 2, 9)
    assert found.outcomes == {"PASS": 9}
    assert sum(found.accepted_by_op.values()) >= 9
    assert len({ending.pair.opts for ending in endings}) >= 5


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        ({"devices": ("abacus",)}, "abacus"),
        ({"opts": "luck"}, "--opts luck"),
        ({"rules": "lax"}, "--rules lax"),
        ({"limits": "none"}, "--limits none"),
        ({"optimizer": "tinygrad==7.0"}, "7.0"),
        ({"optimizer": "reference:no.such.module:f"}, "no.such.module"),
        ({"kernels": ("no/such/file",)}, "no/such/file"),
    ],
)
def test_a_bad_request_is_refused_before_any_work(tmp_path, changes, where):
    case_file(tmp_path, "one", ADD)
    with pytest.raises(InvalidInput, match=where):
        run_kernels(RunRequest(**({"kernels": (str(tmp_path),)} | changes)))


class FatalPath:
    """A path that ends the process which opens it."""

    def open(self, mode):
        os._exit(3)


def test_a_lost_host_process_costs_its_kernel_alone(tmp_path):
    good = (Place(case_file(tmp_path, "good", ADD)), None)
    bad = (Place(FatalPath()), None)
    tasks = [Task((place,), is_run=True) for place in (good, bad, good, good)]
    with HostPool(Settings(0, "own", None, None, (POCL,)), processes=1) as pool:
        answers = list(pool.map(tasks))
    outcomes = [getattr(p, "outcome", None) for answer in answers for p in answer.prepared]
    assert outcomes.count(Outcome.HARNESS_ERROR) == 1
    assert outcomes.count(None) == 3


def test_a_pool_that_is_lost_is_replaced_and_its_tasks_are_tried_again(tmp_path):
    places = [Place(case_file(tmp_path, f"k{i}", ADD)) for i in range(3)]
    tasks = [Task(((place, None),), is_run=True) for place in places]
    lost = {0, 1}
    with HostPool(Settings(0, "own", None, None, (POCL,)), processes=1) as pool:
        schedule, made = pool._schedule, []

        def schedule_or_lose(task):
            made.append(task)
            if len(made) - 1 not in lost:
                return schedule(task)
            pool._pool.stop()
            future = Future()
            future.set_exception(BrokenProcessPool("All workers expired"))
            return future

        pool._schedule = schedule_or_lose
        answers = list(pool.map(tasks))
    assert len(made) == 5
    assert sorted(str(p.pair.kernel) for a in answers for p in a.prepared) == [
        str(place) for place in places
    ]
    assert all(isinstance(p, Ready) for answer in answers for p in answer.prepared)


def test_a_task_that_always_loses_the_pool_ends(tmp_path):
    task = Task(((Place(case_file(tmp_path, "one", ADD)), None),), is_run=True)
    future = Future()
    future.set_exception(BrokenProcessPool("All workers expired"))
    with HostPool(Settings(0, "own", None, None, (POCL,)), processes=1) as pool:
        pool._schedule = lambda task: future
        (answer,) = pool.map([task])
    (ending,) = answer.prepared
    assert ending.outcome is Outcome.HARNESS_ERROR
    assert "at once, 3 times" in ending.detail


def test_a_heuristic_that_ends_its_process_is_blamed(tmp_path, monkeypatch):
    (tmp_path / "fatal.py").write_text(
        "import os\ndef killed(kernel):\n    os.kill(os.getpid(), 9)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    path = case_file(tmp_path, "one", ADD)
    optimizer = "reference:fatal:killed"
    found = run_kernels(RunRequest((str(path),), jobs=1, devices=INTERP, optimizer=optimizer))
    assert found.outcomes == {"CRASH": 1}
    assert found.harness_errors == 0
    (ending,) = found.findings
    assert ending.reason == "heuristic"
    says = "the process that ran reference:fatal:killed on this kernel was killed by SIGKILL"
    assert ending.detail == says


def test_a_task_of_a_later_round_is_not_read_again_when_it_is_lost(tmp_path):
    task = Task(((Place(case_file(tmp_path, "one", ADD)), None),), is_run=True, round=3)
    future = Future()
    future.set_exception(TimeoutError())
    with HostPool(Settings(0, "own", None, None, (POCL,)), processes=1) as pool:
        pool._schedule = lambda task: future
        (answer,) = pool.map([task])
    assert answer.round == 3


def test_what_a_preparation_cannot_take_is_bad_input_with_its_place(tmp_path, monkeypatch):
    def outside(*_arguments):
        raise InvalidInput("LOAD 1 reads outside its 5 elements")

    monkeypatch.setattr(run_host, "prepare", outside)
    place = Place(case_file(tmp_path, "one", ADD))
    settings = Settings(0, "own", None, None, (POCL, replace(FULL, name="interp")))
    answer = run_host.work(settings, Task(((place, None),), is_run=True))
    assert answer.unreadable == [f"{place}: LOAD 1 reads outside its 5 elements"]
    assert answer.prepared == []
    assert answer.read == 0


def test_what_cannot_be_read_is_told_in_order(tmp_path):
    dump = tmp_path / "dump.txt"
    dump.write_text("nonsense\n" * 12)
    found = run_kernels(RunRequest((str(dump),), jobs=2, devices=INTERP))
    assert [int(said.split(":")[1]) for said in found.unreadable] == list(range(1, 13))


def test_lines_come_with_their_places(tmp_path):
    dump, case = tmp_path / "a.txt", case_file(tmp_path, "case", ADD)
    dump.write_text("one\n\ntwo\nthree\n")
    first, third, fourth, fifth = (Place(dump, n) for n in (1, 3, 4, 5))
    places = [third, fourth, Place(case), first, third, first, fifth]
    found = list(with_lines(places))
    assert [place for place, _ in found] == places
    lines = [line for _, line in found]
    assert [line and line.data for line in lines] == [
        b"two\n", b"three\n", None, b"one\n", b"two\n", b"one\n", b"",
    ]  # fmt: skip
    assert isinstance(lines[-1], Line)
    assert lines[-1].fault


def test_a_device_that_is_not_here_ends_the_run(tmp_path, monkeypatch):
    case_file(tmp_path, "one", ADD)
    monkeypatch.setattr("kernelref.jobs.run.device_info", _missing)
    with pytest.raises(DeviceError, match="not usable"):
        run_kernels(RunRequest((str(tmp_path),)))


def _missing(name):
    raise DeviceError(f"device {name} is not usable")


def test_an_exception_in_the_interpreter_costs_its_pair_alone(tmp_path, monkeypatch):
    def fails(*_arguments, **_flags):
        raise MemoryError("no room")

    monkeypatch.setattr(run_host, "launch_program", fails)
    place = Place(case_file(tmp_path, "one", MATMUL, opts=(UPCAST,)))
    settings = Settings(0, "own", None, None, (POCL, replace(FULL, name="interp"), POCL))
    answer = run_host.work(settings, Task(((place, None),), is_run=True))
    first, interpreted, last = answer.prepared
    assert isinstance(first, Ready)
    assert isinstance(last, Ready)
    assert isinstance(interpreted, Ending)
    assert interpreted.outcome is Outcome.HARNESS_ERROR
    assert interpreted.detail == "MemoryError: no room"
    assert interpreted.pair.opts == (UPCAST,)


def test_opts_that_are_all_refused_are_not_what_was_asked_for(tmp_path):
    case_file(tmp_path, "one", MATMUL)
    opts = tmp_path / "opts.txt"
    opts.write_text('[["UPCAST", 0, 5], ["UPCAST", 1, 3]]')
    request = RunRequest((str(tmp_path / "one.json"),), jobs=1, devices=INTERP, opts=str(opts))
    found = run_kernels(request)
    assert found.outcomes == {"PASS": 1}
    assert (found.opts_asked, found.opts_applied, found.not_as_asked) == (2, 0, 1)
    assert found.executed == 0
    assert "0 of 2 opts applied: refused because 2 amount-divides" in summary(found)
    opts.write_text('[["UPCAST", 0, 5], ["UPCAST", 0, 4]]')
    found = run_kernels(request)
    assert (found.opts_asked, found.opts_applied, found.not_as_asked) == (2, 1, 0)
    assert found.executed == 1
    assert "1 of 2 opts applied: refused because 1 amount-divides" in summary(found)


def test_a_case_that_expects_a_refusal_asked_for_it(tmp_path):
    case_file(tmp_path, "one", MATMUL, opts=(BAD_UPCAST,), expect=Expect(False, "REFUSED"))
    found = run_kernels(RunRequest((str(tmp_path),), jobs=1, devices=INTERP))
    assert (found.opts_asked, found.opts_applied, found.not_as_asked) == (1, 0, 0)
    assert found.executed == 1
