"""`kernelref selftest`: mutants are planted one by one, and what notices each is told.

It measures the checks, not the kernels: a mutant that nothing notices is a hole in what is checked.
"""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import kernelref
from kernelref.errors import InvalidInput, KernelRefError
from kernelref.fuzzing.mutants.draw import fresh
from kernelref.fuzzing.mutants.fuzzed import Found, found
from kernelref.fuzzing.mutants.kill import Kill, Processes, kills, probes_of
from kernelref.fuzzing.mutants.mutant import Mutant
from kernelref.fuzzing.mutants.question import Ended
from kernelref.fuzzing.mutants.registry import MUTANTS, mutant_named
from kernelref.fuzzing.mutants.suite import make_suite
from kernelref.fuzzing.mutants.trial import Verdict
from kernelref.jobs.progress import Progress, silent

STATUSES = ("killed", "survived", "equivalent", "conform_only")


@dataclass(frozen=True, slots=True)
class SelftestRequest:
    """What `selftest` was asked for: mutants by name (none: all), or a sample of them by `seed`.

    `is_quick`: each mutant meets its own input only, and those without one are left out. `drawn`,
    a seed and a count: mutants drawn anew instead. `proves`: the prover is asked of the first
    stored kernel that a mutant makes wrong. `with_fuzz`: the tests of fuzz/ are what must notice
    them.
    """

    names: tuple[str, ...] = ()
    sample: int | None = None
    seed: int = 0
    jobs: int | None = None
    is_quick: bool = False
    drawn: tuple[int, int] | None = None
    proves: bool = False
    with_fuzz: bool = False


@dataclass(slots=True)
class SelftestReport:
    """The kills in the order of the registry; `questions` and `states` count what was asked."""

    kills: list[Kill] = field(default_factory=list)
    questions: int = 0
    states: int = 0
    seconds: float = 0.0
    with_fuzz: bool = False
    interrupted: bool = False

    def having(self, status: str) -> list[Kill]:
        """The kills of one status."""
        return [kill for kill in self.kills if kill.status == status]

    @property
    def unexpected(self) -> list[Kill]:
        """Those that ended in another way than the registry says; a test of fuzz/ says no way."""
        if self.with_fuzz:
            return []
        return [kill for kill in self.kills if kill.is_unexpected]

    @property
    def findings(self) -> int:
        """Mutants that show a hole in the checks or a wrong word in the registry."""
        holes = (*self.having("survived"), *self.unexpected, *self.proved_wrong)
        return len({kill.mutant.name for kill in holes})

    @property
    def proved_wrong(self) -> list[Kill]:
        """Those of which a wrong kernel was proved."""
        return [kill for kill in self.kills if kill.verdict.proof == "PROVED"]

    def as_json(self) -> dict[str, Any]:
        """The object that `selftest --json` prints."""
        killed = self.having("killed")
        return {
            "verb": "selftest",
            "mutants": len(self.kills),
            **{status: len(self.having(status)) for status in STATUSES},
            "at_import": sum(kill.verdict.at_import for kill in killed),
            "by_outcome": _counted(kill.verdict.ended.outcome for kill in killed),
            "by_layer": _counted(kill.mutant.layer for kill in self.kills),
            "by_origin": _counted(origin_of(kill.mutant) for kill in self.kills),
            "questions": self.questions,
            "states": self.states,
            "seconds": round(self.seconds, 3),
            "interrupted": self.interrupted,
            "survivors": [kill.mutant.name for kill in self.having("survived")],
            "proved_wrong": [kill.mutant.name for kill in self.proved_wrong],
            "by_proof": _counted(
                kill.verdict.proof.split(":")[0] for kill in self.kills if kill.verdict.proof
            ),
            "unexpected": [_row(kill) for kill in self.unexpected],
            "kills": [_row(kill) for kill in self.kills],
        }


def selftest(request: SelftestRequest, progress: Progress = silent) -> SelftestReport:
    """Plant the mutants. Raises: InvalidInput for a name that is none."""
    started = time.monotonic()
    chosen = chosen_mutants(request)
    if request.with_fuzz:
        report = SelftestReport(with_fuzz=True)
        # An equivalent mutant changes nothing: whatever fails with it fails without it.
        chosen = [mutant for mutant in chosen if not mutant.equivalent]
        running = under_fuzz(chosen, request.jobs or 1)
        return _collected(report, chosen, running, started, progress)
    progress(0, len(chosen), "asking the code as it is")
    report = SelftestReport()
    return _collected(report, chosen, _asked(request, chosen, report), started, progress)


