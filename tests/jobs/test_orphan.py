from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import time
from multiprocessing.connection import Connection

import pytest

from kernelref.jobs.orphan import begin_worker


def worker(told: Connection) -> None:
    begin_worker()
    told.send(os.getpid())
    time.sleep(300)


def parent(told: Connection) -> None:
    context = multiprocessing.get_context("spawn")
    process = context.Process(target=worker, args=(told,))
    process.start()
    process.join()


def is_alive(pid: int) -> bool:
    """Whether it runs; one that has ended and waits to be asked how does not."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="needs /proc")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_worker_ends_with_its_parent(how: signal.Signals) -> None:
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=parent, args=(there,))
    process.start()
    assert here.poll(60)
    pid = here.recv()
    assert is_alive(pid)
    assert process.pid is not None
    os.kill(process.pid, how)
    process.join()
    deadline = time.monotonic() + 60
    while is_alive(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    try:
        assert not is_alive(pid)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
