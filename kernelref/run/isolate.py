"""Device workers: each device runs in processes of its own, under a watchdog.

Read `run/job` first. `DevicePool` takes launches and gives one `LaunchResult` for each, in order.

A batch lies in a folder of its own before it runs: `running.json` for people, `batch.pickle` to
run it again. The worker adds each result to `results.pickle` as soon as it has it, says in
`progress` which launch is next, and sends what drivers print to `stderr.txt`. So when a worker
crashes or hangs, what came before is kept, the launch that ran is tried once more alone (that
decides), and the rest goes to a fresh worker. A crash while building splits the batch in halves.

The watchdog is the system's interval timer with its default action, which ends a process that is
stuck in a driver; pebble's time limit is the second line. A worker whose kernel wrote where it must
not is ended too, since the damage may show in the next kernel.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import pickle
import shutil
import signal
import tempfile
import time
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from types import NoneType

from pebble import ProcessExpired, ProcessPool

from kernelref.errors import DeviceError
from kernelref.run.devices import DEFAULT_DEVICE, device_kind
from kernelref.run.job import Budget, KernelLaunch, LaunchResult
from kernelref.run.outcome import Outcome
from kernelref.run.worker import BUILDING, EXIT_DAMAGED, WorkerSetup, arrivals, arrive, work

GRACE_SECONDS = 30.0
ARRIVAL_SECONDS = 10.0
MOST_LOSSES = 8
LAST_WORDS_LENGTH = 1000

_MEMORY_WORDS = ("bad_alloc", "out of memory", "Cannot allocate memory", "failed to allocate")


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Launches that go to one program build. `places` are their places in the caller's order.

    `company` says how an earlier run in a larger batch ended, when this is the second try.
    """

    places: tuple[int, ...]
    launches: tuple[KernelLaunch, ...]
    company: str = ""

    def part(self, start: int, stop: int, company: str = "") -> Batch:
        """Some of its launches."""
        return Batch(self.places[start:stop], self.launches[start:stop], company)


