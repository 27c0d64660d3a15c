"""`kernelref import`: a search log becomes cases."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kernelref.cli import options
from kernelref.cli.exits import Exit


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
    """Write one JSON case for each line of a search log."""
    from kernelref.cli.output import print_json
    from kernelref.cli.progress import progress
    from kernelref.jobs.import_log import import_lines

    with progress("import") as report_progress:
        written = import_lines(
            log,
            out,
            lines=line,
            rules=rules,
            limits=limits,
            progress=report_progress,
        )
    if json:
        print_json({"verb": "import", "written": len(written), "cases": written})
    else:
        print(*written, sep="\n")
    return Exit.CLEAN if written else Exit.NOTHING_DONE
