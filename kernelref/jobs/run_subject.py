"""One kernel with its inputs and what it must compute: the oracle's part of a run."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from kernelref.cases.sources import KernelSource
from kernelref.errors import Unsupported
from kernelref.ir.ast import Ast, Load, Store, postorder
from kernelref.ir.index import Var, evaluate
from kernelref.ir.semantics import Array
from kernelref.jobs.run_windows import shifted, windows_of
from kernelref.run.inputs import InputPlan, plan_inputs
from kernelref.run.job import Stored
from kernelref.run.oracle import Oracle, Values
from kernelref.run.points import buffer_elements, iteration_points, sample_points, symbols
from kernelref.run.tolerance import Rung

MOST_NBYTES = 2 << 30
"""Kernels with more bytes of buffers than this are not run."""

MOST_SCATTERED = 1 << 22
"""Points of an output up to which the elements that it stores are listed one by one."""


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


@dataclass(frozen=True, slots=True)
class Subject:
    """One kernel with its inputs, shared by all its opt sequences and devices.

    `ast` counts addresses from the `windows` of huge buffers (`run_windows`).
    """

    source: KernelSource
    name: str
    ast: Ast
    windows: Mapping[int, int]
    variables: Mapping[str, int]
    recipe: Recipe
    oracle: Oracle
    points: int
    seed: int
    _whole: list[Expected] = field(default_factory=list, repr=False)

    def expected(self) -> tuple[Expected, ...]:
        """What a launch of all groups must store; the oracle is asked once."""
        if not self._whole:
            for output in range(len(self.ast)):
                points = sample_points(self.ast, output, self.variables, seed=self.seed)
                self._whole.append(self.expected_at(output, points))
        return tuple(self._whole)

    def stored(self, output: int) -> Stored | None:
        """Which elements a launch of all groups must write, and no other.

        None where a scattered store of more than MOST_SCATTERED points would have to be listed.
        """
        st = self.ast[output].st.bind(self.variables)
        total = math.prod(self.oracle.shape(output))
        if replace(st.views[0], offset=0).contiguous and len(st.views) == 1:
            first = int(evaluate(st.views[0].offset, {}))
            return range(first, first + total)
        if total > MOST_SCATTERED:
            return None
        addresses, stored = self.oracle.addresses(output)
        return addresses[stored]

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
        return Expected(output, self.ast[output].buffer, addresses, values, total)

    @staticmethod
    def of(source: KernelSource, *, seed: int) -> Subject:
        """Draw the inputs. Raises: Unsupported for buffers beyond MOST_NBYTES."""
        case = source.case
        own_seed = seed if case is None else seed ^ case.inputs.seed
        fixed = dict(case.vars) if case else {}
        variables = values_for(symbols(source.ast), fixed, seed=own_seed)
        windows = windows_of(source.ast, variables)
        ast = shifted(source.ast, windows)
        _check_size(ast, variables)
        plan = plan_inputs(ast, case.inputs.domain if case else "auto", variables)
        recipe = Recipe(plan, own_seed)
        return Subject(
            source=source,
            name=str(source.place),
            ast=ast,
            windows=windows,
            variables=variables,
            recipe=recipe,
            oracle=Oracle(ast, recipe.draw(), variables),
            points=iteration_points(ast, variables),
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


def _check_size(ast: Ast, variables: Mapping[str, int]) -> None:
    sizes = {
        node.buffer: node.dtype.itemsize
        for node in postorder(ast)
        if isinstance(node, Load | Store)
    }
    elements = buffer_elements(ast, variables)
    nbytes = sum(elements[number] * size for number, size in sizes.items())
    if nbytes > MOST_NBYTES:
        raise Unsupported("memory", f"{nbytes:,} bytes of buffers; at most {MOST_NBYTES:,}")
