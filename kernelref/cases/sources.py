"""Where kernels come from: text dumps, search logs, case files, folders and the corpus.

`list_kernels` finds them without reading one, `sample` chooses among them, `read_kernels` reads
what was chosen. What cannot be read is an item too, so that one bad line loses nothing.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from kernelref.cases.case import Case, read_case
from kernelref.cases.corpus import corpus_files
from kernelref.cases.lines import Line, decoded, open_lines
from kernelref.errors import InvalidInput, Unsupported
from kernelref.ir.ast import Ast
from kernelref.ir.tinygrad_repr import Dialect, Reader, WrittenOpt, dialect_of
from kernelref.opt.opt import Opt, OptOps

CORPUS = "corpus"
_NUMBERED = re.compile(r"(\D*)(\d*)")
_TEXT_SUFFIXES = (".txt", ".log", ".gz")


@dataclass(frozen=True, slots=True)
class Place:
    """Where one kernel is kept: a case file, or a line of a text dump."""

    path: Path
    line: int | None = None

    def __str__(self) -> str:
        return str(self.path) if self.line is None else f"{self.path}:{self.line}"

    @property
    def name(self) -> str:
        """The short name: the file's own, and the line."""
        return self.path.name if self.line is None else f"{self.path.name}:{self.line}"


@dataclass(frozen=True, slots=True)
class KernelSource:
    """One kernel as it was kept.

    `opts` is None where the source says nothing about opts; `dialect` is the release whose ops and
    form it has; `case` is set for a case file.
    """

    place: Place
    ast: Ast
    opts: tuple[Opt, ...] | None
    dialect: Dialect
    case: Case | None = None

    @property
    def name(self) -> str:
        """The short name: the file's own, and the line."""
        return self.place.name


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A place whose kernel could not be read, and why."""

    place: Place
    error: InvalidInput | Unsupported

    @property
    def name(self) -> str:
        """The short name: the file's own, and the line."""
        return self.place.name

    @property
    def is_malformed(self) -> bool:
        """Whether the input is at fault; otherwise it is only outside what is modelled."""
        return isinstance(self.error, InvalidInput)


def list_kernels(specs: Sequence[str]) -> list[Place]:
    """The places that FILE, FILE:LINE, folders and the word `corpus` name, in order, each once.

    Raises: InvalidInput when a spec names nothing.
    """
    places: list[Place] = []
    for spec in specs:
        found = list(_places(spec))
        if not found:
            raise InvalidInput("no kernel in it", where=spec)
        places += found
    return _once(places)


def _once(places: Iterable[Place]) -> list[Place]:
    """The places without those that were named before, be it by another path."""
    resolved = cache(Path.resolve)
    seen: dict[tuple[Path, int | None], Place] = {}
    for place in places:
        seen.setdefault((resolved(place.path), place.line), place)
    return list(seen.values())


def sample(places: Sequence[Place], count: int | None, seed: int = 0) -> list[Place]:
    """`count` of the places, by a seed, in their order; all of them for None."""
    if count is None or count >= len(places):
        return list(places)
    chosen = random.Random(seed).sample(range(len(places)), count)
    return [places[i] for i in sorted(chosen)]


def read_kernels(places: Iterable[Place]) -> Iterator[KernelSource | Unreadable]:
    """The kernels at these places, in this order."""
    run: list[Place] = []
    for place in places:
        if run and not _follows(run[-1], place):
            yield from _read_run(run)
            run = []
        run.append(place)
    yield from _read_run(run)


def read_at(place: Place, line: Line | None = None) -> KernelSource | Unreadable:
    """The kernel at one place; `line` is the place's line, read from its file already."""
    if line is None:
        return _read_file(place)
    return _read_line(place, line, _reader(str(place.path)))


@cache
def _reader(name: str) -> Reader:
    """One reader a file: it remembers how views are spelled there."""
    return Reader(name)


def kernels(
    specs: Sequence[str], count: int | None = None, seed: int = 0
) -> Iterator[KernelSource | Unreadable]:
    """List, sample and read in one step."""
    return read_kernels(sample(list_kernels(specs), count, seed))


def in_order(messages: Iterable[str]) -> list[str]:
    """Messages that begin with their places, by file and line."""

    def key(message: str) -> list[tuple[str, int, str]]:
        return [(text, len(digits), digits) for text, digits in _NUMBERED.findall(message)]

    return sorted(messages, key=key)


def opts_of(written: Iterable[WrittenOpt]) -> tuple[Opt, ...]:
    """The opts that a text has."""
    return tuple(Opt(OptOps[opt.op], opt.axis, opt.amt) for opt in written)


def _places(spec: str) -> Iterator[Place]:
    path = Path(spec)
    if spec == CORPUS:
        yield from map(Place, corpus_files())
    elif path.is_dir():
        for file in sorted(path.rglob("*")):
            if file.is_file() and file.suffix in (".json", *_TEXT_SUFFIXES):
                yield from _file_places(file)
    elif path.exists():
        yield from _file_places(path)
    else:
        name, _, line = spec.rpartition(":")
        if not (name and line.isdecimal() and Path(name).is_file()):
            raise InvalidInput("no such file or folder", where=spec)
        yield from (place for place in _file_places(Path(name)) if place.line == int(line))


def _file_places(path: Path) -> Iterator[Place]:
    if path.suffix == ".json":
        yield Place(path)
    else:
        yield from (Place(path, line.number) for line in open_lines(path))


def _follows(before: Place, place: Place) -> bool:
    """Whether one pass over a text file meets both, in this order."""
    if before.line is None or place.line is None:
        return False
    return before.path == place.path and before.line < place.line


def _read_run(run: Sequence[Place]) -> Iterator[KernelSource | Unreadable]:
    """Read places that one pass over one file meets in order."""
    if run and run[0].line is None:
        yield _read_file(run[0])
    elif run:
        yield from _read_lines(run)


def _read_lines(run: Sequence[Place]) -> Iterator[KernelSource | Unreadable]:
    path = run[0].path
    reader, waiting = Reader(str(path)), list(reversed(run))
    for line in open_lines(path):
        if line.number == waiting[-1].line:
            yield _read_line(waiting.pop(), line, reader)
        if not waiting:
            return
    for place in reversed(waiting):
        yield Unreadable(place, InvalidInput("the file has no such line", where=str(place)))


def _read_line(place: Place, line: Line, reader: Reader) -> KernelSource | Unreadable:
    try:
        reading = reader.read(decoded(line, reader.name), line.number)
    except (InvalidInput, Unsupported) as error:
        return Unreadable(place, error)
    opts = None if reading.opts is None else opts_of(reading.opts)
    return KernelSource(place, reading.ast, opts, reading.dialect)


def _read_file(place: Place) -> KernelSource | Unreadable:
    try:
        case = read_case(place.path)
    except (InvalidInput, Unsupported) as error:
        return Unreadable(place, error)
    releases = {dialect.value: dialect for dialect in Dialect}
    dialect = releases.get(case.rules) or dialect_of(case.ast)
    return KernelSource(place, case.ast, case.opts, dialect, case)
