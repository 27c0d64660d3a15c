"""Three judges of races, none of which knows the others: the prover, the interpreter, Oclgrind.

They must agree, on kernels of the corpus under random opts and on Programs with a planted race. A
disagreement is a fault in one of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from kernelref.cases.sources import KernelSource, list_kernels, read_kernels
from kernelref.codegen import program as lir
from kernelref.codegen.lower import lower
from kernelref.codegen.opencl import render
from kernelref.errors import Unsupported
from kernelref.fuzzing.choose import SeededChooser
from kernelref.fuzzing.generate_opts import walk
from kernelref.ir.dtype import FLOAT
from kernelref.ir.index import bounds, evaluate
from kernelref.opt.kernel import Kernel
from kernelref.prove.portfolio import Portfolio
from kernelref.prove.program.races import global_races, races
from kernelref.prove.subject import ANY
from kernelref.prove.verdict import Answer, Obligation, Part, judge
from kernelref.run.inputs import plan_inputs
from kernelref.run.interp import interpret
from kernelref.run.isolate import DevicePool
from kernelref.run.job import KernelLaunch, LaunchBuffer
from kernelref.run.outcome import Outcome
from kernelref.run.points import iteration_points
from tests.prove.program.rewrite import each
from tests.prove.program.test_domain import CASES, built
from tests.repo.packages import ROOT
from tests.run.device_launches import need_device

MOST_POINTS = 4_000
"""Kernels of the corpus with more iteration points are left out: Oclgrind goes through each."""
RACES = (Outcome.RACE, Outcome.UNINITIALISED)
"""A lost barrier shows as a race, or as an element read that nobody has written yet."""


@dataclass(frozen=True)
class Trial:
    """A Program with data, and whether a race was planted in it."""

    name: str
    kernel: Kernel
    program: lir.Program
    data: dict[int, np.ndarray]
    is_planted: bool = False

    @property
    def variables(self) -> dict[str, int]:
        return {var.name: bounds(var)[1] for var in self.program.variables}


def drawn(kernel: Kernel, program: lir.Program) -> dict[int, np.ndarray]:
    """Inputs; a buffer may have to be longer than the kernel reads."""
    values = {var.name: bounds(var)[1] for var in program.variables}
    data = dict(plan_inputs(kernel.ast, "auto", values).draw(1))
    for held in program.buffers:
        elements = int(evaluate(held.elements, values))
        if held.number in data:
            data[held.number] = np.resize(data[held.number], elements)
    return data


@cache
def read_corpus() -> tuple[tuple[Trial, ...], tuple[Kernel, ...]]:
    """Kernels under random opts; and, without opts, those that lowering refuses as racy."""
    found: list[Trial] = []
    hazards: list[Kernel] = []
    files = [str(ROOT / "corpus" / folder) for folder in ("regress", "seeds")]
    for number, source in enumerate(read_kernels(list_kernels(files))):
        assert isinstance(source, KernelSource)
        opened = Kernel.open(source.ast)
        most = {v.name: bounds(v)[1] for st in opened.sts for v in st.variables()}
        if iteration_points(source.ast, most) > MOST_POINTS:
            continue
        kernel = walk(SeededChooser(number), opened, length=5).kernel
        try:
            program = lower(kernel, ANY)
        except Unsupported as error:
            if error.reason == "in-place-hazard":
                hazards.append(opened)
            continue
        found.append(Trial(source.place.name, kernel, program, drawn(kernel, program)))
    return tuple(found), tuple(hazards)


@cache
def planted() -> tuple[Trial, ...]:
    """Lost barriers, and work-items that share an element."""
    found = []
    for name in CASES:
        kernel, program = built(name)
        wrong = [
            *each(program, lir.Barrier, lambda _: None),
            *each(program, lir.StoreShared, lambda statement: replace(statement, address=0)),
        ]
        for number, racy in enumerate(wrong):
            label = f"{name} {number}"
            found.append(Trial(label, kernel, racy, drawn(kernel, racy), is_planted=True))
    return tuple(found)


def by_prover(trial: Trial) -> bool:
    """Whether the prover says that there is a race."""
    return is_refuted(trial.name, races(trial.kernel, trial.program))


def is_refuted(name: str, parts: Iterable[Part]) -> bool:
    found = judge("program", Obligation.RACES, list(parts), Portfolio())
    assert found.answer in (Answer.PROVED, Answer.REFUTED), (name, found)
    return found.answer is Answer.REFUTED


def by_interpreter(trial: Trial) -> bool:
    result = interpret(trial.program, trial.data, trial.variables)
    if result.fault is None:
        return False
    assert result.fault.outcome in RACES, (trial.name, result.fault)
    return True


def by_oclgrind(trials: list[Trial]) -> dict[str, bool]:
    found = {}
    with DevicePool("oclgrind") as pool:
        for trial, result in zip(trials, pool.run(map(launch, trials)), strict=True):
            found[trial.name] = result.fault is not None
            assert result.fault in (None, *RACES), (trial.name, result.fault, result.detail)
    return found


def launch(trial: Trial) -> KernelLaunch:
    program, values = trial.program, trial.variables
    held = tuple(
        LaunchBuffer(
            argument.number,
            argument.dtype,
            int(evaluate(argument.elements, values)),
            argument.is_output,
            trial.data.get(argument.number),
        )
        for argument in program.buffers
    )
    x, y, z = (int(evaluate(count, values)) for count in program.groups)
    return KernelLaunch(
        program.name,
        render(program, ANY),
        (x, y, z),
        None if program.is_ungrouped else program.local,
        held,
        tuple(values[var.name] for var in program.variables),
        label=trial.name,
    )


def test_there_is_something_to_agree_on() -> None:
    assert len(read_corpus()[0]) >= 50
    assert sum(bool(trial.program.shared) for trial in read_corpus()[0]) >= 5
    assert len(planted()) >= 10


def test_what_is_not_lowered_for_a_hazard_is_refuted() -> None:
    hazards = read_corpus()[1]
    assert hazards
    for kernel in hazards:
        assert is_refuted("hazard", global_races(kernel))


def test_prover_and_interpreter_agree() -> None:
    for trial in (*read_corpus()[0], *planted()):
        assert by_prover(trial) == by_interpreter(trial) == trial.is_planted, trial.name


def test_prover_and_oclgrind_agree() -> None:
    """Oclgrind has no images worth the name, and runs a sample."""
    need_device("oclgrind")
    trials = [trial for trial in planted() if is_plain(trial)]
    for trial in read_corpus()[0]:
        if is_plain(trial) and (trial.program.shared or len(trials) < 60):
            trials.append(trial)
    found = by_oclgrind(trials)
    wrong = [trial.name for trial in trials if found[trial.name] != by_prover(trial)]
    assert not wrong


def is_plain(trial: Trial) -> bool:
    """Only what Oclgrind models without doubt: buffers of float."""
    return all(argument.dtype == FLOAT for argument in trial.program.buffers)
