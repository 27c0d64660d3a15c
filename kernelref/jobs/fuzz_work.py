"""What a worker process of a campaign does, and how the pool of them is made."""

from __future__ import annotations

import importlib
import multiprocessing
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from types import FrameType
from typing import ParamSpec, TypeVar

from kernelref.errors import InvalidInput
from kernelref.fuzzing.campaign_case import (
    Attempt,
    Chunk,
    Plan,
    guarded,
    new_attempt,
    reference_ladder,
)
from kernelref.fuzzing.campaign_check import Ending
from kernelref.fuzzing.campaign_confirm import confirmed
from kernelref.fuzzing.campaign_release import release_ladder
from kernelref.fuzzing.campaign_result import CaseResult
from kernelref.jobs.collector import begin_busy_worker
from kernelref.jobs.fuzz_devices import with_launches
from kernelref.jobs.orphan import deaf_from_birth
from kernelref.run.outcome import Outcome

CASE_SECONDS = 60.0
CONNECT_SECONDS = 20.0

P = ParamSpec("P")
T = TypeVar("T")


class CaseTimeout(BaseException):  # no error: nothing on the way may catch it
    """A case took too long."""


def work(plan: Plan, chunk: Chunk) -> list[CaseResult]:
    """The cases of a chunk, each under an alarm clock."""
    return [run_case(plan, number, chunk) for number in chunk.numbers]


def run_case(plan: Plan, number: int, chunk: Chunk) -> CaseResult:
    """One case. Raises: nothing; what fails is the case's ending."""
    is_release = plan.optimizer.startswith("tinygrad")
    ladder = release_ladder if is_release else reference_ladder
    attempt = new_attempt(plan, number, chunk.steering)
    try:
        with _alarm(CASE_SECONDS):
            result = guarded(attempt, ladder)
        if is_release and result.is_finding:
            attempt, result = _confirmed(attempt, result)
        with _alarm(CASE_SECONDS):
            return with_launches(attempt, result) if plan.targets else result
    except CaseTimeout as error:
        return attempt.result(Ending(attempt.stage, Outcome.TIMEOUT, str(error)))


def _confirmed(attempt: Attempt, result: CaseResult) -> tuple[Attempt, CaseResult]:
    """A finding under an alarm clock of its own, so that it stays one whatever that takes."""
    try:
        with _alarm(CASE_SECONDS):
            return confirmed(attempt, result)
    except CaseTimeout:
        return attempt, result


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    """Raise in the middle of what takes longer. Only the main thread of a process has an alarm.

    Units: `seconds` of this process's CPU time, so that a busy machine makes no findings.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(number: int, frame: FrameType | None) -> None:
        raise CaseTimeout(f"not finished after {seconds:.0f} s of CPU time")

    before = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def process_pool(jobs: int) -> Executor:
    """Worker processes that start from nothing, so that they hold no state of the parent's."""
    context = multiprocessing.get_context("spawn")
    return _ProcessPool(jobs, mp_context=context, initializer=begin_busy_worker)


class _ProcessPool(ProcessPoolExecutor):
    """It starts a process, where one more is needed, when work is handed in."""

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Hand in one call."""
        with deaf_from_birth():
            return super().submit(fn, *args, **kwargs)


class DaskExecutor(Executor):
    """The workers of a Dask cluster. What a lost worker had is given to another one."""

    def __init__(self, address: str) -> None:
        """Connect. Raises: InvalidInput without Dask, or where nobody answers."""
        where = f"--scheduler {address}"
        try:
            distributed = importlib.import_module("distributed")
        except ImportError:
            message = "needs Dask: pip install 'kernelref[distributed]'"
            raise InvalidInput(message, where=where) from None
        try:
            self._client = distributed.Client(address, timeout=CONNECT_SECONDS)
        except (OSError, ValueError) as error:
            raise InvalidInput(str(error), where=where) from None
        self._executor: Executor = self._client.get_executor(retries=3, pure=False)

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Hand in one call."""
        return self._executor.submit(fn, *args, **kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Leave the cluster; it goes on."""
        self._executor.shutdown(wait=wait)
        self._client.close()
