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
from typing import TypeGuard

from kernelref.cases.case import dump_case, parse_case
from kernelref.codegen.target import Target
from kernelref.errors import KernelRefError, Unsupported
from kernelref.fuzzing.campaign_case import Attempt, in_words
from kernelref.fuzzing.campaign_check import Ending, Stage
from kernelref.fuzzing.campaign_result import CaseResult, Confirmed, retold
from kernelref.jobs.fuzz_blame import Blame
from kernelref.jobs.fuzz_changed import finished_changed, is_changed, with_changed_launches
from kernelref.jobs.fuzz_ran import RUNS_ON_DEVICES, is_own, not_run, not_run_anywhere, subject_of
from kernelref.jobs.opt_choice import Listed
from kernelref.jobs.run_judge import judged
from kernelref.jobs.run_lanes import BATCH, LARGE_NBYTES, SHORT, STOP_SECONDS
from kernelref.jobs.run_prepare import Prepared, Ready, prepare
from kernelref.jobs.run_release import prepare_release
from kernelref.jobs.run_report import FINE, Pair
from kernelref.jobs.run_report import Ending as Ran
from kernelref.jobs.run_subject import Subject
from kernelref.opt.opt import Opt
from kernelref.optimizers.installed import InstalledOptimizer
from kernelref.optimizers.names import fresh_release
from kernelref.optimizers.process import WorkerError
from kernelref.run.isolate import DevicePool
from kernelref.run.outcome import Outcome

NOT_RUN = "its text was not run"
"""Why a host finding of a release is one of our stand-in alone: bfloat16, half on this device."""


def with_launches(attempt: Attempt, result: CaseResult) -> CaseResult:
    """The case with a launch for each device, where it is one for devices."""
    is_release = attempt.plan.optimizer.startswith("tinygrad")
    if is_changed(attempt.plan.optimizer):
        return with_changed_launches(attempt, result)
    wanted = RUNS_ON_DEVICES if is_release else {Outcome.PASS}
    if attempt.ast is None or attempt.kernel is None or result.ending.outcome not in wanted:
        return result
    case = attempt.as_case(attempt.ast, Ending(Stage.DEVICE, Outcome.WRONG_VALUE))
    try:
        subject = subject_of(attempt, case)
        prepared = list(_prepared(attempt, subject, attempt.kernel.applied_opts))
        broken = next((item for item in prepared if _breaks(item)), None)
        if isinstance(broken, Ran):
            return _broken(replace(result, case=dump_case(case)), broken, attempt, subject)
    except Unsupported as error:
        return replace(result, not_run=not_run_anywhere(attempt, error))
    except KernelRefError as error:
        ending = Ending(Stage.DEVICE, Outcome.HARNESS_ERROR, str(error), type(error).__name__)
        return replace(result, ending=ending, case=dump_case(retold(case, ending)))
    result = replace(result, not_run=not_run(prepared))
    launches = tuple(item for item in prepared if isinstance(item, Ready))
    if launches:
        return replace(result, launches=launches, case=result.case or dump_case(case))
    if is_release and result.is_finding:
        return replace(result, ending=replace(result.ending, reason=NOT_RUN))
    return result


def _broken(result: CaseResult, broken: Ran, attempt: Attempt, subject: Subject) -> CaseResult:
    """A release that falls over when it is to print its kernel: without opts, or with them, in a
    process that has printed nothing else."""
    reason = in_words(broken.detail)
    ending = Ending(Stage.DEVICE, Outcome.BROKE, broken.detail, reason)
    result = replace(result, confirmed=Confirmed.UNASKED).ended(ending)
    last: Outcome = Outcome.PASS
    for opts in dict.fromkeys(((), result.opts)):
        try:
            with fresh_release(attempt.plan.optimizer) as release:
                made = list(_prepared(attempt, subject, opts, release))
        except WorkerError:
            return result
        if any(_breaks(item) and in_words(item.detail) == reason for item in made):
            case = replace(parse_case(result.case), opts=opts)
            told = replace(result, opts=opts, case=dump_case(case))
            return told.marked(Confirmed.FRESH, Outcome.BROKE)
        last = next((item.outcome for item in made if isinstance(item, Ran)), Outcome.PASS)
    return result.marked(Confirmed.HISTORY, last)


