"""`kernelref selftest`: do the checks notice faults that are planted in kernelref itself?"""

from __future__ import annotations

from typing import Annotated

import typer

from kernelref.cli import options
from kernelref.cli.exits import Exit, exit_for


def selftest(
    mutants: Annotated[
        list[str] | None,
        typer.Argument(metavar="MUTANTS", help="Names of mutants.", show_default="all"),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Each on its own input; those without one are left out.")
    ] = False,
    draw: Annotated[
        str | None,
        typer.Option(metavar="SEED:COUNT", help="Mechanical mutants drawn anew, not the known."),
    ] = None,
    proofs: Annotated[
        bool, typer.Option("--proofs", help="Ask the prover of a kernel that comes out wrong, too.")
    ] = False,
    with_: Annotated[
        str | None,
        typer.Option("--with", metavar="fuzz", help="What must notice them: the tests of fuzz/."),
    ] = None,
    sample: options.Sample = None,
    seed: options.Seed = 0,
    jobs: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=options.MOST_JOBS,
            help="Worker processes.",
            show_default="one a core; 1 with --with fuzz",
        ),
    ] = None,
    json: options.Json = False,
) -> Exit:
    """Plant faults in kernelref, one at a time, and tell what notices each."""
    from kernelref.cli.output import print_json
    from kernelref.cli.progress import progress
    from kernelref.errors import InvalidInput
    from kernelref.jobs.selftest import SelftestRequest, parse_drawn
    from kernelref.jobs.selftest import selftest as plant
    from kernelref.report.selftest import summary

    if with_ not in (None, "fuzz"):
        raise InvalidInput("can be fuzz alone", where=f"--with {with_}")
    request = SelftestRequest(
        names=options.once(mutants, ()),
        sample=sample,
        seed=seed,
        jobs=jobs,
        is_quick=quick,
        drawn=parse_drawn(draw),
        proves=proofs,
        with_fuzz=with_ is not None,
    )
    with progress("selftest") as report_progress:
        report = plant(request, report_progress)
    if json:
        print_json(report.as_json())
    else:
        print(summary(report))
    if report.interrupted:
        raise KeyboardInterrupt
    return exit_for(
        harness_errors=0, findings=report.findings, unproved=0, executed=len(report.kills)
    )
