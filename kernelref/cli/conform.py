"""`kernelref conform`: the reference against an installed release."""

from __future__ import annotations

from typing import Annotated

import typer

from kernelref.cli import options
from kernelref.cli.exits import Exit, exit_for, unreadable


def conform(
    kernels: Annotated[
        list[str], typer.Option(metavar="FILE", help="As for run; may be repeated.")
    ],
    optimizer: options.Optimizer = "tinygrad==0.9.1",
    sample: options.Sample = None,
    seed: options.Seed = 0,
    sequences: Annotated[
        int, typer.Option(min=0, help="Opt sequences in all, spread over the kernels.")
    ] = 0,
    length: Annotated[int, typer.Option(min=1, help="Opts of a sequence.")] = 8,
    limits: Annotated[
        list[str] | None,
        typer.Option(metavar="PRESET", help="May be repeated.", show_default="opencl"),
    ] = None,
    json: options.Json = False,
) -> Exit:
    """Compare heuristics and opt sequences of the reference with those of a release."""
    from kernelref.cli.output import print_json
    from kernelref.cli.progress import progress
    from kernelref.jobs.conform import conform as compare
    from kernelref.report.conform import summary

    with progress("conform") as report_progress:
        report = compare(
            optimizer,
            kernels,
            count=sample,
            seed=seed,
            sequences=sequences,
            length=length,
            limits=options.once(limits, ("opencl",)),
            progress=report_progress,
        )
    if json:
        print_json(report)
    else:
        print(summary(report))
    if report["interrupted"]:
        raise KeyboardInterrupt
    if report["unreadable"]:
        return unreadable(report["unreadable"], report["read"], report["listed"])
    return exit_for(
        harness_errors=0,
        findings=report["findings_total"],
        unproved=0,
        executed=report["kernels"] + report["steps"],
    )
