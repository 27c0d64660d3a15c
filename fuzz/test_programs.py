"""Programs that are broken in a known way: the interpreter says how, and says nothing else."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from fuzz.breaks import BREAKS, Break
from fuzz.harness import examples, fuzzed, kept
from kernelref.codegen.lower import lower
from kernelref.codegen.program import Program
from kernelref.codegen.target import FULL, MINIMAL
from kernelref.errors import Unsupported
from kernelref.fuzzing.campaign_check import Stage, Subject
from kernelref.fuzzing.choose import Chooser, SeededChooser
from kernelref.fuzzing.generate import generate_kernel
from kernelref.fuzzing.generate_opts import OptSequence, fitting, generate_sequence, is_moderate
from kernelref.fuzzing.generate_taste import DEFAULT
from kernelref.ir.ast import Ast
from kernelref.ir.index import evaluate
from kernelref.opt.kernel import Kernel
from kernelref.opt.opt import OptOps
from kernelref.pytest_plugin import Settings
from kernelref.run.interp import interpret
from kernelref.run.interp.device import launch_program
from kernelref.run.job import LaunchBuffer, LaunchResult
from kernelref.run.outcome import Outcome

REDUCED = replace(DEFAULT, reduces=((1, 70), (2, 30)), symbolic=0)
NESTED = replace(DEFAULT, reduces=((2, 70), (3, 30)), symbolic=0)
SHARE = 0.15
"""Programs broken in each way, as a share of the examples elsewhere."""
TRIES = 200
"""Programs looked at for one that a break fits."""
ASKED = 3
"""How often an opt of each kind is asked for."""


def generate_optimised(chooser: Chooser, broken: Break) -> Kernel:
    """A kernel with the opts that lead to what a break needs, and one more of any kind."""
    ast = generate_kernel(chooser, NESTED if broken.is_nested else REDUCED)
    kernel = Kernel.open(ast)
    for op in (*broken.leads, chooser.choice((OptOps.LOCAL, OptOps.UPCAST, OptOps.UNROLL))):
        for _ in range(ASKED):
            answer = kernel.attempt(fitting(chooser, kernel, op))
            if isinstance(answer, Kernel) and is_moderate(answer):
                kernel = answer
                break
    return kernel


def broken_programs(broken: Break, seed: int) -> Iterator[tuple[int, Kernel, Program]]:
    """One broken Program of each seed that gives one; at most TRIES in vain."""
    vain = 0
    while vain < TRIES:
        chooser = SeededChooser(f"{broken.name} {seed}")
        kernel = generate_optimised(chooser, broken)
        try:
            programs = list(broken.made(lower(kernel, chooser.choice((FULL, MINIMAL)))))
        except Unsupported:
            programs = []
        vain = 0 if programs else vain + 1
        if programs:
            yield seed, kernel, chooser.choice(programs)
        seed += 1


@pytest.mark.parametrize("broken", BREAKS, ids=lambda broken: broken.name)
def test_a_broken_program_is_said_to_be(broken: Break, kernelref_settings: Settings) -> None:
    started, given = time.monotonic(), kernelref_settings
    done = 0
    for seed, kernel, program in broken_programs(broken, given.seed):
        with kept(f"broken-{broken.name}", kernel.ast, kernel.applied_opts):
            subject = Subject.of(kernel.ast, seed)
            launched = launch(subject, program)
            assert launched.fault is (None if broken.outcome is Outcome.PASS else broken.outcome), (
                f"seed {seed}: {launched.fault} {launched.detail}"
            )
            ending = subject.judged(program, Stage.OPTIMISED)
            assert ending.outcome is broken.outcome, f"seed {seed}: {ending}"
        done += 1
        is_over = given.budget is not None and time.monotonic() - started > given.budget
        if is_over or (given.budget is None and done >= max(1, examples(SHARE))):
            return
    pytest.fail(f"{broken.name} fits no Program after {done}")


@fuzzed(generate_kernel, generate_sequence, share=0.25)
def test_the_order_of_work_items_changes_nothing(ast: Ast, sequence: OptSequence) -> None:
    """Nor does what is asked for of the outputs."""
    kernel = sequence.on(Kernel.open(ast)).kernel
    try:
        program = lower(kernel, FULL)
    except Unsupported:
        return
    with kept("another-order", ast, kernel.applied_opts):
        subject = Subject.of(ast, 4)
        inputs = filled(subject, program)
        usual = interpret(program, inputs, subject.variables)
        other = interpret(program, inputs, subject.variables, shake=len(kernel.applied_opts))
        assert usual.fault is None, usual.fault
        assert other.fault is None, other.fault
        every, some = launch(subject, program), launch(subject, program, every=2)
        assert every.fault is None, every
        assert some.fault is None, some
        for store, (addresses, _) in zip(ast, subject.stored, strict=True):
            number, places = store.buffer, np.unique(addresses)
            held = usual.buffers[number]
            assert np.array_equal(_bits(held), _bits(other.buffers[number]))
            assert np.array_equal(_bits(every.outputs[number]), _bits(held))
            assert np.array_equal(_bits(some.outputs[number]), _bits(held[places[::2]]))


def _bits(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}")


def filled(subject: Subject, program: Program) -> dict[int, np.ndarray]:
    """The inputs, with room for what the Program says of its buffers."""
    found = dict(subject.inputs)
    for buffer in program.buffers:
        elements = int(evaluate(buffer.elements, subject.variables))
        data = found.get(buffer.number)
        if data is not None and len(data) < elements:
            found[buffer.number] = np.resize(data, elements)
    return found


def launch(subject: Subject, program: Program, every: int | None = None) -> LaunchResult:
    """Run as on a device, which is told what must be written; wanted are all elements, or a few."""
    inputs = filled(subject, program)
    stored = {
        store.buffer: np.unique(addresses)
        for store, (addresses, _) in zip(subject.ast, subject.stored, strict=True)
    }
    buffers = []
    for buffer in program.buffers:
        elements = int(evaluate(buffer.elements, subject.variables))
        places = stored.get(buffer.number)
        if places is not None:
            places = places[places < elements]
        buffers.append(
            LaunchBuffer(
                buffer.number,
                buffer.dtype,
                elements,
                buffer.is_output,
                data=inputs.get(buffer.number),
                points=None if places is None or every is None else places[::every],
                stored=places,
            )
        )
    values = [subject.variables[var.name] for var in program.variables]
    return launch_program(program, buffers, values)
