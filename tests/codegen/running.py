"""Lower, render and run kernels on a device, and compare every output with the oracle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from kernelref.codegen.lower import lower
from kernelref.codegen.opencl import render
from kernelref.codegen.target import Target
from kernelref.ir.index import evaluate
from kernelref.opt.kernel import Kernel
from kernelref.run.inputs import plan_inputs
from kernelref.run.isolate import DevicePool
from kernelref.run.job import KernelLaunch, LaunchBuffer, LaunchResult
from kernelref.run.oracle import Oracle
from kernelref.run.points import buffer_elements
from kernelref.run.tolerance import judge


@dataclass(frozen=True)
class Trial:
    """One kernel to run, with values of its symbolic variables."""

    name: str
    kernel: Kernel
    target: Target
    variables: Mapping[str, int] = field(default_factory=dict)
    seed: int = 1


def failures(trials: Sequence[Trial], device: str) -> dict[str, str]:
    """What went wrong, by name; empty when all outputs are right."""
    launches = [_launch(trial) for trial in trials]
    found: dict[str, str] = {}
    with DevicePool(device) as pool:
        results = pool.run(launches)
        for trial, launch, result in zip(trials, launches, results, strict=True):
            fault = _fault(trial, result)
            if fault is not None:
                found[trial.name] = f"{fault}\n{launch.source}"
    return found


def _launch(trial: Trial) -> KernelLaunch:
    kernel, variables = trial.kernel, dict(trial.variables)
    program = lower(kernel, trial.target, trial.name)
    data = plan_inputs(kernel.ast, variables=variables).draw(trial.seed)
    oracle = Oracle(kernel.ast, data, variables)
    elements = buffer_elements(kernel.ast, variables)
    buffers = []
    for argument in program.buffers:
        points = None
        if argument.is_output:
            address, valid = oracle.addresses(argument.number)
            points = np.unique(address[valid]).astype(np.int64)
        buffers.append(
            LaunchBuffer(
                argument.number,
                argument.dtype,
                elements[argument.number],
                argument.is_output,
                data.get(argument.number),
                points,
            )
        )
    x, y, z = (int(evaluate(count, variables)) for count in program.groups)
    return KernelLaunch(
        trial.name,
        render(program, trial.target),
        (x, y, z),
        None if program.is_ungrouped else program.local,
        tuple(buffers),
        tuple(variables[var.name] for var in program.variables),
        label=trial.name,
    )


def _fault(trial: Trial, result: LaunchResult) -> str | None:
    if result.fault is not None:
        return f"{result.fault.name}: {result.detail}"
    kernel, variables = trial.kernel, dict(trial.variables)
    plan = plan_inputs(kernel.ast, variables=variables)
    oracle = Oracle(kernel.ast, plan.draw(trial.seed), variables)
    for number, store in enumerate(kernel.ast):
        address, valid = oracle.addresses(number)
        points = np.flatnonzero(valid)
        order = np.unique(address[valid])
        stored = result.outputs[store.buffer][np.searchsorted(order, address[valid])]
        wanted = oracle.values(number, points)
        mismatch = judge(stored, wanted, plan.rung, store.dtype)
        if mismatch is not None:
            return f"output {number}: {mismatch}"
    return None
