"""Small kernels for the tests of `run`, and what a device would answer to them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from kernelref.cases.case import Case, Expect, write_case
from kernelref.cases.sources import KernelSource, Place, read_at
from kernelref.codegen.target import POCL
from kernelref.ir.builder import buffer, kernel
from kernelref.jobs.run_prepare import Ready, prepare
from kernelref.jobs.run_report import Pair
from kernelref.jobs.run_subject import Subject
from kernelref.opt.kernel import Kernel
from kernelref.opt.opt import Opt, OptOps
from kernelref.run.job import LaunchResult

ADD = kernel(buffer(1, (4, 8)) + buffer(2, (4, 8)))
MATMUL = kernel(buffer(1, (8, 16)) @ buffer(2, (16, 4)))
UPCAST = Opt(OptOps.UPCAST, 0, 4)
BAD_UPCAST = Opt(OptOps.UPCAST, 0, 5)


def case_file(folder: Path, name: str, ast, **fields) -> Path:
    path = folder / f"{name}.json"
    write_case(Case(ast, title=name, **fields), path)
    return path


def source_of(folder: Path, ast, **fields) -> KernelSource:
    source = read_at(Place(case_file(folder, "one", ast, **fields)))
    assert isinstance(source, KernelSource)
    return source


def ready_of(folder: Path, ast, *, seed: int = 0, target=POCL, **fields) -> Ready:
    source = source_of(folder, ast, **fields)
    subject = Subject.of(source, seed=seed)
    opened = Kernel.open(source.ast)
    ready = prepare(subject, opened, Pair(subject.name, target.name), target)
    assert isinstance(ready, Ready), ready
    return ready


def right_answer(ready: Ready) -> LaunchResult:
    """What a device that computes right gives back."""
    return LaunchResult(None, outputs={e.number: np.array(e.values.value) for e in ready.expected})


REFUSED_AS_IT_SAYS = Expect(legal=False, outcome="REFUSED", check="amount-divides")
