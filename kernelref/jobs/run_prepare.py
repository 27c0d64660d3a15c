"""From a kernel to a launch with what it must compute: the host's part of a run.

Everything here happens in a host process, one kernel at a time, and sends back little: texts,
recipes of inputs, expected outputs at the points compared. Inputs are drawn again when the launch
is handed to a device, which costs less than sending them.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np

from kernelref.cases.sources import KernelSource
from kernelref.codegen.lower import lower
from kernelref.codegen.opencl import render
from kernelref.codegen.program import Program
from kernelref.codegen.target import Target
from kernelref.errors import KernelRefError, Unsupported
from kernelref.ir.ast import Load, Store, postorder
from kernelref.ir.dtype import DType
from kernelref.ir.index import Var, evaluate
from kernelref.ir.semantics import Array
from kernelref.jobs.run_groups import (
    DEVICE_SIZE,
    INTERPRETER_SIZE,
    chosen_groups,
    concrete_groups,
    elements_written,
    weighted_points,
)
from kernelref.jobs.run_report import Ending, Pair
from kernelref.opt.broke import OptBroke
from kernelref.opt.kernel import Kernel
from kernelref.run.devices import INTERPRETER
from kernelref.run.inputs import InputPlan, plan_inputs
from kernelref.run.job import GroupRange, KernelLaunch, LaunchBuffer
from kernelref.run.oracle import Oracle, Values
from kernelref.run.outcome import Outcome
from kernelref.run.points import buffer_elements, iteration_points, sample_points, symbols
from kernelref.run.tolerance import Rung

MOST_NBYTES = 4 << 30
"""Kernels with more bytes of buffers than this are not run."""

LONG_WORK = 1 << 24
"""Weighted points from which a launch runs for longer than an optimising compile takes."""

LONG_EXPRESSION = 256
"""Nodes from which a launch is compiled with optimisations: without them PoCL runs out of stack."""

CONTRACTS = {Rung.EXACT: "bit-exact", Rung.INTEGERS: "exact-sum", Rung.BOUNDED: "bounded"}


@dataclass(frozen=True, slots=True)
class Recipe:
    """How to draw a launch's inputs."""

    plan: InputPlan
    seed: int

    def draw(self) -> dict[int, Array]:
        """Stored elements per buffer that is read."""
        return self.plan.draw(self.seed)


@dataclass(frozen=True, slots=True, eq=False)
class Expected:
    """What one output must hold: `values[i]` at element `addresses[i]` of buffer `number`."""

    output: int
    number: int
    addresses: Array
    values: Values
    total: int


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


@dataclass(frozen=True, slots=True)
class Subject:
    """One kernel with its inputs, shared by all its opt sequences and devices."""

    source: KernelSource
    name: str
    variables: Mapping[str, int]
    recipe: Recipe
    oracle: Oracle
    points: int
    seed: int
    _whole: list[Expected] = field(default_factory=list, repr=False)

    def expected(self) -> tuple[Expected, ...]:
        """What a launch of all groups must store; the oracle is asked once."""
        if not self._whole:
            for output in range(len(self.source.ast)):
                points = sample_points(self.source.ast, output, self.variables, seed=self.seed)
                self._whole.append(self.expected_at(output, points))
        return tuple(self._whole)

    def expected_at(self, output: int, points: Array | None) -> Expected:
        """What a launch must store at points of an output (None: all)."""
        addresses, stored = self.oracle.addresses(output, points)
        if not stored.all():
            points = np.flatnonzero(stored) if points is None else points[stored]
            addresses = addresses[stored]
        if self.recipe.plan.rung is Rung.BOUNDED:
            values = self.oracle.values(output, points)
        else:
            values = self.oracle.values(output, points, bounds=None)
        total = math.prod(self.oracle.shape(output))
        return Expected(output, self.source.ast[output].buffer, addresses, values, total)

    @staticmethod
    def of(source: KernelSource, *, seed: int) -> Subject:
        """Draw the inputs. Raises: Unsupported for buffers beyond MOST_NBYTES."""
        case = source.case
        own_seed = seed if case is None else seed ^ case.inputs.seed
        fixed = dict(case.vars) if case else {}
        variables = values_for(symbols(source.ast), fixed, seed=own_seed)
        _check_size(source, variables)
        plan = plan_inputs(source.ast, case.inputs.domain if case else "auto", variables)
        recipe = Recipe(plan, own_seed)
        return Subject(
            source=source,
            name=str(source.place),
            variables=variables,
            recipe=recipe,
            oracle=Oracle(source.ast, recipe.draw(), variables),
            points=iteration_points(source.ast, variables),
            seed=own_seed,
        )


