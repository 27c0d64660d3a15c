"""A worker process that ends with its parent, however the parent ends.

A parent that is killed cannot stop its workers. Device workers are not among these: their own
alarm ends them, and a thread beside a driver that runs out of memory makes it crash.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker


@contextmanager
def deaf_from_birth() -> Iterator[None]:
    """Processes that are started here, or by threads that are, never hear of Ctrl-C.

    `begin_worker` comes after Python has started and imported: a process that is interrupted before
    prints a traceback that says nothing to anybody.
    """
    # Python starts this helper with the first process, and lets interrupts in again when it has.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def begin_worker() -> None:
    """Leave interrupts to the parent and end when it does. Called first in a worker process.

    Ctrl-C reaches every process of the terminal; the parent alone decides what it means.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def wait() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=wait, name="end-with-parent", daemon=True).start()