def _breaks(item: Prepared) -> TypeGuard[Ran]:
    """Whether the release falls over when it is to print its kernel."""
    return isinstance(item, Ran) and item.outcome is Outcome.BROKE


def _prepared(
    attempt: Attempt,
    subject: Subject,
    opts: tuple[Opt, ...],
    release: InstalledOptimizer | None = None,
) -> Iterable[Prepared]:
    assert attempt.kernel is not None
    plan = attempt.plan
    if plan.optimizer.startswith("tinygrad"):
        yield from prepare_release(
            subject, plan.optimizer, Listed(opts), attempt.limits, plan.targets, release=release
        )
        return
    for target in plan.targets:
        pair = Pair(str(attempt.number), target.name, opts=opts)
        made = prepare(subject, attempt.kernel, pair, target)
        yield replace(made, program=None) if isinstance(made, Ready) else made


@dataclass(slots=True)
class _Waiting:
    """A case whose launches are under way."""

    result: CaseResult
    missing: int
    texts: dict[str, str]
    endings: list[Ran] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Failed:
    """A case whose text ended badly on a device."""

    result: CaseResult
    text: str


class DeviceRung:
    """Runs launches and gives cases back (`campaign.Later`). Use as a context manager.

    `optimizer`: where it is a release, what its text does wrong is tried in a process of it that
    has served nothing else, and put down to a cause if it is the release as published.
    """

    def __init__(self, optimizer: str = "reference", targets: tuple[Target, ...] = ()) -> None:
        self._is_changed = is_changed(optimizer)
        self._is_release = optimizer.startswith("tinygrad") and not self._is_changed
        is_minimised = not self._is_changed
        self._blames = {t.name: Blame(optimizer, t, is_minimised) for t in targets}
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
            texts = {it.pair.device: it.launch.source for it in result.launches if is_own(it)}
            self._waiting[name] = _Waiting(
                replace(result, launches=()), len(result.launches), texts
            )
        for launch in result.launches:
            assert launch.pair.kernel == name, launch.pair
            self._lane(launch.pair.device).put(launch)

    def ready(self) -> list[CaseResult]:
        """The cases that every device has answered for. Raises: what ended a lane."""
        for lane in tuple(self._lanes.values()):
            if lane.error is not None:
                raise lane.error
        found: list[CaseResult] = []
        while not self._finished.empty():
            found.append(self._finished.get())
        return found

    def _lane(self, device: str) -> _Lane:
        if device not in self._lanes:
            self._lanes[device] = _Lane(device, self._ended, self._blamed)
        return self._lanes[device]

    def _ended(self, ending: Ran) -> None:
        """One launch came to its end; called from a lane's thread."""
        with self._lock:
            waiting = self._waiting[ending.pair.kernel]
            waiting.endings.append(ending)
            if len(waiting.endings) < waiting.missing:
                return
        if self._is_changed:
            result = finished_changed(waiting.result, waiting.endings)
        else:
            result = finished(waiting.result, waiting.endings, is_release=self._is_release)
        is_text = result.is_finding and result.ending.stage is Stage.DEVICE
        if is_text and (self._is_release or self._is_changed):
            outcome = result.ending.outcome
            device = min(
                ran.pair.device for ran in waiting.endings if is_own(ran) and ran.outcome is outcome
            )
            self._lanes[device].put(_Failed(result, waiting.texts.get(device, "")))
        else:
            self._give_back(result)

    def _blamed(self, device: str, failed: _Failed, pool: DevicePool) -> None:
        """A release's text failed: say why; called from the lane's thread."""
        self._give_back(self._blames[device].of(failed.result, pool, failed.text))

    def _give_back(self, result: CaseResult) -> None:
        with self._lock:
            self._finished.put(result)
            del self._waiting[str(result.number)]


