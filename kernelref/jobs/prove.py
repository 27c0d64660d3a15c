"""`kernelref prove`: every obligation of kernels under an optimizer's opts, and certificates."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Generator, Iterable
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pebble import ProcessExpired

from kernelref.cases.lines import Line
from kernelref.cases.sources import Place, Unreadable, list_kernels, read_at, sample
from kernelref.codegen.target import Target
from kernelref.errors import InvalidInput, Unsupported
from kernelref.jobs.choices import limits_of, rules_of
from kernelref.jobs.collector import begin_busy_worker
from kernelref.jobs.lasting_pool import LastingPool, loss_of
from kernelref.jobs.opt_choice import Actions, parse_opts
from kernelref.jobs.progress import Progress, silent
from kernelref.jobs.prove_kernel import Finished, Settings, prove_kernel
from kernelref.jobs.prove_report import ProveReport
from kernelref.jobs.run import target_named, with_lines
from kernelref.jobs.writable import check_file, check_folder
from kernelref.optimizers.names import heuristic_of
from kernelref.prove.certificate import read_certificate, write_certificate
from kernelref.prove.portfolio import CHECKING, ENGINES, portfolio_of
from kernelref.prove.subject import ANY, prove
from kernelref.prove.verdict import Answer, Verdict

KERNELS_A_TASK = 8


@dataclass(frozen=True, slots=True)
class ProveRequest:
    """What `prove` was asked for. Units: `budget` seconds of the whole run.

    `jobs` None: one a core, where there are kernels enough to be worth the start of a process.
    """

    kernels: tuple[str, ...]
    sample: int | None = None
    seed: int = 0
    opts: str = "own"
    rules: str | None = None
    limits: str | None = None
    optimizer: str = "reference"
    engines: tuple[str, ...] = ENGINES
    certificate: Path | None = None
    smt2: Path | None = None
    device: str = ANY.name
    generalises: bool = False
    jobs: int | None = 1
    budget: float | None = None


Item = tuple[Place, Line | None]


@dataclass(slots=True)
class Proven:
    """What came of some places."""

    looked_at: int
    read: int
    unreadable: list[str]
    finished: list[Finished]


def prove_places(settings: Settings, items: list[Item]) -> Proven:
    """Read and prove the kernels at some places."""
    found = Proven(len(items), 0, [], [])
    for place, line in items:
        source = read_at(place, line)
        if isinstance(source, Unreadable):
            if isinstance(source.error, Unsupported):
                left_out = source.error
                found.finished.append(
                    Finished(str(place), reason=left_out.reason, detail=left_out.detail)
                )
            else:
                found.unreadable.append(str(source.error))
            continue
        found.read += 1
        found.finished += prove_kernel(settings, source)
    return found


def _target(request: ProveRequest) -> Target:
    """What the Program is lowered for. Raises: InvalidInput, DeviceError."""
    if request.device == ANY.name:
        return ANY
    if request.certificate is not None:
        raise InvalidInput("a certificate is of any device", where="--device")
    return target_named(request.device)


def prove_kernels(request: ProveRequest, progress: Progress = silent) -> ProveReport:
    """Prove the kernels. Raises: InvalidInput; a kernel's own failure is part of the report."""
    choice = parse_opts(request.opts)
    if request.certificate is not None:
        check_file(request.certificate, "--certificate")
        if isinstance(choice, Actions):
            raise InvalidInput("of one sequence of opts, not of many", where="--certificate")
    if request.smt2 is not None:
        check_folder(request.smt2, "--smt2")
    if request.rules is not None:
        rules_of(request.rules)
    if request.limits is not None:
        limits_of(request.limits)
    settings = Settings(
        request.opts,
        request.rules,
        request.limits,
        request.optimizer,
        replace(portfolio_of(request.engines), smt2=request.smt2),
        wants_certificate=request.certificate is not None,
        generalises=request.generalises,
        target=_target(request),
    )
    listed = list_kernels(request.kernels)
    places = sample(listed, request.sample, request.seed)
    if request.certificate is not None and len(places) != 1:
        raise InvalidInput(f"of one kernel, not of {len(places)}", where="--certificate")
    report = ProveReport(
        request.opts,
        request.rules or "own",
        request.optimizer,
        request.seed,
        settings.portfolio.engines,
    )
    report.listed = len(listed)
    begin = time.perf_counter()
    try:
        _prove(request, settings, places, report, progress)
    except KeyboardInterrupt:
        # What is known so far is still told; the command line ends with its own code.
        report.stopped_early = report.interrupted = True
    report.sort([str(place) for place in places])
    report.seconds = time.perf_counter() - begin
    return report


