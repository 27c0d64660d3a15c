"""How fast kernels are fuzzed: on the host, on devices, and the way of a release's own checker.

A host case is what a campaign does: generate, choose opts, prove, ask the oracle, interpret with
and without opts. A device kernel is one that the device has not built before. The baseline walks
the actions of tinygrad 0.9.1, has it render the kernel with and without opts, builds both and
compares their outputs at 1e-2, one kernel at a time as that checker does.
"""

from __future__ import annotations

import statistics
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from kernelref.cases.sources import KernelSource, Place, Unreadable, list_kernels, read_kernels
from kernelref.codegen.target import Target
from kernelref.errors import DeviceError, Unsupported
from kernelref.fuzzing.campaign_case import Plan, guarded, new_attempt, reference_ladder
from kernelref.fuzzing.campaign_features import features_of, is_pair
from kernelref.fuzzing.campaign_feedback import Feedback
from kernelref.fuzzing.campaign_result import CaseResult
from kernelref.fuzzing.choose import SeededChooser
from kernelref.fuzzing.generate import generate_kernel
from kernelref.fuzzing.generate_opts import walk
from kernelref.ir.ast import Ast
from kernelref.ir.tinygrad_repr import Dialect
from kernelref.jobs.progress import Progress, silent
from kernelref.jobs.run import target_named
from kernelref.jobs.run_judge import judged
from kernelref.jobs.run_prepare import Ready, prepare
from kernelref.jobs.run_release import check_dtypes
from kernelref.jobs.run_report import Pair
from kernelref.jobs.run_subject import Subject
from kernelref.opt.kernel import Kernel
from kernelref.opt.limits import OPENCL
from kernelref.optimizers.installed import InstalledOptimizer
from kernelref.optimizers.interface import Broke, Refused, Rendered
from kernelref.optimizers.launch import launch_of
from kernelref.optimizers.names import open_optimizer
from kernelref.optimizers.releases import ReleaseMissingError
from kernelref.run.isolate import DevicePool
from kernelref.run.job import KernelLaunch
from kernelref.run.outcome import Outcome

Figures = dict[str, float | int | str | list[str]]

BASELINE = "tinygrad==0.9.1"
HOST_CASES = 300
DEVICE_KERNELS = 48
BASELINE_SECONDS = 20.0
REACH_KERNELS = 100_000


def run(cases: int | None, seed: int, progress: Progress = silent) -> Figures:
    """All rates; `cases` host cases. A device or release that is not here says so."""
    figures = host(cases or HOST_CASES, seed, progress)
    for device in ("pocl", "oclgrind"):
        figures[f"{device}_kernels_per_second"] = _or_reason(device, seed)
    return {**figures, **_baseline("pocl", seed)}


def host(cases: int, seed: int, progress: Progress = silent) -> Figures:
    """Cases of this process alone. Units: by second of wall time, and of its CPU time."""
    steering = Feedback().steering()
    results: list[CaseResult] = []
    guarded(new_attempt(Plan(seed + 1), 0, steering), reference_ladder)  # loads what loads late
    started, cpu = time.perf_counter(), time.process_time()
    for number in range(cases):
        results.append(guarded(new_attempt(Plan(seed), number, steering), reference_ladder))
        progress(number + 1, cases)
    wall, spent = time.perf_counter() - started, time.process_time() - cpu
    stages = sorted({stage for result in results for stage in result.seconds})
    return {
        "cases": cases,
        "host_cases_per_second": cases / wall,
        "host_cases_per_cpu_second": cases / spent,
        "median_points": int(statistics.median(result.points for result in results)),
        "median_opts": int(statistics.median(len(result.opts) for result in results)),
        "findings": sum(result.is_finding for result in results),
        **{
            f"{stage}_mean_ms": 1e3 * sum(r.seconds.get(stage, 0.0) for r in results) / cases
            for stage in stages
        },
    }


def _or_reason(device: str, seed: int) -> float | str:
    try:
        return kernels_per_second(device, seed)
    except DeviceError as error:
        return str(error)


def kernels_per_second(device: str, seed: int) -> float:
    """New optimised kernels that a device builds, runs and has judged. Raises: DeviceError."""
    target = target_named(device)
    readies = list(_readies(target, seed))
    launches = [ready.with_data() for ready in readies]
    with DevicePool(device, batch=DEVICE_KERNELS) as pool:
        warm = next(iter(pool.run(launches[:1])))
        assert warm is not None
        started = time.perf_counter()
        results = list(pool.run(launches[1:]))
        wall = time.perf_counter() - started
    endings = [judged(ready, result) for ready, result in zip(readies[1:], results, strict=True)]
    return sum(ending.outcome is Outcome.PASS for ending in endings) / wall


