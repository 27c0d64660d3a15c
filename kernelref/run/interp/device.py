"""The interpreter as a device: a Program with a launch's memory in, a launch's result out."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from kernelref.codegen.program import Program
from kernelref.run.interp.interpret import interpret
from kernelref.run.job import GroupRange, LaunchBuffer, LaunchResult, stored_type
from kernelref.run.outcome import Outcome
from kernelref.run.written import missing_from, stray_in


def launch_program(
    program: Program,
    buffers: Sequence[LaunchBuffer],
    variables: Sequence[int] = (),
    *,
    ranges: Sequence[GroupRange] | None = None,
    shake: int | None = None,
) -> LaunchResult:
    """Run a Program as a device would run its text; `variables` are in the Program's order."""
    started = time.perf_counter()
    inputs = {b.number: b.data for b in buffers if b.data is not None}
    values = {v.name: value for v, value in zip(program.variables, variables, strict=True)}
    result = interpret(program, inputs, values, ranges=ranges, shake=shake)
    fault = None if result.fault is None else result.fault.outcome
    detail = "" if result.fault is None else str(result.fault)
    outputs = {}
    for buffer in buffers:
        if not buffer.is_written:
            continue
        points = np.arange(buffer.elements) if buffer.points is None else buffer.points
        stored = result.buffers[buffer.number][points]
        is_bool = stored.dtype == np.bool_
        outputs[buffer.number] = stored.view(np.uint8) if is_bool else stored
        assert outputs[buffer.number].dtype == stored_type(buffer.dtype)
        missing = missing_from(buffer, result.written[buffer.number])
        if missing.size and fault is None:
            fault = Outcome.UNWRITTEN
            detail = f"buffer {buffer.number}: element {missing[0]} and {missing.size - 1} more"
        stray = stray_in(buffer, result.written[buffer.number])
        if stray and fault is None:
            fault, detail = Outcome.OUT_OF_BOUNDS, stray
    return LaunchResult(fault, detail, outputs, seconds=time.perf_counter() - started)
