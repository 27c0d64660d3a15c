"""`kernelref prove`: obligations of kernels, certificates, and their check."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kernelref.cli import options
from kernelref.cli.exits import Exit, exit_for, unreadable


def prove(
    kernels: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="KERNELS",
            help="FILE, FILE:LINE, a folder of JSON cases, or `corpus`.",
            show_default=False,
        ),
    ] = None,
    sample: options.Sample = None,
    seed: options.Seed = 0,
    opts: options.Opts = "own",
    rules: options.Rules = None,
    limits: options.LimitsName = None,
    optimizer: options.Optimizer = "reference",
    engines: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help="syntactic,digits,enumerate,z3-structured,z3-bitvector; and cvc5, if asked for.",
            show_default="all but cvc5",
        ),
    ] = None,
    certificate: Annotated[
        Path | None,
        typer.Option(metavar="OUT", help="Write the kernel's certificate.", show_default=False),
    ] = None,
    check: Annotated[
        Path | None,
        typer.Option(
            metavar="CERT",
            help="Derive a certificate's obligations again, by enumeration or cvc5 only.",
            show_default=False,
        ),
    ] = None,
    smt2: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Keep the questions that solvers are asked, as SMT-LIB.",
            show_default=False,
        ),
    ] = None,
    device: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Prove the Program that `run` launches on this device: a grid folded as it needs.",
            show_default="any: a device without limits",
        ),
    ] = "any",
    generalise: Annotated[
        bool,
        typer.Option("--generalise", help="Say for which sizes each opt is right."),
    ] = False,
    allow_unknown: Annotated[
        bool, typer.Option("--allow-unknown", help="Do not fail for what is left unproved.")
    ] = False,
    jobs: options.Jobs = None,
    budget: options.Budget = None,
    json: options.Json = False,
) -> Exit:
    """Prove that optimised kernels compute what their ASTs mean."""
    from kernelref.cli.output import print_json
    from kernelref.cli.progress import progress
    from kernelref.errors import InvalidInput
    from kernelref.jobs.duration import seconds
    from kernelref.jobs.prove import ProveRequest, check_certificate, prove_kernels
    from kernelref.prove.portfolio import ENGINES
    from kernelref.report.prove import check_summary, summary

    if check is not None:
        if kernels or certificate or smt2:
            raise InvalidInput("goes without KERNELS, --certificate and --smt2", where="--check")
        checked = check_certificate(check)
        if json:
            print_json(checked.as_json())
        else:
            print(check_summary(checked))
        return exit_for(
            harness_errors=0,
            findings=checked.refuted or len(checked.differences),
            unproved=0 if allow_unknown else checked.unproved,
            executed=len(checked.verdicts),
        )
    if not kernels:
        raise InvalidInput("which kernels? or --check CERT", where="prove")
    request = ProveRequest(
        kernels=tuple(kernels),
        sample=sample,
        seed=seed,
        opts=opts,
        rules=rules,
        limits=limits,
        optimizer=optimizer,
        engines=ENGINES if engines is None else tuple(engines.split(",")),
        certificate=certificate,
        smt2=smt2,
        device=device,
        generalises=generalise,
        jobs=jobs,
        budget=seconds(budget),
    )
    with progress("prove") as report_progress:
        report = prove_kernels(request, report_progress)
    if json:
        print_json(report.as_json())
    else:
        print(summary(report))
    if report.interrupted:
        raise KeyboardInterrupt
    if report.unreadable:
        return unreadable(report.unreadable, report.looked_at, report.listed)
    return exit_for(
        harness_errors=len(report.faults),
        findings=report.refuted - report.inherited,
        unproved=0 if allow_unknown else report.unproved,
        executed=report.kernels,
    )
