"""Tasks that take their process down cost themselves alone, and are told how it ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from concurrent.futures.process import BrokenProcessPool

import pytest
from pebble import ProcessExpired

from kernelref.jobs.fuzz_work import process_pool
from kernelref.jobs.lasting_pool import LastingPool, loss_of
from kernelref.jobs.orphan import begin_worker


def plus(settings: int, task: int) -> int:
    if task < 0:
        os.kill(os.getpid(), -task)
    return settings + task


def test_the_other_tasks_are_done() -> None:
    with LastingPool(plus, 10, processes=1, begin=begin_worker) as pool:
        ended = dict(pool.ended([1, -9, 2]))
    assert isinstance(ended.pop(-9).exception(), ProcessExpired)
    assert {task: future.result() for task, future in ended.items()} == {1: 11, 2: 12}


def held(settings: int, task: int) -> bool:
    return signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ())


def nothing() -> None:
    """Where `begin_worker` has not come yet."""


def lasting() -> bool:
    with LastingPool(held, 0, processes=1, begin=nothing) as pool:
        ((_, future),) = pool.ended([1])
        return future.result()


def of_a_campaign() -> bool:
    with process_pool(1) as executor:
        return executor.submit(held, 0, 1).result()


@pytest.mark.parametrize("pool", [lasting, of_a_campaign])
def test_a_process_is_deaf_to_interrupts_from_its_birth_and_its_parent_is_not(pool) -> None:
    # Asked in a new process, where nothing was started yet.
    asks = (
        f"from tests.jobs import test_lasting_pool as t; print(t.{pool.__name__}(), t.held(0, 0))"
    )
    ended = subprocess.run([sys.executable, "-c", asks], capture_output=True, text=True)
    assert ended.stdout == "True False\n", ended.stderr


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (ProcessExpired("", code=-9), "was killed by SIGKILL"),
        (ProcessExpired("", code=-35), "was killed by signal 35"),
        (ProcessExpired("", code=3), "ended with code 3"),
        (BrokenProcessPool(), "ended at once, 3 times"),
    ],
)
def test_how_a_process_ended_is_said(error, says) -> None:
    assert loss_of(error) == says
