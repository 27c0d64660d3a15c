"""The ladder for one generated kernel: each rung is checked before the next is believed.

Read `Subject.run` first. Unoptimised Program in the interpreter = oracle, then the optimised one;
a failure says at which rung, and with which outcome.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from kernelref.codegen.lower import lower
from kernelref.codegen.program import Program
from kernelref.codegen.target import FULL, Target
from kernelref.errors import Unsupported
from kernelref.ir.ast import Ast
from kernelref.ir.index import bounds, evaluate
from kernelref.ir.semantics import Array
from kernelref.opt.kernel import Kernel
from kernelref.run.inputs import InputPlan, plan_inputs
from kernelref.run.interp import interpret
from kernelref.run.oracle import Oracle, Values
from kernelref.run.outcome import Outcome
from kernelref.run.points import symbols
from kernelref.run.tolerance import Rung, judge


class Stage(enum.Enum):
    """Where on the ladder a kernel stands."""

    GENERATE = "generate"
    OPEN = "open"
    ORACLE = "oracle"
    LOWER = "lower"
    PLAIN = "plain"
    OPTS = "opts"
    PROOF = "proof"
    OPTIMISED = "optimised"
    DEVICE = "device"


LEAVES_TRACES = "refusal-leaves-traces"
"""Why an opt is a finding that a release refuses, and that changed its kernel all the same."""


@dataclass(frozen=True, slots=True)
class Ending:
    """How far a kernel came: the last stage, its outcome and what there is to say.

    `inherited`: of a changed release, that the published one ends so too.
    """

    stage: Stage
    outcome: Outcome
    detail: str = ""
    reason: str = ""
    inherited: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Subject:
    """An AST with inputs and what it must store, worked out once for all its schedules."""

    ast: Ast
    variables: Mapping[str, int]
    plan: InputPlan
    inputs: Mapping[int, Array]
    oracle: Oracle
    stored: tuple[tuple[Array, Values], ...]

    @staticmethod
    def of(ast: Ast, seed: int, variables: Mapping[str, int] | None = None) -> Subject:
        """Draw the inputs and ask the oracle."""
        values = {symbol.name: bounds(symbol)[1] for symbol in symbols(ast)}
        values.update(variables or {})
        plan = plan_inputs(ast, "auto", values)
        inputs = plan.draw(seed)
        oracle = Oracle(ast, inputs, values)
        stored = tuple(_expected(oracle, plan.rung, output) for output in range(len(ast)))
        return Subject(ast, values, plan, inputs, oracle, stored)

    def run(self, kernel: Kernel, stage: Stage, target: Target = FULL) -> Ending:
        """Lower a schedule of this AST, interpret it and compare."""
        try:
            program = lower(kernel, target)
        except Unsupported as error:
            return Ending(Stage.LOWER, Outcome.UNSUPPORTED, error.detail, error.reason)
        return self.judged(program, stage)

    def judged(self, program: Program, stage: Stage) -> Ending:
        """Interpret a Program and compare every output."""
        result = interpret(program, self._filled(program), self.variables)
        if result.fault is not None:
            return Ending(stage, result.fault.outcome, str(result.fault))
        for store, (addresses, values) in zip(self.ast, self.stored, strict=True):
            if not result.written[store.buffer][addresses].all():
                return Ending(stage, Outcome.UNWRITTEN, f"buffer {store.buffer}")
            got = result.buffers[store.buffer][addresses]
            wrong = judge(got, values, self.plan.rung, store.dtype)
            if wrong is not None:
                return Ending(stage, Outcome.WRONG_VALUE, f"buffer {store.buffer}: {wrong}")
        return Ending(stage, Outcome.PASS)

    def _filled(self, program: Program) -> Mapping[int, Array]:
        """The inputs; a buffer has room for the largest values of symbolic variables."""
        filled = dict(self.inputs)
        for buffer in program.buffers:
            elements = int(evaluate(buffer.elements, self.variables))
            data = filled.get(buffer.number)
            if data is not None and len(data) < elements:
                filled[buffer.number] = np.resize(data, elements)
        return filled


def _expected(oracle: Oracle, rung: Rung, output: int) -> tuple[Array, Values]:
    """Where an output's points lie and what they must hold."""
    addresses, valid = oracle.addresses(output)
    exact = oracle.values(output) if rung is Rung.BOUNDED else oracle.values(output, bounds=None)
    return addresses[valid], exact.at(valid)