class _Lane:
    """A thread with one device: what waits is run together, what comes meanwhile after it.

    Unlike the lanes of `run` it never waits for more, since a campaign may wait for the last case.
    """

    def __init__(
        self,
        device: str,
        report: Callable[[Ran], None],
        blame: Callable[[str, _Failed, DevicePool], None],
    ) -> None:
        self._device = device
        self._report = report
        self._blame = blame
        self._queue: queue.SimpleQueue[Ready | _Failed | None] = queue.SimpleQueue()
        self._stopping = threading.Event()
        self.error: BaseException | None = None
        self.thread = threading.Thread(target=self._drain, name=f"lane-{device}", daemon=True)
        self.thread.start()

    def put(self, item: Ready | _Failed) -> None:
        """Queue a launch, or a case whose launch failed."""
        self._queue.put(item)

    def stop(self) -> None:
        """Drop what is queued."""
        self._stopping.set()
        self._queue.put(None)

    def _drain(self) -> None:
        try:
            with DevicePool(self._device, batch=BATCH, budget=SHORT) as pool:
                while portion := self._portion():
                    self._run([item for item in portion if isinstance(item, Ready)], pool)
                    for item in portion:
                        if isinstance(item, _Failed) and not self._stopping.is_set():
                            self._blame(self._device, item, pool)
        except BaseException as error:
            # Raised again in the main thread by `DeviceRung.ready`.
            self.error = error

    def _run(self, launches: list[Ready], pool: DevicePool) -> None:
        with_data = (ready.with_data() for ready in launches)
        for ready, result in zip(launches, pool.run(with_data), strict=True):
            if self._stopping.is_set():
                return
            self._report(judged(ready, result))

    def _portion(self) -> list[Ready | _Failed]:
        """What waits, at least one thing, not more than lies in memory well; none at the end."""
        portion: list[Ready | _Failed] = []
        nbytes = 0
        while not portion or (nbytes < LARGE_NBYTES and len(portion) < 2 * BATCH):
            try:
                item = self._queue.get(block=not portion)
            except queue.Empty:
                break
            if item is None or self._stopping.is_set():
                return []
            portion.append(item)
            nbytes += item.nbytes if isinstance(item, Ready) else 0
        return portion


def finished(result: CaseResult, endings: list[Ran], *, is_release: bool = False) -> CaseResult:
    """The case with what the devices said.

    Of a release the devices ran its own text, the host a stand-in of ours. So where the text is
    right the release is, and where none could be run the finding says so.
    """
    said = "; ".join(
        f"{ran.pair.device}: {ran.outcome.value} {ran.detail}".rstrip()
        for ran in sorted(endings, key=lambda ran: ran.pair.device)
    )
    result = replace(result, not_run=(*result.not_run, *not_run(endings)))
    wrong = [ran for ran in endings if ran.outcome not in FINE]
    if result.is_finding and not (is_release and wrong):
        host = result.ending
        if is_release and any(ran.outcome is Outcome.PASS for ran in endings):
            detail = f"on the host {host.outcome.value} {host.detail} [{said}]"
            ending = replace(host, outcome=Outcome.PASS, detail=detail, reason="text-is-right")
            return replace(result, ending=ending, case="", confirmed=Confirmed.UNASKED)
        reason = NOT_RUN if is_release else host.reason
        return result.ended(replace(host, detail=f"{host.detail} [{said}]", reason=reason))
    if not wrong:
        return replace(result, case="")
    where = "+".join(sorted({ran.pair.device for ran in wrong}))
    result = replace(result, confirmed=Confirmed.UNASKED)
    return result.ended(Ending(Stage.DEVICE, wrong[0].outcome, said, where))
