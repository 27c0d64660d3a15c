"""What `--opts` means: which opt sequences each kernel is put through."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from kernelref.cases.json_text import faults_in, parse_json, read_text
from kernelref.errors import InvalidInput
from kernelref.opt.opt import Opt, OptOps


@dataclass(frozen=True, slots=True)
class Named:
    """`own` (the case's own opts), `none`, `required`, `hand-coded` or `engine`."""

    name: str


@dataclass(frozen=True, slots=True)
class RandomWalk:
    """One random sequence of up to `length` opts, another for each kernel and seed."""

    seed: int
    length: int


@dataclass(frozen=True, slots=True)
class Actions:
    """Every single search action, then seeded walks of up to `depth` actions."""

    depth: int


@dataclass(frozen=True, slots=True)
class Listed:
    """The same opts for every kernel."""

    opts: tuple[Opt, ...]


OptChoice: TypeAlias = Named | RandomWalk | Actions | Listed

OWN = Named("own")
NAMES = ("own", "none", "required", "hand-coded", "engine")


def parse_opts(text: str) -> OptChoice:
    """The choice that an `--opts` argument is; another word is a file with a list of opts.

    Raises: InvalidInput.
    """
    if text in NAMES:
        return Named(text)
    kind, _, rest = text.partition(":")
    match kind, rest.split(":"):
        case "random", [seed, length]:
            return RandomWalk(_count(seed, text), _count(length, text))
        case "actions", [depth]:
            return Actions(_count(depth, text))
        case (("random" | "actions"), _):
            raise InvalidInput("write random:SEED:LENGTH or actions:DEPTH", where=f"--opts {text}")
    path = Path(text)
    if not path.is_file():
        known = ", ".join((*NAMES, "random:SEED:LENGTH", "actions:DEPTH"))
        raise InvalidInput(f"neither a file nor one of {known}", where=f"--opts {text}")
    return Listed(read_opts(path))


def read_opts(path: Path) -> tuple[Opt, ...]:
    """The opts of a JSON file: a list of `[op, axis, amt]`. Raises: InvalidInput."""
    text = read_text(path)
    with faults_in(str(path)):
        listed = parse_json(text)
    if not isinstance(listed, list):
        raise InvalidInput("not a list of [op, axis, amt]", where=str(path))
    return tuple(_opt(item, f"{path}: opts[{i}]") for i, item in enumerate(listed))


def _opt(item: Any, where: str) -> Opt:
    match item:
        case [str(op), (int() | None) as axis, (int() | None) as amt] if not (
            isinstance(axis, bool) or isinstance(amt, bool)
        ):
            if op not in OptOps.__members__:
                raise InvalidInput(f"unknown opt {op[:40]!r}", where=where)
            return Opt(OptOps[op], axis, amt)
    raise InvalidInput("not [op, axis, amt]", where=where)


def _count(text: str, whole: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise InvalidInput(f"{text[:40]!r} is no count", where=f"--opts {whole}")
    return int(text)
