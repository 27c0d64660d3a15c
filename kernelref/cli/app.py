"""The verbs, each in a file of its own. Loading this loads no device and no solver."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

from kernelref.cli.bench import bench
from kernelref.cli.conform import conform
from kernelref.cli.doctor import doctor
from kernelref.cli.exits import Exit
from kernelref.cli.fuzz import fuzz
from kernelref.cli.importing import import_log
from kernelref.cli.prove import prove
from kernelref.cli.replay import replay
from kernelref.cli.run import run
from kernelref.cli.selftest import selftest
from kernelref.cli.show import show
from kernelref.cli.verb import verb

VERBS: dict[str, Callable[..., Exit]] = {
    "doctor": doctor,
    "import": import_log,
    "run": run,
    "show": show,
    "replay": replay,
    "conform": conform,
    "fuzz": fuzz,
    "prove": prove,
    "selftest": selftest,
    "bench": bench,
}

app = typer.Typer(
    name="kernelref",
    help="Tells whether an optimised GPU kernel is still the same computation.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for name, function in VERBS.items():
    app.command(name)(verb(function))


def _show_version(value: bool) -> None:
    if value:
        from importlib.metadata import version

        typer.echo(f"kernelref {version('kernelref')}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    pass