class DevicePool:
    """Workers of one device. Use as a context manager; leaving it ends the workers.

    `device` is a name (`run/devices`). `journal` is the folder where what is being run is written
    before it runs; None keeps it in a temporary folder.
    """

    def __init__(
        self,
        device: str = DEFAULT_DEVICE,
        *,
        workers: int = 1,
        batch: int = 16,
        budget: Budget | None = None,
        journal: Path | None = None,
    ) -> None:
        self.kind = device_kind(device)
        self.workers = workers
        self.batch = batch
        self.budget = budget or Budget()
        # Removed when the interpreter ends too, where an interrupted run never leaves the pool.
        self._temporary = tempfile.TemporaryDirectory(
            prefix="kernelref-", ignore_cleanup_errors=True
        )
        self.folder = Path(self._temporary.name)
        self.journal = journal or self.folder / "journal"
        self.journal.mkdir(parents=True, exist_ok=True)
        self._batches = 0
        self._losses = 0
        threads = max(1, (os.cpu_count() or 1) // workers)
        self._setup = WorkerSetup(self.kind, self.budget, threads, self.folder)
        self._pool = self._new_pool()

    def __enter__(self) -> DevicePool:
        return self

    def __exit__(self, *exc: object) -> None:
        if self._batches:
            self._await_workers()
        self._end_pool()
        self._temporary.cleanup()

    def run(self, launches: Iterable[KernelLaunch]) -> Iterator[LaunchResult]:
        """One result per launch, in the same order.

        Launches are taken lazily, `batch` of them to a program build, so a generator with many of
        them needs little memory. Raises: DeviceError when the device cannot be opened.
        """
        source = enumerate(launches)
        again: deque[Batch] = deque()
        active: dict[Future[None], tuple[Batch, Path]] = {}
        finished: dict[int, LaunchResult] = {}
        place = 0
        try:
            while True:
                while len(active) <= self.workers:
                    batch = again.popleft() if again else self._take(source, len(finished))
                    if batch is None:
                        break
                    folder = self._write(batch)
                    active[self._submit(batch, folder)] = (batch, folder)
                if not active:
                    assert not finished, "a launch got no result"
                    return
                for future in wait(active, return_when=FIRST_COMPLETED).done:
                    batch, folder = active.pop(future)
                    answered, rest = _settle(batch, folder, future)
                    self._count_losses(future, answered)
                    shutil.rmtree(folder, ignore_errors=True)
                    finished.update(answered)
                    again.extend(rest)
                while place in finished:
                    yield finished.pop(place)
                    place += 1
        finally:
            for future in active:
                future.cancel()

    def _count_losses(self, future: Future[None], answered: dict[int, LaunchResult]) -> None:
        """Give up on workers that end again and again without an answer."""
        is_lost = isinstance(future.exception(), BrokenProcessPool) and not answered
        self._losses = self._losses + 1 if is_lost else 0
        if self._losses > MOST_LOSSES:
            raise DeviceError("workers end as soon as they start")

    def _new_pool(self) -> ProcessPool:
        # Spawned, not forked: a driver must not be inherited, and the parent has threads.
        context = multiprocessing.get_context("spawn")
        return ProcessPool(
            max_workers=self.workers, initializer=arrive, initargs=(self.folder,), context=context
        )

    def _end_pool(self) -> None:
        self._pool.stop()  # type: ignore[no-untyped-call]  # pebble leaves it without types
        self._pool.join()

    def _await_workers(self) -> None:
        """Let workers that take another's place arrive: ended on the way, they would print why."""
        deadline = time.monotonic() + ARRIVAL_SECONDS
        while time.monotonic() < deadline:
            alive = {str(process.pid) for process in multiprocessing.active_children()}
            if len(alive & arrivals(self.folder)) >= self.workers:
                return
            time.sleep(0.02)

    def _take(self, source: Iterator[tuple[int, KernelLaunch]], waiting: int) -> Batch | None:
        """The next batch, unless too many results wait for an earlier one."""
        if waiting > 8 * self.batch * self.workers:
            return None
        taken = list(islice(source, self.batch))
        if not taken:
            return None
        return Batch(tuple(i for i, _ in taken), tuple(launch for _, launch in taken))

    def _write(self, batch: Batch) -> Path:
        self._batches += 1
        folder = self.journal / f"batch-{os.getpid()}-{self._batches:06d}"
        folder.mkdir()
        cases = [
            {"label": launch.label, "kernel": launch.name, "source": launch.source}
            for launch in batch.launches
        ]
        (folder / "running.json").write_text(
            json.dumps({"device": self.kind.name, "cases": cases}, indent=1)
        )
        with open(folder / "batch.pickle", "wb") as file:
            pickle.dump(batch.launches, file, protocol=pickle.HIGHEST_PROTOCOL)
        return folder

    def _submit(self, batch: Batch, folder: Path) -> Future[None]:
        limit = (
            self.budget.build_seconds * (1 + len(batch.launches))
            + self.budget.launch_seconds * len(batch.launches)
            + GRACE_SECONDS
        )
        if not self._pool.active:
            # A worker that died while it had nothing to do has taken pebble's pool along.
            self._end_pool()
            self._pool = self._new_pool()
        return self._pool.schedule(work, args=(self._setup, folder), timeout=limit)


def _settle(
    batch: Batch, folder: Path, future: Future[None]
) -> tuple[dict[int, LaunchResult], list[Batch]]:
    """What is known of a batch whose worker has ended or answered, and what must run again."""
    error = future.exception()
    if not isinstance(error, (NoneType, TimeoutError, ProcessExpired, BrokenProcessPool)):
        raise error if isinstance(error, DeviceError) else DeviceError(f"worker failed: {error!r}")
    results = _read_results(folder)
    answered = dict(zip(batch.places, results, strict=False))
    if batch.company:
        answered = {
            place: replace(result, notes=(*result.notes, batch.company))
            for place, result in answered.items()
        }
    done, total = len(results), len(batch.launches)
    if done == total:
        return answered, []
    is_damaged = isinstance(error, ProcessExpired) and error.exitcode == EXIT_DAMAGED
    if is_damaged or isinstance(error, BrokenProcessPool):
        return answered, [batch.part(done, total, batch.company)]
    ending = _ending(error, folder)
    progress = _read_progress(folder)
    if progress is None:
        raise DeviceError(f"the device cannot be opened: {ending.detail}")
    if total == 1:
        return {batch.places[0]: ending}, []
    outcome = ending.fault.value if ending.fault else "no answer"
    if progress == BUILDING:
        middle = total // 2
        return {}, [batch.part(0, middle), batch.part(middle, total)]
    company = f"{outcome} in a batch of {total}, decided alone"
    rest = [batch.part(done, done + 1, company)]
    return answered, rest + ([batch.part(done + 1, total)] if done + 1 < total else [])


def _ending(error: BaseException | None, folder: Path) -> LaunchResult:
    """How a launch ended that took its worker along."""
    words = (folder / "stderr.txt").read_bytes()[-LAST_WORDS_LENGTH:].decode(errors="replace")
    stage = {None: "opening", BUILDING: "building"}.get(_read_progress(folder), "running")
    said = f"; last words: {words.strip()}" if words.strip() else ""
    code = error.exitcode if isinstance(error, ProcessExpired) else 0
    if isinstance(error, TimeoutError) or code == -signal.SIGALRM:
        return LaunchResult(Outcome.TIMEOUT, f"no end while {stage}")
    if code == -signal.SIGKILL or any(word in words for word in _MEMORY_WORDS):
        return LaunchResult(Outcome.OUT_OF_MEMORY, f"the worker was ended while {stage}{said}")
    cause = signal_name(-code) if code < 0 else f"exit code {code}"
    return LaunchResult(Outcome.CRASH, f"{cause} while {stage}{said}")


def _read_results(folder: Path) -> list[LaunchResult]:
    results: list[LaunchResult] = []
    path = folder / "results.pickle"
    if not path.exists():
        return results
    with open(path, "rb") as file:
        while True:
            try:
                results.append(pickle.load(file))
            except (EOFError, pickle.UnpicklingError):
                # The end, or a result that the worker did not finish writing.
                return results


def _read_progress(folder: Path) -> int | None:
    """The place of the launch that runs, BUILDING, or None while the device is not open."""
    path = folder / "progress"
    text = path.read_text() if path.exists() else ""
    return int(text) if text.strip() else None


def signal_name(number: int) -> str:
    """`SIGKILL`; real-time signals have numbers only."""
    known = {sig.value: sig.name for sig in signal.Signals}
    return known.get(number, f"signal {number}")
