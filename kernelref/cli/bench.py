"""`kernelref bench`: rates, measured and printed, never judged."""

from __future__ import annotations

from typing import Annotated

import typer

from kernelref.cli import options
from kernelref.cli.exits import Exit, exit_for, unreadable


def bench(
    what: Annotated[
        str,
        typer.Argument(
            metavar="WHAT",
            help="read, host, device, views, reader, oracle, interp, fuzz or reach.",
            show_default=False,
        ),
    ],
    kernels: Annotated[
        list[str] | None,
        typer.Argument(metavar="KERNELS", help="What to measure on.", show_default="corpus"),
    ] = None,
    sample: options.Sample = None,
    seed: options.Seed = 0,
    device: options.Devices = None,
    cases: options.Cases = None,
    json: options.Json = False,
) -> Exit:
    """Measure how fast kernels are read, lowered, run; print it, and what was found wrong."""
    from kernelref.cli.output import print_json
    from kernelref.cli.progress import progress
    from kernelref.jobs.bench import BenchRequest, measure
    from kernelref.report.text import figures

    request = BenchRequest(
        kernels=tuple(kernels or ("corpus",)),
        sample=sample,
        seed=seed,
        devices=options.once(device, ("pocl",)),
        cases=cases,
    )
    with progress(f"bench {what}") as report_progress:
        measured = measure(what, request, report_progress)
    if json:
        print_json({"verb": "bench", "what": what, **measured})
    else:
        print(*figures({k: v for k, v in measured.items() if k != "unreadable"}), sep="\n")
    if measured.get("unreadable"):
        return unreadable(measured["unreadable"])
    found = measured.get("findings") or 0
    return exit_for(
        harness_errors=0,
        findings=found if isinstance(found, int) else len(found),
        unproved=0,
        executed=measured["executed"] if "executed" in measured else measured.get("kernels", 1),
    )
