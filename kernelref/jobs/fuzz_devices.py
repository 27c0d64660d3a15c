"""The device rung of a campaign: launches made by a worker, run in lanes, and their verdict.

The worker makes the text (ours, or a release's own); the parent runs it, in a thread for each
device, with what is waiting in one program build. A case comes back when every device has answered,
and each device's answer is told, so that one that stands alone is suspected first.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from kernelref.cases.case import dump_case
from kernelref.cases.sources import KernelSource, Place
from kernelref.errors import KernelRefError, Unsupported
from kernelref.fuzzing.campaign_case import Attempt, CaseResult
from kernelref.fuzzing.campaign_check import Ending, Stage
from kernelref.ir.tinygrad_repr import Dialect
from kernelref.jobs.opt_choice import Listed
from kernelref.jobs.run_judge import judged
from kernelref.jobs.run_lanes import BATCH, LARGE_NBYTES, SHORT, STOP_SECONDS
from kernelref.jobs.run_prepare import Prepared, Ready, prepare
from kernelref.jobs.run_release import prepare_release
from kernelref.jobs.run_report import FINE, Pair
from kernelref.jobs.run_report import Ending as Ran
from kernelref.jobs.run_subject import Subject
from kernelref.run.isolate import DevicePool
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
        self._lanes: dict[str, _Lane] = {}
        self._waiting: dict[str, _Waiting] = {}
        self._lock = threading.Lock()
        self._finished: queue.SimpleQueue[CaseResult] = queue.SimpleQueue()

    def __enter__(self) -> DeviceRung:
        return self

    def __exit__(self, *exc: object) -> None:
        for lane in self._lanes.values():
            lane.stop()
        for lane in self._lanes.values():
            lane.thread.join(STOP_SECONDS)

    @property
    def pending(self) -> int:
        """Cases that have not been given back."""
        return len(self._waiting) + self._finished.qsize()

    @property
    def is_full(self) -> bool:
        """Whether the devices have enough to do."""
        return len(self._waiting) >= 2 * BATCH

    def put(self, result: CaseResult) -> None:
        """Queue the launches of a case."""
        name = str(result.number)
        with self._lock:
            self._waiting[name] = _Waiting(replace(result, launches=()), len(result.launches))
        for launch in result.launches:
            assert launch.pair.kernel == name, launch.pair
            device = launch.pair.device
            if device not in self._lanes:
                self._lanes[device] = _Lane(device, self._ended)
            self._lanes[device].put(launch)

    def ready(self) -> list[CaseResult]:
        """The cases that every device has answered for. Raises: what ended a lane."""
        for lane in self._lanes.values():
            if lane.error is not None:
                raise lane.error
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


class _Lane:
    """A thread with one device: what waits is run together, what comes meanwhile after it.

    Unlike the lanes of `run` it never waits for more, since a campaign may wait for the last case.
    """

    def __init__(self, device: str, report: Callable[[Ran], None]) -> None:
        self._device = device
        self._report = report
        self._queue: queue.SimpleQueue[Ready | None] = queue.SimpleQueue()
        self._stopping = threading.Event()
        self.error: BaseException | None = None
        self.thread = threading.Thread(target=self._drain, name=f"lane-{device}", daemon=True)
        self.thread.start()

    def put(self, ready: Ready) -> None:
        """Queue a launch."""
        self._queue.put(ready)

    def stop(self) -> None:
        """Drop what is queued."""
        self._stopping.set()
        self._queue.put(None)

    def _drain(self) -> None:
        try:
            with DevicePool(self._device, batch=BATCH, budget=SHORT) as pool:
                while portion := self._portion():
                    launches = (ready.with_data() for ready in portion)
                    for ready, result in zip(portion, pool.run(launches), strict=True):
                        if self._stopping.is_set():
                            return
                        self._report(judged(ready, result))
        except BaseException as error:
            # Raised again in the main thread by `DeviceRung.ready`.
            self.error = error

    def _portion(self) -> list[Ready]:
        """What waits, at least one launch, not more than lies in memory well; none at the end."""
        portion: list[Ready] = []
        nbytes = 0
        while not portion or (nbytes < LARGE_NBYTES and len(portion) < 2 * BATCH):
            try:
                ready = self._queue.get(block=not portion)
            except queue.Empty:
                break
            if ready is None or self._stopping.is_set():
                return []
            portion.append(ready)
            nbytes += ready.nbytes
        return portion


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
