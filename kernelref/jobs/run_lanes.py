"""Device lanes: each takes launches from a queue, runs them in order and has the results judged.

A device has two lanes. Short launches are built many to a program; a launch with large buffers or
much work goes to a lane that runs one at a time, so that the memory in use has a bound and nothing
waits behind it.
"""

from __future__ import annotations

import contextlib
import os
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator

from kernelref.errors import DeviceError
from kernelref.jobs.run_judge import judged
from kernelref.jobs.run_prepare import LONG_WORK, Ready
from kernelref.jobs.run_report import Ending
from kernelref.run.isolate import DevicePool
from kernelref.run.job import Budget, KernelLaunch

LARGE_NBYTES = 64 << 20
BATCH = 16
WAITING = 2 * BATCH
STOP_SECONDS = 5.0
"""How long a run that is stopped waits for launches under way: they end with their process."""
SHORT = Budget(launch_seconds=120.0, build_seconds=240.0)
MACHINE_NBYTES = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
LONG = Budget(
    launch_seconds=900.0,
    build_seconds=240.0,
    memory_nbytes=min(24 << 30, MACHINE_NBYTES // 4 * 3),
)


class Lanes:
    """The lanes of a run's devices, each opened with its first launch. Use as a context manager."""

    def __init__(self, report: Callable[[Ending], None]) -> None:
        self._report = report
        self._lanes: dict[tuple[str, bool], Lane] = {}

    def __enter__(self) -> Lanes:
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

    def put(self, ready: Ready) -> None:
        """Queue a launch in the lane that it belongs to; waits while that is full."""
        key = ready.pair.device, ready.nbytes > LARGE_NBYTES or ready.work > LONG_WORK
        if key not in self._lanes:
            device, is_long = key
            batch, budget = (1, LONG) if is_long else (BATCH, SHORT)
            self._lanes[key] = Lane(device, batch=batch, budget=budget, report=self._report)
        self._lanes[key].put(ready)

    def stop(self) -> None:
        """Drop what is queued."""
        for lane in self._lanes.values():
            lane.stop()

    def join(self) -> None:
        """Wait for what is queued, or, once stopped, a moment for what runs.

        Raises: what ended a lane.
        """
        for lane in self._lanes.values():
            lane.join()


class Lane:
    """A thread that feeds one device pool. `report` is called with each ending, in this thread."""

    def __init__(
        self, device: str, *, batch: int, budget: Budget, report: Callable[[Ending], None]
    ) -> None:
        self._device = device
        self._batch = batch
        self._budget = budget
        self._report = report
        self._queue: queue.Queue[Ready | None] = queue.Queue(WAITING)
        self._running: deque[Ready] = deque()
        self._stopping = threading.Event()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._drain, name=f"lane-{device}", daemon=True)
        self._thread.start()

    def put(self, ready: Ready) -> None:
        """Queue a launch; waits while the queue is full. Raises: what ended the lane."""
        while True:
            if self._error is not None:
                raise self._error
            try:
                self._queue.put(ready, timeout=0.2)
            except queue.Full:
                continue
            return

    def stop(self) -> None:
        """Drop what is queued."""
        self._stopping.set()

    def join(self) -> None:
        """Wait for what is queued, or, once stopped, a moment for what runs.

        Raises: what ended the lane.
        """
        deadline = time.monotonic() + STOP_SECONDS
        is_told = False
        while self._thread.is_alive():
            if self._stopping.is_set() and time.monotonic() > deadline:
                return
            if not is_told:
                with contextlib.suppress(queue.Full):
                    self._queue.put(None, timeout=0.2)
                    is_told = True
            self._thread.join(0.2)
        if self._error is not None:
            raise self._error

    def _drain(self) -> None:
        try:
            with DevicePool(self._device, batch=self._batch, budget=self._budget) as pool:
                for launches in self._portions():
                    for result in pool.run(launches):
                        self._report(judged(self._running.popleft(), result))
            if self._running and not self._stopping.is_set():
                raise DeviceError(f"{self._device} gave no answer to {len(self._running)} launches")
        except BaseException as error:
            # Raised again in the main thread by put or join.
            self._error = error

    def _portions(self) -> Iterator[Iterable[KernelLaunch]]:
        """All launches in one portion where they are short; else one at a time: the pool takes
        more than it runs, and their buffers are large.
        """
        if self._batch > 1:
            yield self._launches()
            return
        for launch in self._launches():
            yield (launch,)

    def _launches(self) -> Iterator[KernelLaunch]:
        while (ready := self._queue.get()) is not None:
            if not self._stopping.is_set():
                self._running.append(ready)
                yield ready.with_data()
