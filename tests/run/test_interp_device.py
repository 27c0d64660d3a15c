"""The interpreter as a device: what a launch gets back."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kernelref.codegen.lower import lower
from kernelref.codegen.program import Program, StoreGlobal
from kernelref.codegen.target import FULL
from kernelref.ir.builder import buffer, kernel
from kernelref.ir.dtype import BOOL, FLOAT
from kernelref.opt.kernel import Kernel
from kernelref.run.interp import launch_program
from kernelref.run.job import LaunchBuffer
from kernelref.run.outcome import Outcome

DATA = np.arange(8, dtype=np.float32)


def launched(program: Program, points: np.ndarray | None = None):
    dtype = program.buffers[0].dtype
    memory = (LaunchBuffer(0, dtype, 8, True, None, points), LaunchBuffer(1, FLOAT, 8, False, DATA))
    return launch_program(program, memory)


def test_a_launch_gives_the_elements_asked_for_as_stored() -> None:
    program = lower(Kernel.open(kernel(buffer(1, (8,)) + 1.0)), FULL)
    result = launched(program, np.array([7, 2]))
    assert result.fault is None
    assert result.outputs[0].tolist() == [8, 3]
    flags = launched(lower(Kernel.open(kernel(buffer(1, (8,)) < 3.0)), FULL))
    assert flags.outputs[0].dtype == np.uint8
    assert flags.outputs[0].tolist() == [1, 1, 1, 0, 0, 0, 0, 0]
    assert Kernel.open(kernel(buffer(1, (8,)) < 3.0)).ast[0].dtype == BOOL


def test_what_was_not_written_or_went_outside_is_said() -> None:
    program = lower(Kernel.open(kernel(buffer(1, (8,)) + 1.0)), FULL)
    *before, store = program.body
    assert isinstance(store, StoreGlobal)
    short = replace(program, groups=(7, 1, 1))
    result = launched(short)
    assert result.fault is Outcome.UNWRITTEN
    assert result.detail == "buffer 0: element 7 and 0 more"
    assert launched(short, np.arange(7)).fault is None
    far = replace(program, body=(*before, replace(store, address=store.address + 1)))
    assert launched(far).fault is Outcome.OUT_OF_BOUNDS
