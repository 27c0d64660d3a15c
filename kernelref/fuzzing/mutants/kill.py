"""Kills: the registry's mutants in processes, and what became of each."""

from __future__ import annotations

import pickle
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernelref.fuzzing.mutants.mutant import CONFORM, Mutant
from kernelref.fuzzing.mutants.question import Ended, Probe, Suite
from kernelref.fuzzing.mutants.trial import Trial, Verdict

WALL_SECONDS = 1800.0
"""A kill switch: CPU time is what ends a trial."""

COMMAND = (sys.executable, "-m", "kernelref.fuzzing.mutants.trial")
ORACLE_SIDE = ("kernelref.run.",)
MACHINE_SIDE = ("kernelref.run.interp.",)
PROVED_LAYERS = ("ir", "opt", "codegen")
"""Layers that decide what a proof is about; the others run what was proved."""


@dataclass(frozen=True, slots=True)
class Kill:
    """A mutant and its verdict. `is_unexpected`: it ended in another way than the registry says."""

    mutant: Mutant
    verdict: Verdict

    @property
    def status(self) -> str:
        """killed, conform_only, equivalent or survived."""
        outcome = self.verdict.ended.outcome
        if not outcome:
            return "equivalent" if self.mutant.equivalent else "survived"
        return "conform_only" if outcome == CONFORM else "killed"

    @property
    def is_unexpected(self) -> bool:
        """Whether what noticed it is not what the registry says."""
        outcome = self.verdict.ended.outcome
        if self.mutant.equivalent:
            return bool(outcome)
        return bool(self.mutant.expects) and outcome != self.mutant.expects


def trial_of(
    mutant: Mutant,
    by_name: dict[str, Mutant],
    suite: str,
    *,
    only: bool = False,
    proves: bool = False,
) -> Trial:
    """How a mutant is tried: what is planted beside it, and what it is asked."""
    beside = by_name[mutant.beside] if mutant.beside else None
    edits = mutant.edits if beside is None else (*mutant.edits, *beside.edits)
    own = all(m.startswith(ORACLE_SIDE) and not m.startswith(MACHINE_SIDE) for m in mutant.modules)
    return Trial(
        name=mutant.name,
        edits=edits,
        suite=suite,
        first=mutant.probe.name if mutant.probe else "",
        only=only or beside is not None,
        usual="" if beside is None else beside.expects,
        own_oracle=own,
        proves=proves and mutant.layer in PROVED_LAYERS,
    )


def kills(
    mutants: Iterable[Mutant],
    by_name: dict[str, Mutant],
    suite: Suite,
    *,
    processes: int = 2,
    only: bool = False,
    proves: bool = False,
) -> Iterator[Kill]:
    """Each mutant with its verdict, in the order they come.

    `only`: ask its own probe alone; `proves`: ask the prover too.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "suite"
        path.write_bytes(pickle.dumps(suite))
        with Processes() as running, ThreadPoolExecutor(processes) as threads:
            waiting: dict[Future[Verdict], Mutant] = {}
            for mutant in mutants:
                trial = trial_of(mutant, by_name, str(path), only=only, proves=proves)
                waiting[threads.submit(running.verdict, trial)] = mutant
            try:
                for future in as_completed(waiting):
                    yield Kill(waiting[future], future.result())
            finally:
                threads.shutdown(wait=False, cancel_futures=True)
                running.stop()


class Processes:
    """Trials in processes of their own, which nothing was imported in. A context manager."""

    def __init__(self) -> None:
        self._running: set[subprocess.Popen[bytes]] = set()

    def __enter__(self) -> Processes:
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

    def stop(self) -> None:
        """End what still runs."""
        for process in tuple(self._running):
            process.kill()

    @contextmanager
    def started(self, command: Sequence[str], **given: Any) -> Iterator[subprocess.Popen[bytes]]:
        """A process that `stop` ends."""
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **given
        ) as process:
            self._running.add(process)
            try:
                yield process
            finally:
                self._running.discard(process)

    def verdict(self, trial: Trial) -> Verdict:
        """The verdict of one; a process that is lost noticed something, too."""
        with self.started(COMMAND) as process:
            try:
                told, _ = process.communicate(pickle.dumps(trial), timeout=WALL_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                return Verdict(trial.name, Ended("TIMEOUT", f"more than {WALL_SECONDS:.0f} s"))
        if process.returncode:
            return Verdict(trial.name, Ended("CRASH", f"code {process.returncode}"))
        verdict: Verdict = pickle.loads(told)
        return verdict


def probes_of(mutants: Iterable[Mutant]) -> list[Probe]:
    """The inputs that mutants name, once each."""
    return list(dict.fromkeys(mutant.probe for mutant in mutants if mutant.probe))