def values_for(variables: frozenset[Var], fixed: Mapping[str, int], *, seed: int) -> dict[str, int]:
    """A value for each symbolic variable: the case's, or one within its bounds."""
    rng = random.Random(seed)
    values: dict[str, int] = {}
    for var in sorted(variables, key=lambda var: var.name):
        high = int(evaluate(var.high, values))
        values[var.name] = fixed.get(var.name, rng.randint(var.low, max(var.low, high)))
    return values


def _check_size(source: KernelSource, variables: Mapping[str, int]) -> None:
    sizes = {
        node.buffer: node.dtype.itemsize
        for node in postorder(source.ast)
        if isinstance(node, Load | Store)
    }
    elements = buffer_elements(source.ast, variables)
    nbytes = sum(elements[number] * size for number, size in sizes.items())
    if nbytes > MOST_NBYTES:
        raise Unsupported("memory", f"{nbytes:,} bytes of buffers; at most {MOST_NBYTES:,}")


def prepare(subject: Subject, kernel: Kernel, pair: Pair, target: Target) -> Prepared:
    """One pair: lower, render, and say what must come out."""
    try:
        program = lower(kernel, target)
        text = render(program, target)
    except Unsupported as error:
        return Ending(pair, Outcome.UNSUPPORTED, error.detail, reason=error.reason)
    groups = concrete_groups(program, subject.variables)
    nodes = len(postorder(subject.source.ast))
    work = weighted_points(subject.points, nodes)
    size = INTERPRETER_SIZE if target.name == INTERPRETER else DEVICE_SIZE
    ranges = chosen_groups(groups, work, seed=subject.seed, size=size)
    expected = _expected(subject, program, ranges)
    return Ready(
        pair=pair,
        launch=replace(
            _launch(subject, program, text, groups, ranges, expected),
            optimise=work > LONG_WORK or nodes > LONG_EXPRESSION,
        ),
        recipe=subject.recipe,
        program=program,
        expected=expected,
        rung=subject.recipe.plan.rung,
        points=subject.points,
        work=work if ranges is None else min(work, size.partial),
    )


def _expected(
    subject: Subject, program: Program, ranges: tuple[GroupRange, ...] | None
) -> tuple[Expected, ...]:
    if ranges is None:
        return subject.expected()
    written = elements_written(program, ranges, subject.variables)
    return tuple(
        subject.expected_at(output, _points_of(subject, output, written[store.buffer]))
        for output, store in enumerate(subject.source.ast)
    )


def _points_of(subject: Subject, output: int, elements: Array) -> Array:
    """The points of an output that lie at these elements of its buffer."""
    store = subject.source.ast[output]
    if not store.st.bind(subject.variables).contiguous:
        raise Unsupported("partial-scattered-store", "whole groups of a store that is not in order")
    return elements


def _launch(
    subject: Subject,
    program: Program,
    text: str,
    groups: tuple[int, int, int],
    ranges: tuple[GroupRange, ...] | None,
    expected: tuple[Expected, ...],
) -> KernelLaunch:
    least = buffer_elements(subject.source.ast, subject.variables)
    elements = {
        b.number: max(least[b.number], int(evaluate(b.elements, subject.variables)))
        for b in program.buffers
    }
    points = {e.number: e.addresses for e in expected if not _is_whole(e, elements[e.number])}
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
