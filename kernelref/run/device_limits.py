"""Whether a device can run a kernel at all: sizes that it refuses, and loops that it cuts short.

A driver that refuses says so, but not always before it crashes, and one that leaves a loop early
says nothing: what is asked here is asked before the run.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping

from kernelref.codegen.program import Guarded, Loop, Program, Statement
from kernelref.codegen.target import Target
from kernelref.errors import Unsupported
from kernelref.ir.index import evaluate


def check_program(program: Program, target: Target, variables: Mapping[str, int]) -> None:
    """Raises: Unsupported, with the reason's name, when the device cannot run the Program."""
    _check("shared-memory", program.shared_nbytes, target.shared_nbytes, "bytes in a group")
    check_group(program.local, target)
    for buffer in program.buffers:
        if buffer.dtype.image is not None:
            rows, columns, _ = buffer.dtype.image
            for size, most in zip((columns, rows), target.image_max, strict=True):
                _check("image-size", size, most, "texels along an axis")
    if target.loop_max is not None:
        iterations = most_iterations(program.body, variables)
        _check("loop-iterations", iterations, target.loop_max, "iterations of a work-item")


def check_group(local: tuple[int, int, int], target: Target) -> None:
    """Raises: Unsupported when a group has too many work-items."""
    _check("group-size", math.prod(local), target.group_max, "work-items in a group")
    for size, most in zip(local, target.local_max, strict=True):
        _check("group-size", size, most, "work-items along an axis")


def check_buffers(sizes: Collection[int], target: Target) -> None:
    """Raises: Unsupported when the device has no room for buffers of these sizes, in bytes."""
    _check("buffer-size", max(sizes, default=0), target.buffer_nbytes, "bytes in a buffer")
    _check("memory", sum(sizes), target.memory_nbytes, "bytes in all buffers")


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


def _check(reason: str, found: int, most: int | None, what: str) -> None:
    if most is not None and found > most:
        raise Unsupported(f"device-{reason}", f"{found:,} {what}; at most {most:,}")
