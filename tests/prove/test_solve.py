"""The solver's place in a run: what ends the run ends its search."""

from __future__ import annotations

import os
import signal
import threading

import pytest
import z3

from kernelref.prove.encode import Encoding
from kernelref.prove.solve import Effort, _model


def sum_of_cubes(encoding: Encoding) -> z3.BoolRef:
    """A question that no solver answers."""
    x, y, z = (z3.Int(name, encoding.context) for name in "xyz")
    return z3.And(x * x * x + y * y * y + z * z * z == 114, x > 10**9)


def test_a_search_that_is_interrupted_is_no_unknown() -> None:
    ring = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    ring.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            _model(sum_of_cubes, Effort(rlimit=2_000_000_000, kill_ms=20_000), None)
    finally:
        ring.cancel()


def test_a_search_that_takes_too_many_steps_is_one() -> None:
    assert isinstance(_model(sum_of_cubes, Effort(rlimit=20_000), None), str)
