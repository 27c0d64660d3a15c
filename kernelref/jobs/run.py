"""`kernelref run`: kernels are read, lowered, run on devices and compared with the oracle."""

from __future__ import annotations

import itertools
import os
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from kernelref.cases.lines import Line, open_lines
from kernelref.cases.sources import Place, in_order, list_kernels, sample
from kernelref.codegen.target import FULL, Target
from kernelref.jobs.choices import limits_of, rules_of
from kernelref.jobs.opt_choice import Actions, RandomWalk, parse_opts
from kernelref.jobs.progress import Progress, silent
from kernelref.jobs.run_host import Answer, HostPool, Settings, Task
from kernelref.jobs.run_lanes import Lanes
from kernelref.jobs.run_prepare import Ready
from kernelref.jobs.run_report import Ending, RunReport
from kernelref.optimizers.names import open_optimizer
from kernelref.run.devices import INTERPRETER, device_info, target_of

LINES_A_TASK = 256
NBYTES_A_TASK = 1 << 20


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What `run` was asked for. Units: `budget` seconds of the whole run, `cases` pairs.

    `is_strict`: an opt that is refused ends its sequence; otherwise it is skipped and counted.
    """

    kernels: tuple[str, ...]
    sample: int | None = None
    seed: int = 0
    opts: str = "own"
    rules: str | None = None
    limits: str | None = None
    optimizer: str = "reference"
    devices: tuple[str, ...] = ("pocl",)
    jobs: int | None = None
    budget: float | None = None
    cases: int | None = None
    is_strict: bool = False


def run_kernels(
    request: RunRequest,
    progress: Progress = silent,
    watch: Callable[[Ending], None] | None = None,
) -> RunReport:
    """Run the kernels; `watch` is called with every ending, from any thread, one at a time.

    Raises: InvalidInput, DeviceError; a kernel's own failure is an Ending.
    """
    return _Run(request, progress, watch).finish()


class _Run:
    """One run in progress: the report, and the lanes that fill it from their threads."""

    def __init__(
        self, request: RunRequest, progress: Progress, watch: Callable[[Ending], None] | None
    ) -> None:
        self.request = request
        self.progress = progress
        self.watch = watch
        self.started = time.monotonic()
        self.choice = parse_opts(request.opts)
        if request.rules is not None:
            rules_of(request.rules)
        if request.limits is not None:
            limits_of(request.limits)
        # A release is installed here, once, before host processes ask for it together.
        open_optimizer(request.optimizer).close()
        places = list_kernels(request.kernels)
        self.places = places
        self.chosen = set(sample(places, request.sample, request.seed))
        self.targets = tuple(map(target_named, request.devices))
        self.report = RunReport(
            devices=request.devices,
            opts=request.opts,
            rules=request.rules or "own",
            seed=request.seed,
        )
        self.lock = threading.Lock()

    def finish(self) -> RunReport:
        """Run to the end, or until the budget is spent."""
        request = self.request
        settings = Settings(
            request.seed,
            request.opts,
            request.rules,
            request.limits,
            self.targets,
            optimizer=request.optimizer,
            is_strict=request.is_strict,
        )
        with Lanes(self._ended) as lanes, HostPool(settings, processes=self._processes()) as host:
            try:
                self._drive(host, lanes)
            except KeyboardInterrupt:
                # What is known so far is still told; the command line ends with its own code.
                self.report.stopped_early = self.report.interrupted = True
                lanes.stop()
            lanes.join()
        self.report.seconds = time.monotonic() - self.started
        self.report.unreadable = in_order(self.report.unreadable)
        order = {str(place): i for i, place in enumerate(self.places)}
        self.report.findings.sort(key=lambda ending: order[ending.pair.kernel])
        return self.report

    def _processes(self) -> int:
        """How many host processes: never more than there are tasks for."""
        asked = self.request.jobs or os.cpu_count() or 1
        return asked if self._goes_on() else min(asked, len(self.places))

    def _goes_on(self) -> bool:
        """Whether kernels are taken again and again, under other sequences."""
        return self.request.cases is not None and isinstance(self.choice, RandomWalk)

    def _drive(self, host: HostPool, lanes: Lanes) -> None:
        for answer in host.map(self._tasks()):
            self._take(answer, lanes)
            if self._is_spent():
                lanes.stop()
                break
        lanes.join()

    def _tasks(self) -> Iterator[Task]:
        """Everything once; then, until enough cases have ended, drawn sequences anew."""
        yield from self._first_round()
        if not self._goes_on():
            return
        for round in itertools.count(1):
            chosen = [place for place in self.places if place in self.chosen]
            for place, line in with_lines(chosen):
                yield Task(((place, line),), is_run=True, round=round)

    def _first_round(self) -> Iterator[Task]:
        """Each chosen kernel is a task of its own; the rest is only read, many to a task."""
        waiting: list[tuple[Place, Line | None]] = []
        nbytes = 0
        for place, line in with_lines(self.places):
            if place in self.chosen:
                yield Task(((place, line),), is_run=True)
                continue
            waiting.append((place, line))
            nbytes += len(line.data) if line else NBYTES_A_TASK
            if len(waiting) == LINES_A_TASK or nbytes >= NBYTES_A_TASK:
                yield Task(tuple(waiting), is_run=False)
                waiting, nbytes = [], 0
        if waiting:
            yield Task(tuple(waiting), is_run=False)

    def _take(self, answer: Answer, lanes: Lanes) -> None:
        with self.lock:
            self.report.unreadable += answer.unreadable
            if not answer.round:
                self.report.read += answer.read
                self.report.run += bool(answer.prepared)
        for prepared in answer.prepared:
            if isinstance(prepared, Ready):
                lanes.put(prepared)
            else:
                self._ended(prepared)

    def _ended(self, ending: Ending) -> None:
        with self.lock:
            if self._has_enough():
                return
            self.report.add(ending)
            if self.watch is not None:
                self.watch(ending)
            report = self.report
            total = self._total()
            note = f"findings: {len(report.findings)}" if report.findings else ""
            self.progress(report.pairs, total, note)

    def _total(self) -> int | None:
        """How many pairs there will be, where that is known."""
        if self.request.cases is not None:
            return None if self.request.budget else self.request.cases
        has_many = isinstance(self.choice, Actions)
        return None if has_many else len(self.chosen) * len(self.request.devices)

    def _has_enough(self) -> bool:
        cases = self.request.cases
        return cases is not None and self.report.pairs >= cases

    def _is_spent(self) -> bool:
        budget = self.request.budget
        if budget is not None and time.monotonic() - self.started > budget:
            self.report.stopped_early = True
        return self.report.stopped_early or self._has_enough()


def target_named(device: str) -> Target:
    """What text for a device (or the interpreter) may use. Raises: InvalidInput, DeviceError."""
    if device == INTERPRETER:
        return replace(FULL, name=INTERPRETER)
    return target_of(device_info(device))


def with_lines(places: list[Place]) -> Iterator[tuple[Place, Line | None]]:
    """Places with their lines; None for case files. One pass over each text file in a row."""
    at = 0
    while at < len(places):
        first = places[at]
        if first.line is None:
            yield first, None
            at += 1
            continue
        before = at
        for line in open_lines(first.path):
            if at == len(places) or places[at].path != first.path:
                break
            if places[at].line == line.number:
                yield places[at], line
                at += 1
        if at == before:
            yield first, Line(first.line, fault="the file has no such line any more")
            at += 1
