"""The interpreter on real kernels under random opts: how long it takes, and against the oracle.

    python -m kernelref.jobs.benchmarks.interp [--sample N] [--seed S] [--length L] FILE...

prints the figures as JSON: outcomes, and the median time of kernels of about 10,000 iteration
points. Anything but PASS and Unsupported is a finding.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

from kernelref.cases.sources import Unreadable, list_kernels, read_kernels, sample
from kernelref.codegen.lower import lower
from kernelref.codegen.target import FULL
from kernelref.errors import KernelOptError, Unsupported
from kernelref.ir.ast import Ast
from kernelref.ir.index import bounds
from kernelref.opt.kernel import Kernel
from kernelref.opt.opt import Opt, OptOps
from kernelref.run.inputs import plan_inputs
from kernelref.run.interp import interpret
from kernelref.run.oracle import Oracle
from kernelref.run.points import iteration_points, symbols
from kernelref.run.tolerance import Rung, judge

MOST_POINTS = 1_000_000
NEAR_10K = (3_000, 30_000)
AMOUNTS = (0, 2, 3, 4, 5, 7, 8, 16, 32)
OPS = tuple(op for op in OptOps if op is not OptOps.TC)


def run(files: Sequence[str], count: int | None, seed: int, length: int) -> dict[str, Any]:
    """Interpret a sample of the kernels in `files`, each under one random sequence of opts."""
    draw = random.Random(seed)
    outcomes: Counter[str] = Counter()
    findings: list[str] = []
    near: list[float] = []
    total = points = 0.0
    for kernel in read_kernels(sample(list_kernels(files), count, seed)):
        if isinstance(kernel, Unreadable):
            findings.append(kernel.name)
            continue
        variables = {symbol.name: bounds(symbol)[1] for symbol in symbols(kernel.ast)}
        size = iteration_points(kernel.ast, variables)
        if size > MOST_POINTS:
            outcomes["larger"] += 1
            continue
        try:
            optimised = with_opts(Kernel.open(kernel.ast), draw, length)
            outcome, seconds = outcome_of(kernel.ast, optimised, variables, seed)
        except Unsupported as error:
            outcomes[f"unsupported {error.reason}"] += 1
            continue
        outcomes["PASS" if outcome == "PASS" else "finding"] += 1
        if outcome != "PASS":
            opts = [(o.op.name, o.axis, o.amt) for o in optimised.applied_opts]
            findings.append(f"{kernel.name} {opts}: {outcome}")
        total, points = total + seconds, points + size
        if NEAR_10K[0] <= size <= NEAR_10K[1]:
            near.append(seconds)
    return {
        "outcomes": dict(outcomes),
        "near_10k_kernels": len(near),
        "near_10k_median_ms": 1e3 * statistics.median(near) if near else None,
        "points_per_second": points / total if total else None,
        "findings": findings,
    }


def with_opts(kernel: Kernel, draw: random.Random, length: int) -> Kernel:
    """The kernel under up to `length` random opts that its rules permit."""
    for _ in range(8 * length):
        opt = Opt(draw.choice(OPS), draw.randrange(6), draw.choice(AMOUNTS))
        try:
            kernel = kernel.apply_opt(opt)
        except KernelOptError:
            continue
        if len(kernel.applied_opts) == length:
            break
    return kernel


def outcome_of(ast: Ast, kernel: Kernel, variables: dict[str, int], seed: int) -> tuple[str, float]:
    """PASS or what is wrong, and the seconds that the interpreter took. Raises: Unsupported."""
    program = lower(kernel, FULL)
    plan = plan_inputs(ast, "auto", variables)
    inputs = plan.draw(seed)
    started = time.perf_counter()
    result = interpret(program, inputs, variables)
    seconds = time.perf_counter() - started
    if result.fault is not None:
        return f"{result.fault.outcome.name} {result.fault}", seconds
    oracle = Oracle(ast, inputs, variables)
    for output, store in enumerate(ast):
        address, valid = oracle.addresses(output)
        if not result.written[output][address[valid]].all():
            return "UNWRITTEN", seconds
        if plan.rung is Rung.BOUNDED:
            values = oracle.values(output)
        else:
            values = oracle.values(output, bounds=None)
        stored = result.buffers[output][address[valid]]
        wrong = judge(stored, values.at(valid), plan.rung, store.dtype)
        if wrong is not None:
            return f"WRONG_VALUE {wrong}", seconds
    return "PASS", seconds


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--sample", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--length", type=int, default=5)
    flags = parser.parse_args()
    print(json.dumps(run(flags.files, flags.sample, flags.seed, flags.length), indent=2))
