"""From a kernel to a launch with what it must compute: the host's part of a run.

Everything here happens in a host process, one kernel at a time, and sends back little: texts,
recipes of inputs, expected outputs at the points compared. Inputs are drawn again when the launch
is handed to a device, which costs less than sending them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from kernelref.codegen.lower import lower
from kernelref.codegen.opencl import render
from kernelref.codegen.program import Program
from kernelref.codegen.target import Target
from kernelref.errors import KernelRefError, Unsupported
from kernelref.ir.ast import postorder
from kernelref.ir.dtype import DType
from kernelref.ir.index import evaluate
from kernelref.ir.semantics import Array
from kernelref.jobs.run_groups import (
    DEVICE_SIZE,
    INTERPRETER_SIZE,
    SIMULATOR_SIZE,
    chosen_groups,
    concrete_groups,
    elements_written,
    left_out,
    points_in,
    weighted_points,
)
from kernelref.jobs.run_report import Ending, Pair
from kernelref.jobs.run_subject import Expected, Recipe, Subject
from kernelref.jobs.run_windows import pointed
from kernelref.opt.broke import OptBroke
from kernelref.opt.kernel import Kernel
from kernelref.run import oclgrind
from kernelref.run.device_limits import check_buffers, check_program
from kernelref.run.devices import INTERPRETER
from kernelref.run.job import GroupRange, KernelLaunch, LaunchBuffer
from kernelref.run.outcome import Outcome
from kernelref.run.points import buffer_elements
from kernelref.run.tolerance import Rung

SIZES = {INTERPRETER: INTERPRETER_SIZE, oclgrind.NAME: SIMULATOR_SIZE}
"""How much of a launch runs on a device that is slower than a processor."""

LONG_WORK = 1 << 24
"""Weighted points from which a launch runs for longer than an optimising compile takes."""

LONG_TEXT = 256
"""Lines from which a text is compiled with optimisations.

