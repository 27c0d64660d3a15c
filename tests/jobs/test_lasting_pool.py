"""Tasks that take their process down cost themselves alone, and are told how it ended."""

from __future__ import annotations

import os
from concurrent.futures.process import BrokenProcessPool

import pytest
from pebble import ProcessExpired

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
