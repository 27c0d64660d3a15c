"""The inside of a worker process: takes a batch from its folder and leaves results there.

Read `run/isolate` first; everything here runs in a process that may be killed at any moment.
"""

from __future__ import annotations

import os
import pickle
import resource
import signal
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from kernelref.run import oclgrind
from kernelref.run.device import DeviceKind
from kernelref.run.devices import prepare_worker
from kernelref.run.job import Budget, KernelLaunch, LaunchResult
from kernelref.run.outcome import Outcome

if TYPE_CHECKING:
    # At run time the module is imported by the first batch, in the worker's own environment.
    from kernelref.run.opencl import Kernel, Runner

EXIT_DAMAGED = 77
BUILDING = -1
"""What `progress` says before the first launch; there is none before the device is open."""


@dataclass(frozen=True, slots=True)
class WorkerSetup:
    """What a worker must know before its first batch."""

    kind: DeviceKind
    budget: Budget
    threads: int
    folder: Path


# Faults after which a worker is not used again: its memory, or its share of it, is in doubt. (The
# simulator's memory is safe, but it stops reporting after so many messages.)
_ENDING = frozenset((Outcome.OUT_OF_BOUNDS, Outcome.OUT_OF_MEMORY))

# The one device of this process; a worker serves one pool.
_OPEN: list[Runner] = []


def arrive(folder: Path) -> None:
    """Leave a sign in `folder` that this worker has started."""
    (folder / f"arrived-{os.getpid()}").touch()


def arrivals(folder: Path) -> frozenset[str]:
    """The process ids of the workers that have started."""
    return frozenset(path.name.partition("-")[2] for path in folder.glob("arrived-*"))


def work(setup: WorkerSetup, folder: Path) -> None:
    """Run the batch that lies in `folder`. Raises: DeviceError when the device cannot be opened."""
    _redirect(folder / "stderr.txt")
    _watch(setup.budget.build_seconds)
    if not _OPEN:
        _OPEN.append(_open(setup))
    runner = _OPEN[0]
    with (
        open(folder / "progress", "wb", buffering=0) as progress,
        open(folder / "results.pickle", "wb") as results,
    ):
        os.pwrite(progress.fileno(), str(BUILDING).encode(), 0)
        launches: tuple[KernelLaunch, ...] = pickle.loads((folder / "batch.pickle").read_bytes())
        start = time.perf_counter()
        kernels = runner.build(launches)
        share = (time.perf_counter() - start) / len(launches)
        for i, (launch, kernel) in enumerate(zip(launches, kernels, strict=True)):
            os.pwrite(progress.fileno(), f"{i:2}".encode(), 0)
            _watch(setup.budget.launch_seconds)
            result = kernel if isinstance(kernel, LaunchResult) else _run(setup, launch, kernel)
            _watch(0)
            pickle.dump(replace(result, build_seconds=share), results, protocol=5)
            results.flush()
            if result.fault in _ENDING or (setup.kind.is_simulator and result.fault):
                os._exit(EXIT_DAMAGED)


def _open(setup: WorkerSetup) -> Runner:
    """Prepare this process and open its device."""
    private = setup.folder / f"worker-{os.getpid()}"
    private.mkdir()
    prepare_worker(setup.kind, private, setup.threads)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if setup.budget.memory_nbytes is not None:
        limit = setup.budget.memory_nbytes
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    # Not earlier: the import may load drivers, which must see this environment.
    from kernelref.run.opencl import Runner

    return Runner(setup.kind)


def _run(setup: WorkerSetup, launch: KernelLaunch, kernel: Kernel) -> LaunchResult:
    """Run one kernel; on the simulator its part of the log decides."""
    runner = _OPEN[0]
    if not setup.kind.is_simulator:
        return runner.run(launch, kernel)
    log = setup.folder / f"worker-{os.getpid()}" / oclgrind.LOG_NAME
    start = log.stat().st_size
    result = runner.run(launch, kernel)
    with open(log, errors="replace") as file:
        file.seek(start)
        findings = oclgrind.parse_log(file.read())
    if not findings:
        return result
    own = (result.detail,) if result.fault else ()
    others = tuple(f"{finding.outcome.value}: {finding.message}" for finding in findings[1:])
    return replace(
        result,
        fault=findings[0].outcome,
        detail=findings[0].message,
        notes=(*own, *result.notes, *others),
    )


def _watch(seconds: float) -> None:
    """Let the system end this process after so long, or (0) no more.

    The alarm's default action needs no thread and no interpreter lock, so it ends a process that
    is stuck inside a driver.
    """
    signal.setitimer(signal.ITIMER_REAL, seconds)


def _redirect(path: Path) -> None:
    """Send what this process and its drivers print to a file."""
    with open(path, "wb") as file:
        os.dup2(file.fileno(), sys.stdout.fileno())
        os.dup2(file.fileno(), sys.stderr.fileno())
