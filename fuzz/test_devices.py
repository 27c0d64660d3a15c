"""Optimised kernels on real devices: the text, built and run, computes what the oracle says."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path

import pytest

from fuzz.harness import examples, kept
from kernelref.cases.sources import KernelSource, Place
from kernelref.codegen.target import Target
from kernelref.errors import DeviceError
from kernelref.fuzzing.choose import SeededChooser
from kernelref.fuzzing.generate import generate_kernel
from kernelref.fuzzing.generate_opts import walk
from kernelref.ir.tinygrad_repr import Dialect
from kernelref.jobs.run import target_named
from kernelref.jobs.run_judge import judged
from kernelref.jobs.run_prepare import Ready, prepare
from kernelref.jobs.run_report import Ending, Pair
from kernelref.jobs.run_subject import Subject
from kernelref.opt.kernel import Kernel
from kernelref.pytest_plugin import Settings
from kernelref.run.devices import INTERPRETER
from kernelref.run.isolate import DevicePool
from kernelref.run.job import KernelLaunch
from kernelref.run.outcome import Outcome

BATCH = 12
EXAMPLES_A_KERNEL = 8
"""A kernel is built for as many examples as the profile has elsewhere: building takes the time."""


def test_devices_compute_what_the_oracle_says(kernelref_settings: Settings) -> None:
    for device in kernelref_settings.devices:
        if device == INTERPRETER:
            continue
        try:
            target = target_named(device)
        except DeviceError as error:
            if kernelref_settings.require_device:
                raise
            pytest.skip(str(error))
        _run(device, target, kernelref_settings)


def _run(device: str, target: Target, given: Settings) -> None:
    """Batch after batch, until there were enough or the budget is spent."""
    waiting: deque[Ready] = deque()

    def launches() -> Iterator[KernelLaunch]:
        for ready in _readies(target, given):
            waiting.append(ready)
            yield ready.with_data()

    failures: list[Ending] = []
    with DevicePool(device, batch=BATCH) as pool:
        for result in pool.run(launches()):
            ready = waiting.popleft()
            ending = judged(ready, result)
            if ending.outcome not in (Outcome.PASS, Outcome.UNSUPPORTED):
                failures.append(ending)
                _keep(device, ending)
    assert not failures, failures[0]


def _readies(target: Target, given: Settings) -> Iterator[Ready]:
    started = time.monotonic()
    most = max(BATCH, examples(1 / EXAMPLES_A_KERNEL))
    number = given.seed
    while True:
        budget = given.budget
        if (
            (number - given.seed >= most)
            if budget is None
            else (time.monotonic() - started > budget)
        ):
            return
        ready = _ready(target, number)
        number += 1
        if ready is not None:
            yield ready


def _ready(target: Target, seed: int) -> Ready | None:
    """A generated kernel under generated opts, as text; None for what the target cannot hold."""
    chooser = SeededChooser(seed)
    ast = generate_kernel(chooser)
    kernel = walk(chooser, Kernel.open(ast), length=4).kernel
    source = KernelSource(Place(Path(f"seed-{seed}")), ast, None, Dialect.V0_9_1)
    pair = Pair(str(seed), target.name, opts=kernel.applied_opts)
    prepared = prepare(Subject.of(source, seed=seed), kernel, pair, target)
    return prepared if isinstance(prepared, Ready) else None


def _keep(device: str, ending: Ending) -> None:
    """The failing kernel as a case, made again from its seed."""
    ast = generate_kernel(SeededChooser(int(ending.pair.kernel)))
    try:
        with kept(f"{device}-{ending.pair.kernel}", ast, ending.pair.opts):
            raise AssertionError(ending)
    except AssertionError:
        pass
