"""Device workers: each device runs in processes of its own, under a watchdog.

Read `run/job` first. `DevicePool` takes launches and gives one `LaunchResult` for each, in order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from kernelref.run.job import Budget, KernelLaunch, LaunchResult


class DevicePool:
    """Workers of one device. Use as a context manager; leaving it ends the workers.

    `device` is a name (`run/devices`). `journal` is the folder where what is being run is written
    before it runs; None keeps it in a temporary folder.
    """

    def __init__(
        self,
        device: str,
        *,
        workers: int = 1,
        batch: int = 16,
        budget: Budget | None = None,
        journal: Path | None = None,
    ) -> None:
        raise NotImplementedError

    def __enter__(self) -> DevicePool:
        raise NotImplementedError

    def __exit__(self, *exc: object) -> None:
        raise NotImplementedError

    def run(self, launches: Iterable[KernelLaunch]) -> Iterator[LaunchResult]:
        """One result per launch, in the same order.

        Launches are taken lazily, `batch` of them to a program build, so a generator with many of
        them needs little memory.
        """
        raise NotImplementedError