def _prove(
    request: ProveRequest,
    settings: Settings,
    places: list[Place],
    report: ProveReport,
    progress: Progress,
) -> None:
    """Fill the report, until the kernels or the budget are at their end."""
    begin = time.perf_counter()
    done = 0
    processes, size = _shares(request, len(places))
    with closing(_work(settings, with_lines(places), processes, size)) as working:
        for found in working:
            report.looked_at += found.looked_at
            report.read += found.read
            report.unreadable += found.unreadable
            for finished in found.finished:
                report.add(finished)
                if request.certificate is not None and finished.certificate is not None:
                    _keep(finished.certificate, request.certificate)
            done += len(found.finished) + len(found.unreadable)
            progress(done, len(places), f"{report.refuted} refuted, {report.unproved} open")
            if request.budget is not None and time.perf_counter() - begin > request.budget:
                report.stopped_early = done < len(places)
                return


def _keep(certificate: Any, path: Path) -> None:
    try:
        write_certificate(certificate, path)
    except OSError as error:
        message = error.strerror or "cannot be written"
        raise InvalidInput(message, where=f"--certificate {path}") from None


def _shares(request: ProveRequest, kernels: int) -> tuple[int, int]:
    """How many processes, and how many kernels each is given at a time.

    A user's own function runs in a process of its own, one kernel at a time: it may crash.
    """
    is_users = bool(heuristic_of(request.optimizer))
    if request.jobs is None:
        processes = min(os.cpu_count() or 1, -(-kernels // KERNELS_A_TASK))
    else:
        processes = min(request.jobs, kernels)
    size = 1 if is_users else min(KERNELS_A_TASK, -(-kernels // processes))
    return processes, size


def _work(
    settings: Settings, items: Iterable[Item], processes: int, size: int
) -> Generator[Proven]:
    """In this process, or in several; in the order in which they are done."""
    if processes == 1 and not heuristic_of(settings.optimizer):
        for item in items:
            yield prove_places(settings, [item])
        return
    waiting = iter(items)
    tasks = iter(lambda: list(itertools.islice(waiting, size)), [])
    with LastingPool(prove_places, settings, processes=processes, begin=begin_busy_worker) as pool:
        for task, future in pool.ended(tasks):
            yield _proven(settings, task, future)


def _proven(settings: Settings, task: list[Item], future: Future[Proven]) -> Proven:
    """What came of a task, or its loss: where a user's function ran in it, that is to blame."""
    try:
        return future.result()
    except (ProcessExpired, BrokenProcessPool) as error:
        loss = loss_of(error)
    lost = [_lost(settings, place, loss) for place, _ in task]
    return Proven(len(task), len(task), [], lost)


def _lost(settings: Settings, place: Place, loss: str) -> Finished:
    if heuristic_of(settings.optimizer):
        says = f"the process that ran {settings.optimizer} on this kernel {loss}"
        return Finished(str(place), reason="heuristic-crashes", detail=says)
    return Finished(str(place), fault=f"the process that proved it {loss}")


# Certificates.


@dataclass(frozen=True, slots=True)
class Checked:
    """A certificate checked: the verdicts found again, and where they are not those it states."""

    verdicts: tuple[Verdict, ...]
    differences: tuple[str, ...]

    @property
    def refuted(self) -> int:
        """Obligations that do not hold."""
        return sum(v.answer is Answer.REFUTED for v in self.verdicts)

    @property
    def unproved(self) -> int:
        """Obligations that enumeration and the second solver do not settle."""
        return sum(v.answer in (Answer.UNKNOWN, Answer.UNSUPPORTED) for v in self.verdicts)

    def as_json(self) -> dict[str, Any]:
        """The object that `prove --check --json` prints."""
        from kernelref.prove.certificate import verdict_to_json

        return {
            "verb": "prove",
            "asked": list(CHECKING.engines),
            "obligations": len(self.verdicts),
            "proved": sum(v.answer is Answer.PROVED for v in self.verdicts),
            "refuted": self.refuted,
            "unknown": sum(v.answer is Answer.UNKNOWN for v in self.verdicts),
            "unsupported": sum(v.answer is Answer.UNSUPPORTED for v in self.verdicts),
            "differences": list(self.differences),
            "findings": [
                verdict_to_json(v) for v in self.verdicts if v.answer is not Answer.PROVED
            ],
        }


def check_certificate(path: Path) -> Checked:
    """Derive every obligation again, by enumeration or the second solver only.

    Raises: InvalidInput for a malformed certificate.
    """
    certificate = read_certificate(path)
    verdicts = prove(certificate.subject(), CHECKING)
    stated = {(step, obligation): answer for step, obligation, answer in certificate.answers}
    differences = [
        f"{v.step} {v.obligation.value}: stated {_said(stated.get((v.step, v.obligation)))}, "
        f"found {v.answer.value}"
        for v in verdicts
        if stated.get((v.step, v.obligation)) is not v.answer
    ]
    known = {(v.step, v.obligation) for v in verdicts}
    differences += [f"{s} {o.value}: no such obligation" for s, o in stated if (s, o) not in known]
    return Checked(verdicts, tuple(differences))


def _said(answer: Answer | None) -> str:
    return "nothing" if answer is None else answer.value
