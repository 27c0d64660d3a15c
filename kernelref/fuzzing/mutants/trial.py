"""A trial: one mutant in a process of its own, put through the suite until something notices.

The process runs this module: a Trial comes in on stdin, a Verdict goes out on stdout. Until the
mutant is planted it imports nothing that a mutant may change.
"""

from __future__ import annotations

import importlib
import pickle
import resource
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from kernelref.fuzzing.mutants.mutant import CONFORM, MISSED, REFUTED, Edit
from kernelref.fuzzing.mutants.plant import plant
from kernelref.fuzzing.mutants.question import Ended, Question, Subject, Suite

PROBE_SECONDS = 20.0
"""CPU time for one question: a mutant may never come to an end."""

MEMORY_NBYTES = 6 << 30
PARTS = ("examine", "laws", "states")

PROOF_SECONDS = 120.0
WRONG = (
    *("WRONG_VALUE", "UNWRITTEN", "OUT_OF_BOUNDS", "UNINITIALISED"),
    *("RACE", "BARRIER_DIVERGENCE", "INDEX_OVERFLOW", "TRAP"),
)
"""Outcomes of a kernel that computes something else than its AST."""


@dataclass(frozen=True, slots=True)
class Trial:
    """What a process is asked. `first`: the probe to begin with; `only`: ask no other.

    `usual`: how `first` ends without the mutant where another fault is planted beside it. `proves`:
    ask the prover as well, of the first stored kernel that comes out wrong.
    """

    name: str
    edits: tuple[Edit, ...]
    suite: str
    first: str = ""
    only: bool = False
    usual: str = ""
    own_oracle: bool = False
    proves: bool = False


@dataclass(frozen=True, slots=True)
class Verdict:
    """What noticed a mutant: how `probe` ended; outcome "" when nothing did.

    `asked` questions had been asked by then. Units: `seconds` of CPU time from the import on.
    `proof`: what the prover says of the kernel of `proof_probe`, which comes out wrong; "" where
    it was not asked, or nothing stored comes out wrong.
    """

    name: str
    ended: Ended
    probe: str = ""
    asked: int = 0
    seconds: float = 0.0
    at_import: bool = False
    proof: str = ""
    proof_probe: str = ""


def run_trial(trial: Trial) -> Verdict:
    """Plant, import, ask. Raises: AssertionError in a process that has imported what is changed."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_NBYTES, MEMORY_NBYTES))
    suite: Suite = pickle.loads(Path(trial.suite).read_bytes())
    plant(trial.edits)
    started = time.process_time()
    try:
        for part in PARTS:
            importlib.import_module(f"kernelref.fuzzing.mutants.{part}")
        for edit in trial.edits:
            importlib.import_module(edit.module)
    except Exception as error:
        ended = Ended("HARNESS_ERROR", f"at import: {type(error).__name__}: {error}")
        return Verdict(trial.name, ended, at_import=True)
    verdict = _asked(trial, suite)
    if trial.proves:
        verdict = _proved(trial, suite, verdict)
    return replace(verdict, seconds=time.process_time() - started)


def _asked(trial: Trial, suite: Suite) -> Verdict:
    asked = 0
    for ended, probe in _noticed(trial, suite):
        asked += 1
        if ended is not None:
            return Verdict(trial.name, ended, probe, asked)
    return Verdict(trial.name, Ended(""), "", asked)


def _proved(trial: Trial, suite: Suite, verdict: Verdict) -> Verdict:
    """The verdict with what the prover says."""
    from kernelref.fuzzing.mutants.examine import examine
    from kernelref.fuzzing.mutants.proof import proof_of

    for question in _ordered(trial, suite):
        subject = suite.subjects[question.probe.case]
        if question.probe.is_built or question.ended.outcome != "PASS":
            continue
        with limited():
            ended = examine(subject, question)
        if ended.outcome in WRONG:
            with limited(PROOF_SECONDS):
                proof = proof_of(subject, question)
            return replace(verdict, proof=proof, proof_probe=question.probe.name)
    return verdict


def _noticed(trial: Trial, suite: Suite) -> Iterator[tuple[Ended | None, str]]:
    """For each question in turn how it ended, where that is not as usual; None where it is."""
    from kernelref.fuzzing.mutants.examine import examine

    for question in _ordered(trial, suite):
        subject = suite.subjects[question.probe.case]
        usual = question.ended.outcome
        if trial.usual and question.probe.name == trial.first:
            usual = trial.usual
        with limited():
            ended = examine(subject, question, own_oracle=trial.own_oracle)
        if ended.outcome != usual and trial.usual:
            ended = Ended(MISSED, f"{ended} instead of {usual}")
        yield (ended if ended.outcome != usual else None), question.probe.name
    if trial.own_oracle or (trial.only and trial.usual):
        return
    yield from _laws(trial, suite)
    if not trial.only:
        yield from _states(suite)


def _ordered(trial: Trial, suite: Suite) -> Iterator[Question]:
    if trial.first:
        yield suite.questions[trial.first]
    if not trial.only:
        yield from (q for name, q in suite.questions.items() if name != trial.first)


def _laws(trial: Trial, suite: Suite) -> Iterator[tuple[Ended | None, str]]:
    for question in _ordered(trial, suite):
        wrong = _law_of(suite.subjects[question.probe.case], question)
        yield (Ended(REFUTED, wrong) if wrong else None), question.probe.name


def _law_of(subject: Subject, question: Question) -> str:
    from kernelref.fuzzing.mutants.laws import broken_law

    try:
        with limited():
            return broken_law(subject, question)
    except Exception as error:
        # The prover would not get further with it either.
        return f"{type(error).__name__}: {error}"


def _states(suite: Suite) -> Iterator[tuple[Ended | None, str]]:
    from kernelref.fuzzing.mutants.states import states

    for case, walk in suite.walks.items():
        with limited():
            found = list(states(suite.subjects[case], walk))
        for name, state in found:
            yield (None if suite.states[name] == state else Ended(CONFORM)), name


@contextmanager
def limited(seconds: float = PROBE_SECONDS) -> Iterator[None]:
    """TimeoutError in what takes more CPU time."""

    def stop(_signal: int, _frame: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)


def main() -> None:
    """Answer the trial on stdin."""
    # As the module of this name, so that what is unpickled is of the classes that are here.
    from kernelref.fuzzing.mutants import trial

    asked: Trial = pickle.load(sys.stdin.buffer)
    answer = sys.stdout.buffer
    sys.stdout = sys.stderr
    answer.write(pickle.dumps(trial.run_trial(asked)))
    answer.flush()


if __name__ == "__main__":
    main()
