"""The flags that verbs share, defined once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, TypeAlias

import typer

Kernels: TypeAlias = Annotated[
    list[str],
    typer.Argument(
        metavar="KERNELS",
        help="FILE, FILE:LINE, a folder of JSON cases, or `corpus`.",
        show_default=False,
    ),
]
Case: TypeAlias = Annotated[
    str, typer.Argument(metavar="CASE", help="A JSON case, or FILE:LINE.", show_default=False)
]
CaseFiles: TypeAlias = Annotated[
    list[str],
    typer.Argument(metavar="CASES", help="JSON cases or folders of them.", show_default=False),
]
Sample: TypeAlias = Annotated[
    int | None, typer.Option(min=1, help="Run only this many of the kernels.", show_default="all")
]
Seed: TypeAlias = Annotated[int, typer.Option(min=0, help="Which sample, which inputs.")]
Opts: TypeAlias = Annotated[
    str,
    typer.Option(
        metavar="own|none|required|hand-coded|engine|random:SEED:LENGTH|actions:DEPTH|FILE",
        help="The opts to apply to each kernel; `own`: those that its case lists.",
    ),
]
Rules: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="SET",
        help="sound, tinygrad-0.8.0, tinygrad-0.9.0, tinygrad-0.9.1.",
        show_default="the case's own, else sound",
    ),
]
LimitsName: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--limits",
        metavar="PRESET|FILE",
        help="opencl, clang, llvm, metal, amd, cuda, ptx.",
        show_default="the case's own, else opencl",
    ),
]
Optimizer: TypeAlias = Annotated[
    str,
    typer.Option(
        metavar="O", help="reference, reference:MODULE:FUNCTION, tinygrad==0.9.1, tinygrad@PATH."
    ),
]
Devices: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--device",
        metavar="NAME",
        help="A device that `doctor` lists, or interp; may be repeated.",
        show_default="pocl",
    ),
]
MOST_JOBS = 512
"""More worker processes than this are a slip of the finger: each takes some 100 MB."""

Jobs: TypeAlias = Annotated[
    int | None,
    typer.Option(min=1, max=MOST_JOBS, help="Worker processes.", show_default="one a core"),
]
Budget: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="DURATION", help="Stop after this time: 60s, 10m, 2h.", show_default="none"
    ),
]
Cases: TypeAlias = Annotated[
    int | None, typer.Option(min=1, help="Stop after this many runs.", show_default="none")
]
Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


def once(given: Sequence[str] | None, default: Sequence[str]) -> tuple[str, ...]:
    """What an option that may be repeated was given, each once; the default where it was not."""
    return tuple(dict.fromkeys(given or default))