def _readies(target: Target, seed: int) -> Iterator[Ready]:
    made = 0
    for number in range(10 * DEVICE_KERNELS):
        chooser = SeededChooser(f"{seed}/{number}")
        ast = generate_kernel(chooser)
        kernel = walk(chooser, Kernel.open(ast), length=4).kernel
        pair = Pair(str(number), target.name, opts=kernel.applied_opts)
        try:
            ready = prepare(Subject.of(_source(number, ast), seed=number), kernel, pair, target)
        except Unsupported:
            continue
        if isinstance(ready, Ready):
            made += 1
            yield ready
        if made > DEVICE_KERNELS:
            return


def _source(number: int, ast: Ast) -> KernelSource:
    return KernelSource(Place(Path(str(number))), ast, None, Dialect.V0_9_1)


def _baseline(device: str, seed: int) -> Figures:
    """Optimised kernels a second, each beside its unoptimised one, in the release's own way."""
    try:
        release = open_optimizer(BASELINE)
        target = target_named(device)
    except (ReleaseMissingError, DeviceError) as error:
        return {"baseline_kernels_per_second": str(error)}
    assert isinstance(release, InstalledOptimizer)
    answers: Counter[bool | None] = Counter()
    number = 0
    try:
        with DevicePool(device, batch=1) as pool:
            started = time.perf_counter()
            while time.perf_counter() - started < BASELINE_SECONDS:
                answers[_is_close(release, target, pool, f"{seed}/{number}")] += 1
                number += 1
            wall = time.perf_counter() - started
    finally:
        release.close()
    return {
        "baseline_kernels_per_second": (answers[True] + answers[False]) / wall,
        "baseline_unequal": answers[False],
    }


def _is_close(
    release: InstalledOptimizer, target: Target, pool: DevicePool, seed: str
) -> bool | None:
    """Whether a walk over the actions left the outputs as they are at 1e-2; None: never ran."""
    chooser = SeededChooser(seed)
    subject = Subject.of(_source(0, generate_kernel(chooser)), seed=0)
    try:
        check_dtypes(subject.source.ast, target)
        session = release.open(subject.source.ast, OPENCL)
        if isinstance(session, Refused | Broke):
            return None
        before = session.render()
        for _ in range(12):
            session.apply(chooser.choice(release.actions()))
        after = session.render()
        session.close()
        if isinstance(before, Broke) or isinstance(after, Broke):
            return None
        launches = [_launch(subject, text) for text in (before, after)]
    except Unsupported:
        return None
    plain, optimised = pool.run(launches)
    if plain.fault is not None or optimised.fault is not None:
        return None
    return all(
        np.allclose(optimised.outputs[number], wanted, rtol=1e-2, atol=1e-2, equal_nan=True)
        for number, wanted in plain.outputs.items()
    )


def _launch(subject: Subject, rendered: Rendered) -> KernelLaunch:
    launch = launch_of(rendered, subject.source.ast, subject.variables)
    data = subject.recipe.draw()
    buffers = (
        type(b)(b.number, b.dtype, b.elements, b.is_written, data.get(b.number), None)
        for b in launch.buffers
    )
    return KernelLaunch(
        launch.name, launch.source, launch.groups, launch.local, tuple(buffers), launch.variables
    )


def reach(
    files: Iterable[str], cases: int | None, seed: int, progress: Progress = silent
) -> Figures:
    """Which features of real kernels the generator makes (docs/generator.md)."""
    real: set[str] = set()
    kernels = 0
    unreadable: list[str] = []
    for source in read_kernels(list_kernels(list(files))):
        if not isinstance(source, Unreadable):
            kernels += 1
            real.update(features_of(source.ast))
        elif source.is_malformed:
            unreadable.append(str(source.error))
    count = cases or REACH_KERNELS
    missing = set(real)
    for number in range(count):
        missing.difference_update(features_of(generate_kernel(SeededChooser(seed + number))))
        progress(number + 1, count, f"{len(missing)} missing")
    pairs = sum(map(is_pair, real))
    missing_pairs = sum(map(is_pair, missing))
    return {
        "kernels": kernels,
        "unreadable": unreadable,
        "cases": count,
        "features": len(real) - pairs,
        "features_reached": len(real) - pairs - (len(missing) - missing_pairs),
        "pairs": pairs,
        "pairs_reached": pairs - missing_pairs,
        "reached": 1 - len(missing) / max(1, len(real)),
        "missing": "; ".join(sorted(missing)),
    }
