"""The command line in this process, and what docs/json.md says of its output."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from typer.testing import CliRunner

from kernelref.cli.app import app

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Ended:
    code: int
    out: str
    err: str

    @property
    def object(self):
        return json.loads(self.out)


def command(*arguments: object) -> Ended:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Ended(result.exit_code, result.stdout, result.stderr)


@cache
def documented(verb: str) -> frozenset[str]:
    """The keys in the verb's table of docs/json.md."""
    text = (ROOT / "docs" / "json.md").read_text(encoding="utf-8")
    section = text.split(f"\n## {verb}\n")[1].split("\n## ")[0]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    return frozenset(name for row in rows for name in re.findall(r"`(\w+)`", row))


def counts_in(value, path=""):
    """Every number of a JSON object with the path to it, lists of findings left out."""
    for key, inner in value.items():
        if isinstance(inner, dict):
            yield from counts_in(inner, f"{path}{key}.")
        elif isinstance(inner, int | float) and not isinstance(inner, bool):
            yield f"{path}{key}", inner
