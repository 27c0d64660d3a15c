"""The device rung of a campaign: launches made by a worker, run in lanes, and their verdict.

The worker makes the text (ours, or a release's own); the parent's lanes run it, many kernels to a
program build. A case comes back when every device has answered, and each device's answer is told,
so that one that stands alone is suspected first.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from kernelref.cases.case import dump_case
from kernelref.cases.sources import KernelSource, Place
from kernelref.errors import KernelRefError, Unsupported
from kernelref.fuzzing.campaign_case import Attempt, CaseResult
from kernelref.fuzzing.campaign_check import Ending, Stage
from kernelref.ir.tinygrad_repr import Dialect
from kernelref.jobs.opt_choice import Listed
from kernelref.jobs.run_lanes import Lanes
from kernelref.jobs.run_prepare import Prepared, Ready, prepare
from kernelref.jobs.run_release import prepare_release
from kernelref.jobs.run_report import FINE, Pair
from kernelref.jobs.run_report import Ending as Ran
from kernelref.jobs.run_subject import Subject
from kernelref.run.outcome import Outcome

RUNS_ON_DEVICES = frozenset({Outcome.PASS, Outcome.WRONG_VALUE, Outcome.UNWRITTEN})
"""Endings on the host after which a device is asked. Of a release, wrong ones too: its own text."""


def with_launches(attempt: Attempt, result: CaseResult) -> CaseResult:
    """The case with a launch for each device, where it is one for devices."""
    is_release = attempt.plan.optimizer.startswith("tinygrad")
    wanted = RUNS_ON_DEVICES if is_release else {Outcome.PASS}
    if attempt.ast is None or attempt.kernel is None or result.ending.outcome not in wanted:
        return result
    source = KernelSource(Place(Path(str(attempt.number))), attempt.ast, None, Dialect.V0_9_1)
    try:
        subject = Subject.of(source, seed=attempt.number)
        prepared = list(_prepared(attempt, subject, is_release=is_release))
    except Unsupported:
        return result
    except KernelRefError as error:
        ending = Ending(Stage.DEVICE, Outcome.HARNESS_ERROR, str(error), type(error).__name__)
        return replace(result, ending=ending)
    launches = tuple(item for item in prepared if isinstance(item, Ready))
    text = dump_case(attempt.as_case(attempt.ast, Ending(Stage.DEVICE, Outcome.WRONG_VALUE)))
    return replace(result, launches=launches, case=text) if launches else result


def _prepared(attempt: Attempt, subject: Subject, *, is_release: bool) -> Iterable[Prepared]:
    assert attempt.kernel is not None
    opts = attempt.kernel.applied_opts
    if is_release:
        plan = attempt.plan
        yield from prepare_release(
            subject, plan.optimizer, Listed(opts), attempt.limits, plan.targets
        )
        return
    for target in attempt.plan.targets:
        pair = Pair(str(attempt.number), target.name, opts=opts)
        made = prepare(subject, attempt.kernel, pair, target)
        yield replace(made, program=None) if isinstance(made, Ready) else made


@dataclass(slots=True)
class _Waiting:
    """A case whose launches are under way."""

    result: CaseResult
    missing: int
    endings: list[Ran] = field(default_factory=list)


class DeviceRung:
    """Runs launches and gives cases back (`campaign.Later`). Use as a context manager."""

    def __init__(self) -> None:
        self._lanes = Lanes(self._ended)
        self._waiting: dict[str, _Waiting] = {}
        self._lock = threading.Lock()
        self._finished: queue.SimpleQueue[CaseResult] = queue.SimpleQueue()

    def __enter__(self) -> DeviceRung:
        self._lanes.__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        self._lanes.__exit__(*exc)

    @property
    def pending(self) -> int:
        """Cases that have not been given back."""
        return len(self._waiting) + self._finished.qsize()

    def put(self, result: CaseResult) -> None:
        """Queue the launches of a case; waits while a lane is full."""
        name = str(result.number)
        with self._lock:
            self._waiting[name] = _Waiting(replace(result, launches=()), len(result.launches))
        for launch in result.launches:
            assert launch.pair.kernel == name, launch.pair
            self._lanes.put(launch)

    def ready(self) -> list[CaseResult]:
        """The cases that every device has answered for."""
        found: list[CaseResult] = []
        while not self._finished.empty():
            found.append(self._finished.get())
        return found

    def _ended(self, ending: Ran) -> None:
        """One launch came to its end; called from a lane's thread."""
        with self._lock:
            waiting = self._waiting[ending.pair.kernel]
            waiting.endings.append(ending)
            if len(waiting.endings) < waiting.missing:
                return
            self._finished.put(finished(waiting.result, waiting.endings))
            del self._waiting[ending.pair.kernel]


def finished(result: CaseResult, endings: list[Ran]) -> CaseResult:
    """The case with what the devices said."""
    said = "; ".join(
        f"{ran.pair.device}: {ran.outcome.value} {ran.detail}".rstrip()
        for ran in sorted(endings, key=lambda ran: ran.pair.device)
    )
    if result.is_finding:
        return replace(
            result, ending=replace(result.ending, detail=f"{result.ending.detail} [{said}]")
        )
    wrong = [ran for ran in endings if ran.outcome not in FINE]
    if not wrong:
        return replace(result, case="")
    where = "+".join(sorted({ran.pair.device for ran in wrong}))
    return replace(result, ending=Ending(Stage.DEVICE, wrong[0].outcome, said, where))