def _asked(
    request: SelftestRequest, chosen: list[Mutant], report: SelftestReport
) -> Iterator[Kill]:
    """Each mutant with what notices it, once the code as it is has answered."""
    suite = make_suite(probes_of(chosen), is_whole=not request.is_quick)
    report.questions, report.states = len(suite.questions), len(suite.states)
    yield from kills(
        chosen,
        MUTANTS,
        suite,
        processes=request.jobs or os.cpu_count() or 1,
        only=request.is_quick,
        proves=request.proves,
    )


def _collected(
    report: SelftestReport,
    chosen: list[Mutant],
    running: Iterator[Kill],
    started: float,
    progress: Progress,
) -> SelftestReport:
    """The report of kills as they come."""
    try:
        for done, kill in enumerate(running, 1):
            report.kills.append(kill)
            survivors = [kill.mutant.name for kill in report.having("survived")]
            progress(done, len(chosen), f"survived: {', '.join(survivors)}" if survivors else "")
    except KeyboardInterrupt:
        # What is known so far is still told; the command line ends with its own code.
        report.interrupted = True
    order = {mutant.name: i for i, mutant in enumerate(chosen)}
    report.kills.sort(key=lambda kill: order[kill.mutant.name])
    report.seconds = time.monotonic() - started
    return report


def under_fuzz(mutants: list[Mutant], processes: int) -> Iterator[Kill]:
    """Each mutant with the test of fuzz/ that notices it.

    Raises: InvalidInput without fuzz/; KernelRefError where a test fails without a mutant, too.
    """
    root = Path(kernelref.__file__).parents[1]
    if not (root / "fuzz" / "conftest.py").exists():
        raise InvalidInput("the tests of fuzz/ are in a checkout only", where="--with fuzz")
    with Processes() as running, ThreadPoolExecutor(processes) as threads:
        try:
            control = threads.submit(found, (), root, running).result()
            if control.test:
                raise KernelRefError(f"without any mutant {control.test} does not pass")
            waiting = {threads.submit(found, m.edits, root, running): m for m in mutants}
            for future in as_completed(waiting):
                yield Kill(waiting[future], _verdict(waiting[future].name, future.result()))
        finally:
            threads.shutdown(wait=False, cancel_futures=True)
            running.stop()


def _verdict(name: str, ended: Found) -> Verdict:
    outcome = "HUNG" if ended.is_hung else "FAILED" if ended.test else ""
    return Verdict(name, Ended(outcome), ended.test, ended.asked, ended.seconds)


def chosen_mutants(request: SelftestRequest) -> list[Mutant]:
    """The mutants that are asked for, in the order of the registry."""
    if request.drawn is not None:
        return fresh(*request.drawn)
    found = [mutant_named(name) for name in request.names] or list(MUTANTS.values())
    if request.is_quick:
        found = [mutant for mutant in found if mutant.is_quick]
    if request.sample is not None and request.sample < len(found):
        found = random.Random(request.seed).sample(found, request.sample)
    return found


def origin_of(mutant: Mutant) -> str:
    """Who made it."""
    return "drawn" if mutant.is_drawn else "by hand"


def parse_drawn(text: str | None) -> tuple[int, int] | None:
    """SEED:COUNT. Raises: InvalidInput."""
    if text is None:
        return None
    match text.split(":"):
        case [seed, count] if all(word.isascii() and word.isdecimal() for word in (seed, count)):
            return int(seed), int(count)
    raise InvalidInput("write SEED:COUNT", where=f"--draw {text[:40]}")


def _counted(words: Any) -> dict[str, int]:
    return dict(sorted(Counter(words).items()))


def _row(kill: Kill) -> dict[str, Any]:
    mutant, verdict = kill.mutant, kill.verdict
    return {
        "mutant": mutant.name,
        "module": mutant.modules[0],
        "origin": origin_of(mutant),
        "status": kill.status,
        "outcome": verdict.ended.outcome,
        "expects": mutant.expects,
        "input": verdict.probe,
        "asked": verdict.asked,
        "seconds": round(verdict.seconds, 3),
        "detail": verdict.ended.detail,
        "proof": verdict.proof,
        "proof_input": verdict.proof_probe,
    }
