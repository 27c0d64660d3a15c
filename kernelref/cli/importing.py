"""`kernelref import`: a search log becomes cases."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from kernelref.cli import options
from kernelref.cli.exits import Exit, unreadable


def import_log(
    log: Annotated[
        str,
        typer.Argument(
            metavar="LOG", help="Lines of (ast, applied_opts), or FILE:LINE.", show_default=False
        ),
    ],
    line: Annotated[
        list[int] | None,
        typer.Option(min=1, help="Only this line; may be repeated.", show_default="all"),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for the cases.")] = Path(),
    rules: Annotated[
        str, typer.Option(metavar="SET", help="The rule set that the cases name.")
    ] = "tinygrad-0.9.1",
    limits: Annotated[
        str, typer.Option(metavar="PRESET|FILE", help="The limits that the cases name.")
    ] = "opencl",
    json: options.Json = False,
) -> Exit:
    """Write one JSON case for each line of a search log that can be read.

    Lines that cannot be read are named on stderr and end in 2; the others are written all the same.
    """
    from kernelref.cli.output import print_json
    from kernelref.cli.progress import progress
    from kernelref.jobs.import_log import import_lines
    from kernelref.report.importing import summary

    with progress("import") as report_progress:
        report = import_lines(
            log,
            out,
            lines=line,
            rules=rules,
            limits=limits,
            progress=report_progress,
        )
    if json:
        print_json(report.as_json())
    else:
        print(*report.cases, sep="\n")
        print(summary(report), file=sys.stderr)
    if report.interrupted:
        raise KeyboardInterrupt
    if report.unreadable:
        return unreadable(report.unreadable, report.lines)
    return Exit.CLEAN if report.cases else Exit.NOTHING_DONE
