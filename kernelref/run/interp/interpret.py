"""Run a Program on the machine: its memories before, its groups box by box, what it left behind."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from kernelref.codegen.program import Loop, Program, nested
from kernelref.errors import InvalidInput
from kernelref.ir import semantics
from kernelref.ir.index import evaluate
from kernelref.ir.semantics import Array
from kernelref.run.interp.batching import touched
from kernelref.run.interp.fault import Fault, MachineStop
from kernelref.run.interp.machine import Machine
from kernelref.run.interp.memory import Memory
from kernelref.run.interp.shake import Turns
from kernelref.run.job import GroupRange
from kernelref.run.oracle import boxes

ELEMENTS = 1 << 17
"""The most elements in one register."""

ALL_ELEMENTS = 1 << 24
"""The most elements in all registers of a program."""

SHARED_ELEMENTS = 1 << 21
"""The most elements of shared memory that groups running together take."""


@dataclass(frozen=True, slots=True)
class Interpretation:
    """How a run ended: its first fault, or None; per written buffer what it holds, as stored.

    `written` says which elements were stored to. After a fault both are as they were then.
    """

    fault: Fault | None
    buffers: Mapping[int, Array] = field(default_factory=dict)
    written: Mapping[int, Array] = field(default_factory=dict)


def interpret(
    program: Program,
    inputs: Mapping[int, Array],
    variables: Mapping[str, int] | None = None,
    *,
    ranges: Sequence[GroupRange] | None = None,
    shake: int | None = None,
) -> Interpretation:
    """Run a Program, or only the groups in `ranges`.

    `inputs` holds stored elements by buffer number, as before the run; a buffer without is empty of
    values, and reading it is a fault. `shake`, a seed, lets the work-items of a group run one after
    the other between barriers, in reverse and then in drawn orders.
    Raises: InvalidInput for a buffer that is too short.
    """
    values = dict(variables or {})
    memories = _memories(program, inputs, values)
    x, y, z = (int(evaluate(extent, values)) for extent in program.groups)
    if ranges is None:
        ranges = (GroupRange((0, 0, 0), (x, y, z)),)
    size = math.prod(program.local)
    statements = sum(1 for _ in nested(program.body))
    limit = max(1 << 10, min(ELEMENTS, ALL_ELEMENTS // max(1, statements)))
    turns = None if shake is None else Turns(shake)
    machine = Machine(program, memories, (x, y, z), limit, turns)
    together = limit // size // min(64, _iterations(program, values))
    together = min(together, SHARED_ELEMENTS // max(1, sum(a.elements for a in program.shared)))
    fault = None
    with semantics.quiet():
        try:
            for box in ranges:
                for part in boxes(box.count[::-1], together):
                    place = [
                        range(first + r.start, first + r.stop)
                        for first, r in zip(box.first[::-1], part, strict=True)
                    ]
                    machine.run_box(place, values)
        except MachineStop as stop:
            fault = stop.fault
    names = {buffer.name: buffer.number for buffer in program.buffers}
    stored = touched(program)[1] & names.keys()
    return Interpretation(
        fault,
        {names[name]: memories[name].data for name in sorted(stored)},
        {names[name]: memories[name].is_written for name in sorted(stored)},
    )


def _memories(
    program: Program, inputs: Mapping[int, Array], variables: Mapping[str, int]
) -> dict[str, Memory]:
    """The buffers before the run; those that are written are copies."""
    loaded, stored = touched(program)
    memories: dict[str, Memory] = {}
    for buffer in program.buffers:
        elements = int(evaluate(buffer.elements, variables))
        data = inputs.get(buffer.number)
        if data is not None:
            data = np.ravel(data)
            if len(data) < elements:
                message = f"{len(data)} elements, {elements} needed"
                raise InvalidInput(message, where=f"buffer {buffer.number}")
            data = data[:elements].copy() if buffer.name in stored else data[:elements]
        writes, reads = buffer.name in stored, buffer.name in loaded
        memories[buffer.name] = Memory(buffer.dtype, elements, data, writes=writes, reads=reads)
    return memories


def _iterations(program: Program, variables: Mapping[str, int]) -> int:
    """Iterations of the longest loop; 1 where an extent is known only inside."""
    loops = [s.extent for s in nested(program.body) if isinstance(s, Loop)]
    known = [extent for extent in loops if isinstance(extent, int)]
    return max(1, *known, 1)
