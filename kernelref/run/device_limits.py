"""Whether a device can run a Program at all: sizes that it refuses, and loops that it cuts short.

A driver that refuses says so, but not always before it crashes, and one that leaves a loop early
says nothing: what is asked here is asked before the run.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from kernelref.codegen.program import Guarded, Loop, Program, Statement
from kernelref.errors import Unsupported
from kernelref.ir.index import evaluate
from kernelref.run.device import DeviceInfo


def check_device(program: Program, info: DeviceInfo, variables: Mapping[str, int]) -> None:
    """Raises: Unsupported, with the reason's name, when the device cannot run the Program."""
    if program.shared_nbytes > info.local_nbytes:
        _refuse("shared-memory", program.shared_nbytes, info.local_nbytes, "bytes in a group")
    _check_group(program.local, info)
    _check_buffers(program, info, variables)
    if info.loop_max is not None:
        iterations = most_iterations(program.body, variables)
        if iterations > info.loop_max:
            _refuse("loop-iterations", iterations, info.loop_max, "iterations of a work-item")


def most_iterations(body: Iterable[Statement], variables: Mapping[str, int]) -> int:
    """Loop iterations of one work-item, inner loops' counted each time; guards are taken to hold.

    Law: iterations(loop) = extent * (1 + iterations(its body)).
    """
    total = 0
    for statement in body:
        if isinstance(statement, Loop):
            extent = int(evaluate(statement.extent, variables))
            total += extent * (1 + most_iterations(statement.body, variables))
        elif isinstance(statement, Guarded):
            total += most_iterations(statement.body, variables)
    return total


def _check_group(local: tuple[int, int, int], info: DeviceInfo) -> None:
    if math.prod(local) > info.group_max:
        _refuse("group-size", math.prod(local), info.group_max, "work-items in a group")
    for size, most in zip(local, info.local_max, strict=True):
        if size > most:
            _refuse("group-size", size, most, "work-items along an axis")


def _check_buffers(program: Program, info: DeviceInfo, variables: Mapping[str, int]) -> None:
    total = 0
    for buffer in program.buffers:
        if buffer.dtype.image is not None:
            rows, columns, _ = buffer.dtype.image
            for size, most in zip((columns, rows), info.image_max, strict=True):
                if size > most:
                    _refuse("image-size", size, most, "texels along an axis")
        nbytes = int(evaluate(buffer.elements, variables)) * buffer.dtype.itemsize
        if nbytes > info.allocation_nbytes:
            _refuse("buffer-size", nbytes, info.allocation_nbytes, "bytes in a buffer")
        total += nbytes
    if total > info.memory_nbytes:
        _refuse("memory", total, info.memory_nbytes, "bytes in all buffers")


def _refuse(reason: str, found: int, most: int, what: str) -> None:
    raise Unsupported(f"device-{reason}", f"{found:,} {what}; at most {most:,}")
