"""`kernelref fuzz`: generated kernels under generated opts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kernelref.cli import options
from kernelref.cli.exits import Exit, exit_for, unreadable


def fuzz(
    optimizer: options.Optimizer = "reference",
    device: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Run on this device too; may be repeated.",
            show_default="interp; of a release its own text on pocl, too",
        ),
    ] = None,
    kernels: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE",
            help="Take kernels from here instead: a file, a folder or `corpus`; may be repeated.",
            show_default="generated",
        ),
    ] = None,
    sample: options.Sample = None,
    budget: options.Budget = None,
    cases: Annotated[
        int | None,
        typer.Option(min=1, help="Stop at this many cases.", show_default="1000 without --budget"),
    ] = None,
    seed: options.Seed = 0,
    jobs: options.Jobs = None,
    store: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Keep the campaign here, and go on from what is there."),
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(metavar="tcp://HOST:PORT", help="Hand the work to a Dask cluster."),
    ] = None,
    json: options.Json = False,
) -> Exit:
    """Generate kernels and opts, and hold every result to the oracle and the prover."""
    from kernelref.cli.output import print_json
    from kernelref.cli.progress import progress
    from kernelref.jobs.duration import seconds
    from kernelref.jobs.fuzz import FuzzRequest, default_devices
    from kernelref.jobs.fuzz import fuzz as run_campaign
    from kernelref.report.fuzz import summary

    request = FuzzRequest(
        optimizer=optimizer,
        devices=options.once(device, default_devices(optimizer)),
        kernels=tuple(kernels or ()),
        sample=sample,
        budget=seconds(budget),
        cases=cases,
        seed=seed,
        jobs=jobs,
        store=store,
        scheduler=scheduler,
    )
    with progress("fuzz") as report_progress:
        report = run_campaign(request, report_progress)
    if json:
        print_json(report)
    else:
        print(summary(report))
    if report["interrupted"]:
        raise KeyboardInterrupt
    if report["unreadable"]:
        return unreadable(report["unreadable"], report["looked_at"], report["listed"])
    return exit_for(
        harness_errors=report["outcomes"].get("HARNESS_ERROR", 0),
        findings=report["findings_total"],
        unproved=0,
        executed=report["cases"] - report["outcomes"].get("UNSUPPORTED", 0),
    )
