"""What a worker process of a campaign does, and how the pool of them is made."""

from __future__ import annotations

import importlib
import multiprocessing
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from types import FrameType

from kernelref.errors import InvalidInput
from kernelref.fuzzing.campaign_case import (
    CaseResult,
    Chunk,
    Plan,
    guarded,
    new_attempt,
    reference_ladder,
)
from kernelref.fuzzing.campaign_check import Ending, Stage
from kernelref.fuzzing.campaign_release import release_ladder
from kernelref.jobs.fuzz_devices import with_launches
from kernelref.run.outcome import Outcome

CASE_SECONDS = 60.0


class CaseTimeout(BaseException):  # no error: nothing on the way may catch it
    """A case took too long."""


def work(plan: Plan, chunk: Chunk) -> list[CaseResult]:
    """The cases of a chunk, each under an alarm clock."""
    results: list[CaseResult] = []
    for number in chunk.numbers:
        try:
            with _alarm(CASE_SECONDS):
                results.append(run_case(plan, number, chunk))
        except CaseTimeout as error:
            ending = Ending(Stage.GENERATE, Outcome.TIMEOUT, str(error))
            results.append(CaseResult(number, ending))
    return results


def run_case(plan: Plan, number: int, chunk: Chunk) -> CaseResult:
    """One case. Raises: CaseTimeout; anything else that fails is the case's ending."""
    is_release = plan.optimizer.startswith("tinygrad")
    ladder = release_ladder if is_release else reference_ladder
    attempt = new_attempt(plan, number, chunk.steering)
    result = guarded(attempt, ladder)
    return with_launches(attempt, result) if plan.targets else result


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    """Raise in the middle of what takes longer. Only the main thread of a process has an alarm."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(number: int, frame: FrameType | None) -> None:
        raise CaseTimeout(f"not finished after {seconds:.0f} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def process_pool(jobs: int) -> Executor:
    """Worker processes that start from nothing, so that they hold no state of the parent's."""
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(jobs, mp_context=context, initializer=_leave_interrupts)


def dask_cluster(address: str) -> Executor:
    """The workers of a Dask cluster. Raises: InvalidInput without `kernelref[distributed]`."""
    try:
        distributed = importlib.import_module("distributed")
    except ImportError:
        raise InvalidInput(
            "needs Dask: pip install 'kernelref[distributed]'", where=f"--scheduler {address}"
        ) from None
    executor: Executor = distributed.Client(address).get_executor(retries=3, pure=False)
    return executor


def _leave_interrupts() -> None:
    """Ctrl-C reaches every process of the terminal; the parent alone decides what it means."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
