"""The oracle on real kernels: how long it takes, under which contract, and against itself.

    python -m kernelref.jobs.benchmarks.oracle [--sample N] [--seed S] FILE...

prints the figures as JSON. A kernel on which the oracle contradicts itself (axes in another order,
little memory) is a finding.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from kernelref.cases.sources import Unreadable, list_kernels, read_kernels, sample
from kernelref.errors import Unsupported
from kernelref.ir.ast import Ast
from kernelref.jobs.progress import Progress, silent
from kernelref.run.inputs import plan_inputs
from kernelref.run.oracle import Oracle
from kernelref.run.points import buffer_elements, iteration_points, sample_points, symbols
from kernelref.run.selfcheck import self_check
from kernelref.run.tolerance import Rung, judged

MOST_ELEMENTS = 50_000_000
"""Kernels with larger buffers are counted, not run."""


def run(
    files: Sequence[str], count: int | None, seed: int, progress: Progress = silent
) -> dict[str, Any]:
    """Evaluate a sample of the kernels in `files` at the points that a run would check."""
    seconds: list[float] = []
    rungs: Counter[str] = Counter()
    unsupported: Counter[str] = Counter()
    findings: list[str] = []
    unreadable: list[str] = []
    checked = unjudged = large = 0
    places = sample(list_kernels(files), count, seed)
    for done, kernel in enumerate(read_kernels(places), 1):
        progress(done, len(places))
        if isinstance(kernel, Unreadable):
            if isinstance(kernel.error, Unsupported):
                unsupported[kernel.error.reason] += 1
            else:
                unreadable.append(str(kernel.error))
            continue
        variables = {symbol.name: symbol.low for symbol in symbols(kernel.ast)}
        if sum(buffer_elements(kernel.ast, variables).values()) > MOST_ELEMENTS:
            large += 1
            continue
        result = measure(kernel.ast, variables, seed)
        seconds.append(result.pop("seconds"))
        rungs[result.pop("rung")] += 1
        checked += result["points"]
        unjudged += result["unjudged"]
        if result["contradiction"]:
            findings.append(f"{kernel.name}: {result['contradiction']}")
    return {
        "kernels": len(seconds),
        "large": large,
        "unsupported": dict(unsupported),
        "rungs": dict(rungs),
        "outputs_checked": checked,
        "unjudged": unjudged,
        "median_ms": 1e3 * statistics.median(seconds) if seconds else None,
        "slowest_ms": 1e3 * max(seconds) if seconds else None,
        "unreadable": unreadable,
        "findings": findings,
    }


def measure(ast: Ast, variables: dict[str, int], seed: int) -> dict[str, Any]:
    """Seconds for all outputs of one kernel, what could be judged, and any contradiction."""
    plan = plan_inputs(ast, "auto", variables)
    inputs = plan.draw(seed)
    points = [sample_points(ast, i, variables, seed=seed) for i in range(len(ast))]
    started = time.perf_counter()
    oracle = Oracle(ast, inputs, variables)
    total = unjudged = 0
    for output in range(len(ast)):
        if plan.rung is Rung.BOUNDED:
            values = oracle.values(output, points[output])
        else:
            values = oracle.values(output, points[output], bounds=None)
        total += len(values.value)
        unjudged += int(np.count_nonzero(~judged(values)))
    spent = time.perf_counter() - started
    is_small = iteration_points(ast, variables) <= 100_000
    wrong = self_check(ast, plan, inputs, variables, points[0]) if is_small else None
    return {
        "seconds": spent,
        "rung": plan.rung.name,
        "points": total,
        "unjudged": unjudged,
        "contradiction": str(wrong) if wrong else "",
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--sample", type=int)
    parser.add_argument("--seed", type=int, default=0)
    flags = parser.parse_args()
    print(json.dumps(run(flags.files, flags.sample, flags.seed), indent=2))
