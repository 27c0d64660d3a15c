"""Subjects: a case of the corpus with its inputs, and what the oracle says must come out.

Made in a process without a mutant, so that a mutant disturbs neither.
"""

from __future__ import annotations

import numpy as np

from kernelref.cases.case import Case, dump_case, read_case
from kernelref.cases.corpus import corpus_root
from kernelref.codegen.lower import lower
from kernelref.codegen.target import FULL
from kernelref.errors import Unsupported
from kernelref.fuzzing.mutants.question import Array, Subject, Wanted
from kernelref.ir.index import bounds, evaluate
from kernelref.opt.kernel import Kernel
from kernelref.run.inputs import plan_inputs
from kernelref.run.oracle import Oracle
from kernelref.run.points import buffer_elements, iteration_points, symbols
from kernelref.run.tolerance import Rung


def subject_of(name: str) -> Subject:
    """The case of the corpus called folder/name. Raises: InvalidInput."""
    case = read_case(corpus_root() / f"{name}.json")
    variables = {**_middles(case), **dict(case.vars)}
    plan = plan_inputs(case.ast, case.inputs.domain, variables)
    elements = _elements(case, variables)
    drawn = plan.draw(case.inputs.seed)
    inputs = {number: _filled(array, elements[number]) for number, array in drawn.items()}
    folder, _, stem = name.partition("/")
    return Subject(
        case=name,
        text=dump_case(case),
        seed=stem if folder == "seeds" else "",
        variables=variables,
        inputs=inputs,
        elements=elements,
        rung=plan.rung.name,
        wanted=_wanted(case, inputs, variables, plan.rung),
        points=iteration_points(case.ast, variables),
    )


def _middles(case: Case) -> dict[str, int]:
    """For each symbolic variable a value between its bounds."""
    found = {}
    for variable in symbols(case.ast):
        low, high = bounds(variable)
        found[variable.name] = (low + high) // 2
    return found


def _elements(case: Case, variables: dict[str, int]) -> dict[int, int]:
    """How many elements each buffer has: what the AST touches, and what the Program asks for."""
    elements = dict(buffer_elements(case.ast, variables))
    try:
        program = lower(Kernel.open(case.ast, case.limits), FULL)
    except Unsupported:
        return elements
    for buffer in program.buffers:
        asked = int(evaluate(buffer.elements, variables))
        elements[buffer.number] = max(elements.get(buffer.number, 0), asked)
    return elements


def _filled(array: Array, elements: int) -> Array:
    """Elements for a whole buffer: it has room for the largest values of symbolic variables."""
    return array if len(array) == elements else np.resize(array, elements)


def _wanted(
    case: Case, inputs: dict[int, Array], variables: dict[str, int], rung: Rung
) -> tuple[Wanted, ...]:
    oracle = Oracle(case.ast, inputs, variables)
    found = []
    for output, store in enumerate(case.ast):
        addresses, stored = oracle.addresses(output)
        if rung is Rung.BOUNDED:
            values = oracle.values(output)
        else:
            values = oracle.values(output, bounds=None)
        kept = np.flatnonzero(stored)
        values = values.at(kept)
        found.append(
            Wanted(
                output, store.buffer, addresses[kept], values.value, values.reference, values.bound
            )
        )
    return tuple(found)
