"""A campaign: case after case through an executor, everything kept in a store.

Read `Campaign.run` first. Cases are numbered; which case a number is follows from the seed and from
the steering of its generation, never from how many workers there are. A worker that dies loses its
chunk: the cases of it are tried again one by one, and one that kills its worker alone is a finding.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from typing import Protocol

from kernelref.fuzzing.campaign_case import Chunk, Plan, chunks
from kernelref.fuzzing.campaign_check import Ending, Stage
from kernelref.fuzzing.campaign_feedback import GENERATION, Feedback
from kernelref.fuzzing.campaign_result import CaseResult
from kernelref.fuzzing.campaign_store import Store
from kernelref.optimizers.names import heuristic_of
from kernelref.run.outcome import Outcome

Work = Callable[[Plan, Chunk], list[CaseResult]]
POLL_SECONDS = 0.5


class Later(Protocol):
    """Where cases go that a device has still to run; they come back finished."""

    @property
    def pending(self) -> int:
        """How many have not come back."""
        ...

    @property
    def is_full(self) -> bool:
        """Whether no new case should be begun now."""
        ...

    def put(self, result: CaseResult) -> None:
        """Take a case."""
        ...

    def ready(self) -> list[CaseResult]:
        """Those that came back since the last call."""
        ...


@dataclass(frozen=True, slots=True)
class Pace:
    """When to stop, and how much is under way. Units: `budget` seconds, `cases` in the store."""

    jobs: int = 1
    cases: int | None = None
    budget: float | None = None
    chunk: int = 16


@dataclass(slots=True)
class Campaign:
    """One campaign under way.

    `open_executor` makes a pool, again after one broke. `watch` is told after each case. `later`
    finishes the cases that have launches.
    """

    plan: Plan
    store: Store
    work: Work
    open_executor: Callable[[], Executor]
    pace: Pace
    watch: Callable[[CaseResult], None] = lambda result: None
    later: Later | None = None
    feedback: Feedback = field(default_factory=Feedback)
    stopped_early: bool = False
    _done: set[int] = field(default_factory=set)
    _ended: int = 0
    _deadline: float = math.inf
    _active: dict[Future[list[CaseResult]], Chunk] = field(default_factory=dict)

    def run(self) -> None:
        """Go on until there are enough cases or the budget is spent."""
        if self.pace.budget is not None:
            self._deadline = time.monotonic() + self.pace.budget
        self._done = self.store.numbers()
        waiting = self._chunks()
        alone: deque[Chunk] = deque()
        executor = self.open_executor()
        try:
            while True:
                is_over = self._is_over()
                if is_over and not self.stopped_early:
                    self.stopped_early = True
                    self._drop_waiting()
                is_full = is_over or (self.later is not None and self.later.is_full)
                room = 0 if is_full else 1 if alone else 2 * self.pace.jobs
                is_lost = False
                while len(self._active) < room:
                    chunk = alone.popleft() if alone else next(waiting, None)
                    if chunk is None:
                        break
                    try:
                        self._active[executor.submit(self.work, self.plan, chunk)] = chunk
                    except BrokenProcessPool:
                        # A worker was lost just now: the chunk waits for the next pool.
                        alone.appendleft(chunk)
                        is_lost = True
                        break
                    room = 1 if alone else room
                if not self._active and not is_lost and self._is_finished(is_over=is_over):
                    return
                broken = self._collect()
                if broken or is_lost:
                    executor.shutdown(wait=False)
                    alone.extend(self._separated(broken))
                    executor = self.open_executor()
        finally:
            for future in self._active:
                future.cancel()
            executor.shutdown(wait=True)

    def _is_over(self) -> bool:
        """Whether time is up."""
        return time.monotonic() > self._deadline

    def _drop_waiting(self) -> None:
        """Take back the chunks that no worker has begun."""
        for future in [future for future in self._active if future.cancel()]:
            del self._active[future]

    def _is_finished(self, *, is_over: bool) -> bool:
        """Whether nothing is under way on a device either; when time is up nobody waits for it."""
        if self.later is None or is_over or not self.later.pending:
            return True
        time.sleep(POLL_SECONDS / 10)
        return False

    def _chunks(self) -> Iterator[Chunk | None]:
        """What is left to do, in order; None while the last generation but one is not done."""
        generation = 0
        while self.pace.cases is None or generation * GENERATION < self.pace.cases:
            first = generation * GENERATION
            while not self._is_done_before(first - GENERATION):
                yield None
            self._learn(generation - 1)
            steering = self.feedback.steering()
            last = first + GENERATION
            if self.pace.cases is not None:
                last = min(last, self.pace.cases)
            numbers = [n for n in range(first, last) if n not in self._done]
            yield from chunks(numbers, steering, self.pace.chunk)
            generation += 1

    def _is_done_before(self, number: int) -> bool:
        """Whether all cases up to this number are finished."""
        return all(n in self._done for n in range(max(0, number - GENERATION), number))

    def _learn(self, generations: int) -> None:
        """Take in the generations before this one."""
        while self._ended < generations:
            first = self._ended * GENERATION
            self.feedback.end_generation(self.store.generation(first, GENERATION))
            self._ended += 1

    def _collect(self) -> list[Chunk]:
        """Keep what is finished; the chunks whose worker died.

        When time is up no device is asked any more: such a case is made again by the next call.
        """
        broken: list[Chunk] = []
        for result in self.later.ready() if self.later is not None else ():
            self.record(result)
        for future in wait(self._active, POLL_SECONDS, FIRST_COMPLETED).done:
            chunk = self._active.pop(future)
            try:
                results = future.result()
            except BrokenProcessPool:
                broken.append(chunk)
                continue
            for result in results:
                if self.later is None or not result.launches:
                    self.record(result)
                elif not self._is_over():
                    self.later.put(result)
        if broken:
            broken += self._active.values()
            self._active.clear()
        return broken

    def record(self, result: CaseResult) -> None:
        """Keep one finished case."""
        self.store.record(result)
        self._done.add(result.number)
        self.watch(result)

    def _separated(self, broken: list[Chunk]) -> Iterator[Chunk]:
        """The cases of broken chunks, to be run alone; one that was alone already is a crash."""
        for chunk in broken:
            if len(chunk.numbers) > 1 or len(broken) > 1:
                yield from (Chunk((number,), chunk.steering) for number in chunk.numbers)
                continue
            self.record(CaseResult(chunk.numbers[0], self._crash()))

    def _crash(self) -> Ending:
        """The end of a case that takes its worker down: a user's function is to blame."""
        optimizer = self.plan.optimizer
        if heuristic_of(optimizer):
            detail = f"the process that ran {optimizer} on this kernel ended"
            return Ending(Stage.OPTS, Outcome.CRASH, detail, "heuristic")
        return Ending(Stage.GENERATE, Outcome.CRASH, "the worker process died", "worker")
