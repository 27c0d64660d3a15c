"""Processes that do tasks, where a task may take its process down, and the pool with it."""

from __future__ import annotations

import multiprocessing
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Generic, Self, TypeVar

from pebble import ProcessExpired, ProcessPool

from kernelref.jobs.orphan import deaf_from_birth
from kernelref.run.isolate import signal_name

MOST_TRIES = 3
"""How often a task is given out where the pool is lost with it."""

SettingsT = TypeVar("SettingsT")
TaskT = TypeVar("TaskT")
AnswerT = TypeVar("AnswerT")


class LastingPool(Generic[SettingsT, TaskT, AnswerT]):
    """Calls `work(settings, task)` in processes, a few tasks waiting. A context manager.

    Units: `seconds` for one task; None: as long as it takes.
    """

    def __init__(
        self,
        work: Callable[[SettingsT, TaskT], AnswerT],
        settings: SettingsT,
        *,
        processes: int,
        begin: Callable[[], None],
        seconds: float | None = None,
    ) -> None:
        self._work = work
        self._settings = settings
        self._processes = processes
        self._begin = begin
        self._seconds = seconds
        self._pool = self._new_pool()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._pool.stop()  # type: ignore[no-untyped-call]  # pebble leaves it without types
        self._pool.join()

    def _new_pool(self) -> ProcessPool:
        context = multiprocessing.get_context("spawn")
        pool = ProcessPool(self._processes, context=context, initializer=self._begin)
        with deaf_from_birth():
            assert pool.active  # which starts it
        return pool

    def ended(self, tasks: Iterable[TaskT]) -> Iterator[tuple[TaskT, Future[AnswerT]]]:
        """The tasks that ended, in the order in which they do; they are taken lazily.

        A process that is gone before the pool heard which task it took breaks the pool: there is
        a new one then, and what was under way is tried again.
        """
        active: dict[Future[AnswerT], TaskT] = {}
        source = iter(tasks)
        again: list[TaskT] = []
        tries: Counter[int] = Counter()
        while True:
            while len(active) < 2 * self._processes:
                task = again.pop() if again else next(source, None)
                if task is None:
                    break
                active[self._schedule(task)] = task
            if not active:
                return
            for future in wait(active, return_when=FIRST_COMPLETED).done:
                task = active.pop(future)
                tries[id(task)] += 1
                if _is_pool_lost(future) and tries[id(task)] < MOST_TRIES:
                    again.append(task)
                    continue
                del tries[id(task)]
                yield task, future

    def _schedule(self, task: TaskT) -> Future[AnswerT]:
        if not self._pool.active:
            self.__exit__()
            self._pool = self._new_pool()
        future: Future[AnswerT] = self._pool.schedule(
            self._work, args=(self._settings, task), timeout=self._seconds
        )
        return future


def _is_pool_lost(future: Future[AnswerT]) -> bool:
    return isinstance(future.exception(), BrokenProcessPool)


def loss_of(error: ProcessExpired | BrokenProcessPool) -> str:
    """How the process of a task ended, in words that go on from "the process"."""
    if isinstance(error, BrokenProcessPool):
        return f"ended at once, {MOST_TRIES} times"
    code = error.exitcode
    return f"was killed by {signal_name(-code)}" if code < 0 else f"ended with code {code}"
