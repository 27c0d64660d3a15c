"""Host processes: they read kernels, lower and render them, and ask the oracle.

Work comes in tasks: some lines that are only read, or one kernel that is run. A task that takes its
process down costs that kernel alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field, replace

from pebble import ProcessExpired

from kernelref.cases.case import Case
from kernelref.cases.lines import Line
from kernelref.cases.sources import KernelSource, Place, Unreadable, read_at
from kernelref.codegen.target import Target
from kernelref.errors import DeviceError, InvalidInput, KernelOptError, Unsupported
from kernelref.jobs.choices import choices_for
from kernelref.jobs.lasting_pool import LastingPool, loss_of
from kernelref.jobs.opt_choice import OptChoice
from kernelref.jobs.orphan import begin_worker
from kernelref.jobs.run_beside import beside_published
from kernelref.jobs.run_judge import judged
from kernelref.jobs.run_prepare import Prepared, Ready, failed, prepare
from kernelref.jobs.run_release import prepare_release
from kernelref.jobs.run_report import Ending, Pair
from kernelref.jobs.run_schedules import Schedule, schedules
from kernelref.jobs.run_subject import Subject
from kernelref.opt.kernel import Kernel
from kernelref.optimizers.names import heuristic_of
from kernelref.optimizers.reference import chosen_by, load_heuristic
from kernelref.run.devices import INTERPRETER
from kernelref.run.interp.device import launch_program
from kernelref.run.outcome import Outcome

TASK_SECONDS = 1800.0


@dataclass(frozen=True, slots=True)
class Settings:
    """What all kernels of a run have in common, by name so that it is cheap to send.

    `is_strict`: an opt that is refused ends its sequence; otherwise it is skipped and counted.
    """

    seed: int
    opts: str
    rules: str | None
    limits: str | None
    targets: tuple[Target, ...]
    optimizer: str = "reference"
    is_strict: bool = False


@dataclass(frozen=True, slots=True)
class Task:
    """Places to read (with their lines when they are lines); `is_run`: and to prepare.

    `round` counts how often the kernels have been gone through, for sequences that are drawn.
    """

    places: tuple[tuple[Place, Line | None], ...]
    is_run: bool
    round: int = 0


@dataclass(slots=True)
class Answer:
    """What came of a task."""

    read: int = 0
    unreadable: list[str] = field(default_factory=list)
    prepared: list[Prepared] = field(default_factory=list)
    round: int = 0


def work(settings: Settings, task: Task) -> Answer:
    """Do a task, in a host process."""
    answer = Answer(round=task.round)
    for place, line in task.places:
        source = read_at(place, line)
        if isinstance(source, Unreadable) and not isinstance(source.error, Unsupported):
            answer.unreadable.append(str(source.error))
            continue
        answer.read += 1
        if not task.is_run:
            continue
        pairs = _pairs(settings, place, source)
        try:
            answer.prepared += _prepare(settings, source, pairs, task.round)
        except InvalidInput as error:
            answer.read -= 1
            answer.unreadable.append(f"{place}: {error}")
        except Exception as error:
            # Whatever goes wrong here is this kernel's ending, and the rest of the run goes on.
            answer.prepared += [failed(pair, error) for pair in pairs]
    return answer


def _pairs(
    settings: Settings, place: Place, source: KernelSource | Unreadable | None = None
) -> list[Pair]:
    """One a device."""
    case = source.case if isinstance(source, KernelSource) else None
    holds = case is not None and _is_own(settings, case)
    expects = case.expect.outcome if case and holds else Outcome.PASS.value
    return [Pair(str(place), target.name, expects=expects) for target in settings.targets]


def _is_own(settings: Settings, case: Case) -> bool:
    """Whether what the case expects holds: for its own opts, under its own rules."""
    release = settings.optimizer.replace("==", "-")
    is_own_optimizer = settings.optimizer == "reference" or release == case.rules
    return settings.opts == "own" and settings.rules is None and is_own_optimizer


def _prepare(
    settings: Settings, source: KernelSource | Unreadable, pairs: list[Pair], round: int
) -> list[Prepared]:
    """Every sequence of opts on every device."""
    if isinstance(source, Unreadable):
        raise source.error
    choice = choices_for(
        source, opts=settings.opts, rules=settings.rules, limits=settings.limits, round=round
    )
    if settings.optimizer.startswith("tinygrad"):
        subject = Subject.of(source, seed=settings.seed)
        if subject.windows:
            raise Unsupported("memory", "a release's text addresses the whole of a huge buffer")
        name, limits, targets = settings.optimizer, choice.limits, settings.targets
        own = prepare_release(subject, name, choice.opts, limits, targets, pairs[0].expects)
        return list(beside_published(own, subject, name, choice.opts, limits, targets))
    kernel = Kernel.open(source.ast, choice.limits, choice.rules)
    made = list(_schedules(settings, source, kernel, choice.opts))
    subject = Subject.of(source, seed=settings.seed)
    return [
        _tried(subject, schedule, pair, target)
        for schedule in made
        for pair, target in zip(pairs, settings.targets, strict=True)
    ]


def _schedules(
    settings: Settings, source: KernelSource, kernel: Kernel, choice: OptChoice
) -> Iterator[Schedule]:
    heuristic = heuristic_of(settings.optimizer)
    if heuristic:
        yield Schedule(chosen_by(load_heuristic(heuristic), kernel))
        return
    yield from schedules(
        kernel, source.opts or (), choice, salt=source.name, is_strict=settings.is_strict
    )


def _tried(subject: Subject, schedule: Schedule, pair: Pair, target: Target) -> Prepared:
    """One pair; what goes wrong here, be it in the interpreter, ends this pair alone."""
    pair = replace(
        pair,
        opts=schedule.kernel.applied_opts,
        refused=schedule.refused,
        asked=schedule.asked,
    )
    try:
        return _told(_scheduled(subject, schedule, pair, target))
    except InvalidInput:
        raise  # about the kernel, whatever its schedule
    except Exception as error:
        return failed(pair, error)


def _scheduled(subject: Subject, schedule: Schedule, pair: Pair, target: Target) -> Prepared:
    """One pair; a sequence that came to a stop ends there."""
    if schedule.stop is None:
        return prepare(subject, schedule.kernel, pair, target)
    is_refusal = isinstance(schedule.stop, KernelOptError)
    outcome = Outcome.REFUSED if is_refusal else Outcome.BROKE
    return Ending(pair, outcome, str(schedule.stop), reason=schedule.stop.check)


def _told(prepared: Prepared) -> Prepared:
    """What goes back: the interpreter runs here, a device gets the text without the Program."""
    if not isinstance(prepared, Ready):
        return prepared
    if prepared.pair.device != INTERPRETER:
        return replace(prepared, program=None)
    launch = prepared.with_data()
    assert prepared.program is not None
    result = launch_program(
        prepared.program, launch.buffers, launch.variables, ranges=launch.ranges
    )
    return judged(prepared, result)


class HostPool(LastingPool[Settings, Task, Answer]):
    """Processes that do tasks, at most a few of them waiting. Use as a context manager."""

    def __init__(self, settings: Settings, *, processes: int) -> None:
        super().__init__(
            work, settings, processes=processes, begin=begin_worker, seconds=TASK_SECONDS
        )

    def map(self, tasks: Iterable[Task]) -> Iterator[Answer]:
        """The answers, in the order in which they come; tasks are taken lazily."""
        for task, future in self.ended(tasks):
            yield self._answer(task, future)

    def _answer(self, task: Task, future: Future[Answer]) -> Answer:
        """The answer of a task, or what its loss means for its kernels."""
        try:
            return future.result()
        except (ProcessExpired, BrokenProcessPool) as error:
            loss = loss_of(error)
            if task.is_run and heuristic_of(self._settings.optimizer):
                return self._lost(task, lambda pair: _crash(pair, self._settings, loss))
            reason = f"the host process {loss}"
        except TimeoutError:
            reason = f"the host took more than {TASK_SECONDS:.0f} s"
        return self._lost(task, lambda pair: failed(pair, DeviceError(reason)))

    def _lost(self, task: Task, ending: Callable[[Pair], Ending]) -> Answer:
        answer = Answer(read=len(task.places), round=task.round)
        for place, _ in task.places:
            answer.prepared += map(ending, _pairs(self._settings, place))
        return answer


def _crash(pair: Pair, settings: Settings, loss: str) -> Ending:
    """What a user's heuristic is told when the process that it ran in is gone."""
    detail = f"the process that ran {settings.optimizer} on this kernel {loss}"
    return Ending(pair, Outcome.CRASH, detail, reason="heuristic")