Without them PoCL keeps each line's value on the stack, for every work-item of a group: it runs out.
"""

CONTRACTS = {Rung.EXACT: "bit-exact", Rung.INTEGERS: "exact-sum", Rung.BOUNDED: "bounded"}


@dataclass(frozen=True, slots=True, eq=False)
class Ready:
    """A launch without its inputs, how to draw them, and what to compare.

    `program` is what the launch's text says; None where the text alone is wanted.
    Units: `work` counts the weighted iteration points (`run_groups`) that it goes through.
    """

    pair: Pair
    launch: KernelLaunch
    program: Program | None
    recipe: Recipe
    expected: tuple[Expected, ...]
    rung: Rung
    points: int
    work: int

    def dtype_of(self, number: int) -> DType:
        """The dtype of a buffer."""
        return next(b.dtype for b in self.launch.buffers if b.number == number)

    @property
    def nbytes(self) -> int:
        """Bytes of all buffers."""
        return sum(b.elements * b.dtype.itemsize for b in self.launch.buffers)

    def with_data(self) -> KernelLaunch:
        """The launch with its inputs drawn."""
        data = self.recipe.draw()
        buffers = (
            replace(b, data=_filled(data[b.number], b.elements)) if b.number in data else b
            for b in self.launch.buffers
        )
        return replace(self.launch, buffers=tuple(buffers))


def _filled(values: Array, elements: int) -> Array:
    """Values for a whole buffer: one has room for the largest values of symbolic variables."""
    return values if len(values) == elements else np.resize(values, elements)


Prepared: TypeAlias = Ready | Ending


def prepare(subject: Subject, kernel: Kernel, pair: Pair, target: Target) -> Prepared:
    """One pair: lower, render, and say what must come out."""
    try:
        program = lower(kernel, target)
        text = pointed(render(program, target), program, subject.windows)
        check_program(program, target, subject.variables)
        elements = _elements(subject, program)
        check_buffers([elements[b.number] * b.dtype.itemsize for b in program.buffers], target)
    except Unsupported as error:
        return Ending(pair, Outcome.UNSUPPORTED, error.detail, reason=error.reason)
    groups = concrete_groups(program, subject.variables)
    nodes = len(postorder(subject.ast))
    work = weighted_points(subject.points, nodes)
    if subject.windows and target.name == INTERPRETER:
        detail = "addresses beyond what the interpreter keeps in memory"
        return Ending(pair, Outcome.UNSUPPORTED, detail, reason="memory")
    size = SIZES.get(target.name, DEVICE_SIZE)
    ranges = chosen_groups(groups, work, seed=subject.seed, size=size)
    launched = points_in(ranges, groups, work)
    if size.limit is not None and launched > size.limit:
        detail = f"{launched} iteration points in {len(ranges or ())} groups on a simulator"
        return Ending(pair, Outcome.UNSUPPORTED, detail, reason="simulator-size")
    if ranges is not None and (missing := _left_out(subject, program)) is not None:
        detail = f"buffer {missing[0]}: no group stores element {missing[1]}"
        return Ending(pair, Outcome.UNWRITTEN, detail, points=subject.points, is_partial=True)
    expected = _expected(subject, program, ranges)
    launch = _launch(subject, program, text, groups, ranges, expected, elements)
    return Ready(
        pair=pair,
        launch=replace(launch, optimise=is_worth_optimising(work, text)),
        recipe=subject.recipe,
        program=program,
        expected=expected,
        rung=subject.recipe.plan.rung,
        points=subject.points,
        work=launched,
    )


def is_worth_optimising(work: int, text: str) -> bool:
    """Whether a launch is compiled with optimisations, which takes twice as long."""
    return work > LONG_WORK or text.count("\n") > LONG_TEXT


def _left_out(subject: Subject, program: Program) -> tuple[int, int] | None:
    """An element that no group stores though the kernel does, where all of them can be listed."""
    stored = {
        store.buffer: elements
        for output, store in enumerate(subject.ast)
        if store.buffer not in subject.windows and (elements := subject.stored(output)) is not None
    }
    return left_out(program, stored, subject.variables)


def _expected(
    subject: Subject, program: Program, ranges: tuple[GroupRange, ...] | None
) -> tuple[Expected, ...]:
    if ranges is None:
        return subject.expected()
    written = elements_written(program, ranges, subject.variables)
    points = [
        _points_of(subject, output, written[store.buffer])
        for output, store in enumerate(subject.ast)
    ]
    return tuple(subject.expected_at(output, at) for output, at in enumerate(points))


def _points_of(subject: Subject, output: int, elements: Array) -> Array:
    """The points of an output that lie at these elements of its buffer."""
    store = subject.ast[output]
    if not store.st.bind(subject.variables).contiguous:
        raise Unsupported("partial-scattered-store", "whole groups of a store that is not in order")
    return elements - subject.windows.get(store.buffer, 0)


def _elements(subject: Subject, program: Program) -> dict[int, int]:
    """How large each buffer is: what the AST needs, or more where the Program asks for it."""
    least = buffer_elements(subject.ast, subject.variables)
    return {
        b.number: max(
            least[b.number],
            int(evaluate(b.elements, subject.variables)) - subject.windows.get(b.number, 0),
        )
        for b in program.buffers
    }


def _launch(
    subject: Subject,
    program: Program,
    text: str,
    groups: tuple[int, int, int],
    ranges: tuple[GroupRange, ...] | None,
    expected: tuple[Expected, ...],
    elements: Mapping[int, int],
) -> KernelLaunch:
    points = {e.number: e.addresses for e in expected if not _is_whole(e, elements[e.number])}
    stored = {
        e.number: subject.stored(e.output) if ranges is None else e.addresses for e in expected
    }
    return KernelLaunch(
        name=program.name,
        source=text,
        groups=groups,
        local=None if program.is_ungrouped else program.local,
        buffers=tuple(
            LaunchBuffer(
                number=buffer.number,
                dtype=buffer.dtype,
                elements=elements[buffer.number],
                is_written=buffer.is_output,
                points=points.get(buffer.number),
                stored=stored.get(buffer.number),
            )
            for buffer in program.buffers
        ),
        variables=tuple(subject.variables[var.name] for var in program.variables),
        ranges=ranges,
        label=subject.name,
    )


def _is_whole(expected: Expected, elements: int) -> bool:
    """Whether every element of the buffer is stored, in order."""
    found = expected.addresses
    return len(found) == elements and bool((found == np.arange(elements)).all())


def failed(pair: Pair, error: Exception) -> Ending:
    """The ending of a kernel that never came to a launch."""
    match error:
        case Unsupported():
            return Ending(pair, Outcome.UNSUPPORTED, error.detail, reason=error.reason)
        case OptBroke():
            return Ending(pair, Outcome.BROKE, str(error), reason=error.check)
        case KernelRefError():
            return Ending(pair, Outcome.HARNESS_ERROR, str(error))
    return Ending(pair, Outcome.HARNESS_ERROR, f"{type(error).__name__}: {error}")
