"""The interpreter on kernels under random opts: how long it takes, and against the oracle.

    python -m kernelref.jobs.benchmarks.interp [--sample N] [--seed S] [--length L] FILE...

prints the figures as JSON: outcomes, and the median time of kernels of about 10,000 iteration
points. Memory and expected values are those of `run`. Anything but PASS and Unsupported is a
finding.
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

from kernelref.cases.sources import KernelSource, Unreadable, list_kernels, read_kernels, sample
from kernelref.codegen.target import Target
from kernelref.errors import KernelOptError, Unsupported
from kernelref.jobs.progress import Progress, silent
from kernelref.jobs.run import target_named
from kernelref.jobs.run_judge import judged
from kernelref.jobs.run_prepare import Ready, failed, prepare
from kernelref.jobs.run_report import Ending, Pair
from kernelref.jobs.run_subject import Subject
from kernelref.opt.kernel import Kernel
from kernelref.opt.opt import Opt, OptOps
from kernelref.run.devices import INTERPRETER
from kernelref.run.interp import launch_program
from kernelref.run.outcome import Outcome

MOST_POINTS = 1_000_000
NEAR_10K = (3_000, 30_000)
AMOUNTS = (0, 2, 3, 4, 5, 7, 8, 16, 32)
OPS = tuple(op for op in OptOps if op is not OptOps.TC)


def run(
    files: Sequence[str], count: int | None, seed: int, length: int, progress: Progress = silent
) -> dict[str, Any]:
    """Interpret a sample of the kernels in `files`, each under one random sequence of opts."""
    draw = random.Random(seed)
    target = target_named(INTERPRETER)
    outcomes: Counter[str] = Counter()
    findings: list[str] = []
    unreadable: list[str] = []
    near: list[float] = []
    total = points = 0.0
    places = sample(list_kernels(files), count, seed)
    for done, kernel in enumerate(read_kernels(places), 1):
        progress(done, len(places))
        if isinstance(kernel, Unreadable):
            if isinstance(kernel.error, Unsupported):
                outcomes[f"unsupported {kernel.error.reason}"] += 1
            else:
                unreadable.append(str(kernel.error))
            continue
        ending, seconds = timed(kernel, draw, target, seed=seed, length=length)
        if ending is None:
            outcomes["larger"] += 1
            continue
        if ending.outcome is Outcome.UNSUPPORTED:
            outcomes[f"unsupported {ending.reason}"] += 1
            continue
        outcomes["PASS" if ending.outcome is Outcome.PASS else "finding"] += 1
        if ending.outcome is not Outcome.PASS:
            findings.append(f"{ending.pair}: {ending.outcome.value} {ending.detail}")
        total, points = total + seconds, points + ending.points
        if NEAR_10K[0] <= ending.points <= NEAR_10K[1]:
            near.append(seconds)
    return {
        "outcomes": dict(outcomes),
        "executed": outcomes["PASS"] + outcomes["finding"],
        "near_10k_kernels": len(near),
        "near_10k_median_ms": 1e3 * statistics.median(near) if near else None,
        "points_per_second": points / total if total else None,
        "unreadable": unreadable,
        "findings": findings,
    }


def timed(
    source: KernelSource, draw: random.Random, target: Target, *, seed: int, length: int
) -> tuple[Ending | None, float]:
    """How a kernel under random opts ended, and the seconds that the interpreter took.

    None for a kernel of more than MOST_POINTS.
    """
    pair = Pair(source.name, INTERPRETER)
    try:
        subject = Subject.of(source, seed=seed)
        if subject.points > MOST_POINTS:
            return None, 0.0
        kernel = with_opts(Kernel.open(source.ast), draw, length)
        pair = Pair(source.name, INTERPRETER, opts=kernel.applied_opts)
        ready = prepare(subject, kernel, pair, target)
    except Unsupported as error:
        return failed(pair, error), 0.0
    if not isinstance(ready, Ready):
        return ready, 0.0
    assert ready.program is not None
    launch = ready.with_data()
    started = time.perf_counter()
    result = launch_program(ready.program, launch.buffers, launch.variables, ranges=launch.ranges)
    seconds = time.perf_counter() - started
    return judged(ready, result), seconds


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


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--sample", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--length", type=int, default=5)
    flags = parser.parse_args()
    print(json.dumps(run(flags.files, flags.sample, flags.seed, flags.length), indent=2))
