"""`kernelref bench`: rates that are printed and never judged."""

from __future__ import annotations

import resource
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from kernelref.cases.lines import Line
from kernelref.cases.sources import KernelSource, Place, Unreadable, list_kernels, read_at, sample
from kernelref.codegen.lower import lower
from kernelref.codegen.opencl import render
from kernelref.codegen.target import POCL
from kernelref.errors import InvalidInput, Unsupported
from kernelref.jobs.progress import Progress
from kernelref.jobs.run import RunRequest, run_kernels, with_lines
from kernelref.opt.kernel import Kernel

Figures: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class BenchRequest:
    """What to measure on; `cases` counts what a benchmark makes itself."""

    kernels: tuple[str, ...]
    sample: int | None
    seed: int
    devices: tuple[str, ...]
    cases: int | None = None


def measure(what: str, request: BenchRequest, progress: Progress) -> Figures:
    """The figures of one benchmark. Raises: InvalidInput."""
    if what not in BENCHMARKS:
        raise InvalidInput(f"unknown; known are {', '.join(BENCHMARKS)}", where=f"bench {what}")
    return BENCHMARKS[what](request, progress)


def _read(request: BenchRequest, progress: Progress) -> Figures:
    """How fast text becomes ASTs, in this process."""
    places = _places(request)
    seconds: list[float] = []
    unreadable: list[str] = []
    nbytes = 0
    for done, (place, line) in enumerate(places, 1):
        started = time.perf_counter()
        source = read_at(place, line)
        seconds.append(time.perf_counter() - started)
        if isinstance(source, Unreadable) and source.is_malformed:
            unreadable.append(str(source.error))
        nbytes += len(line.data) if line else place.path.stat().st_size
        progress(done, len(places))
    return {
        "kernels": len(places) - len(unreadable),
        "unreadable": unreadable,
        "nbytes": nbytes,
        "kernels_per_second": len(places) / sum(seconds),
        "slowest_ms": 1e3 * max(seconds),
        "peak_nbytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }


def _host(request: BenchRequest, progress: Progress) -> Figures:
    """How fast ASTs become Kernels, Programs and text, in this process."""
    places = _places(request)
    stages: dict[str, list[float]] = {"open": [], "lower": [], "render": []}
    unsupported = 0
    unreadable: list[str] = []
    for done, (place, line) in enumerate(places, 1):
        source = read_at(place, line)
        if isinstance(source, KernelSource):
            try:
                _time_stages(source, stages)
            except Unsupported:
                unsupported += 1
        elif source.is_malformed:
            unreadable.append(str(source.error))
        else:
            unsupported += 1
        progress(done, len(places))
    total = sum(map(sum, stages.values()))
    medians = {f"{n}_median_ms": 1e3 * statistics.median(s or [0]) for n, s in stages.items()}
    return {
        "kernels": len(places) - len(unreadable),
        "unreadable": unreadable,
        "unsupported": unsupported,
        "executed": len(stages["render"]),
        "kernels_per_second": len(stages["render"]) / total if total else 0.0,
        **medians,
    }


def _time_stages(source: KernelSource, stages: dict[str, list[float]]) -> None:
    at = [time.perf_counter()]
    kernel = Kernel.open(source.ast)
    at.append(time.perf_counter())
    program = lower(kernel, POCL)
    at.append(time.perf_counter())
    render(program, POCL)
    at.append(time.perf_counter())
    for i, spent in enumerate(stages.values()):
        spent.append(at[i + 1] - at[i])


def _device(request: BenchRequest, progress: Progress) -> Figures:
    """How many kernels a second go through the whole of `run`."""
    report = run_kernels(
        RunRequest(
            kernels=request.kernels,
            sample=request.sample,
            seed=request.seed,
            devices=request.devices,
        ),
        progress,
    )
    if report.interrupted:
        raise KeyboardInterrupt
    return {
        "devices": ", ".join(request.devices),
        "pairs": report.pairs,
        "executed": report.executed,
        "unreadable": list(report.unreadable),
        "findings": len(report.findings),
        "seconds": report.seconds,
        "pairs_per_second": report.per_second,
    }


def _views(request: BenchRequest, progress: Progress) -> Figures:
    """The view algebra against numpy and the installed releases, over random movement ops."""
    from kernelref.jobs.benchmarks import views

    return views.run(request.cases or 1_000, request.seed, progress=progress)


def _reader(request: BenchRequest, _: Progress) -> Figures:
    """Every line of text dumps, the largest by itself, then damaged ones (`--cases` of them)."""
    from kernelref.jobs.benchmarks import reader

    files = [Path(name) for name in request.kernels]
    missing = [path for path in files if not path.is_file()]
    if missing:
        raise InvalidInput("bench reader reads text dumps", where=str(missing[0]))
    return reader.run(files, request.cases or reader.MUTATIONS, request.seed)


def _oracle(request: BenchRequest, progress: Progress) -> Figures:
    """How long the oracle takes, and whether it agrees with itself."""
    from kernelref.jobs.benchmarks import oracle

    return oracle.run(request.kernels, request.sample, request.seed, progress)


def _interp(request: BenchRequest, progress: Progress) -> Figures:
    """How long the interpreter takes, each kernel under up to 4 random opts, against the oracle."""
    from kernelref.jobs.benchmarks import interp

    return interp.run(request.kernels, request.sample, request.seed, 4, progress)


def _fuzz(request: BenchRequest, progress: Progress) -> Figures:
    """Fuzz cases a second on the host and on devices, and by the way of a release's checker."""
    from kernelref.jobs.benchmarks import fuzz

    return fuzz.run(request.cases, request.seed, progress)


def _reach(request: BenchRequest, progress: Progress) -> Figures:
    """How many of the features of real kernels the generator makes, in `--cases` kernels."""
    from kernelref.jobs.benchmarks import fuzz

    return fuzz.reach(request.kernels, request.cases, request.seed, progress)


def _places(request: BenchRequest) -> list[tuple[Place, Line | None]]:
    return list(with_lines(sample(list_kernels(request.kernels), request.sample, request.seed)))


BENCHMARKS: dict[str, Callable[[BenchRequest, Progress], Figures]] = {
    "read": _read,
    "host": _host,
    "device": _device,
    "views": _views,
    "reader": _reader,
    "oracle": _oracle,
    "interp": _interp,
    "fuzz": _fuzz,
    "reach": _reach,
}
