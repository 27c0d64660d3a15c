"""`kernelref import`: lines of a search log, or of a dump, become case files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from kernelref.cases.case import Case, Expect, write_case
from kernelref.cases.corpus import slug
from kernelref.cases.sources import KernelSource, Place, Unreadable, list_kernels, read_kernels
from kernelref.errors import InvalidInput, Unsupported
from kernelref.jobs.choices import limits_of, rules_of
from kernelref.jobs.progress import Progress, silent
from kernelref.jobs.writable import check_folder


@dataclass(slots=True)
class ImportReport:
    """What became of the lines: `cases` are the files that were written.

    `unsupported` counts by reason the lines that are outside of what is modelled.
    """

    lines: int = 0
    cases: list[str] = field(default_factory=list)
    unsupported: Counter[str] = field(default_factory=Counter)
    unreadable: list[str] = field(default_factory=list)
    interrupted: bool = False

    def as_json(self) -> dict[str, Any]:
        """The object that `import --json` prints."""
        return {
            "verb": "import",
            "lines": self.lines,
            "written": len(self.cases),
            "cases": list(self.cases),
            "unsupported": dict(sorted(self.unsupported.items())),
            "unreadable": list(self.unreadable),
            "interrupted": self.interrupted,
        }


def import_lines(
    log: str,
    out: Path,
    *,
    lines: Sequence[int] | None = None,
    rules: str = "tinygrad-0.9.1",
    limits: str = "opencl",
    progress: Progress = silent,
) -> ImportReport:
    """Write one case for each line of `log`, or for `lines` of it, that can be read.

    A line that cannot is told, and costs itself alone: a search that was stopped leaves half a line
    behind. A release applied the opts of its own log, so under its rules they must be legal; under
    `sound` either is right.
    Raises: InvalidInput for arguments, and where nothing can be written.
    """
    check_folder(out, "--out")
    places = _chosen(list_kernels([log]), lines, log)
    case = Case(
        (),
        rules=rules_of(rules).name,
        limits=limits_of(limits),
        expect=Expect(legal=None if rules == "sound" else True),
    )
    report = ImportReport()
    try:
        for path, source in zip(_files(places, out), read_kernels(places), strict=True):
            _take(report, source, case, path)
            progress(report.lines, len(places), source.name)
    except KeyboardInterrupt:
        # What is written is still told; the command line ends with its own code.
        report.interrupted = True
    return report


def _take(report: ImportReport, source: KernelSource | Unreadable, model: Case, path: Path) -> None:
    """Write the case of one line, or say why there is none."""
    report.lines += 1
    if isinstance(source, KernelSource):
        place = source.place
        case = replace(
            model,
            ast=source.ast,
            title=f"{place.path.name} line {place.line}",
            origin=str(place),
            opts=source.opts or (),
        )
        _write(case, path)
        report.cases.append(str(path))
    elif isinstance(source.error, Unsupported):
        report.unsupported[source.error.reason] += 1
    else:
        report.unreadable.append(str(source.error))


def _files(places: Sequence[Place], out: Path) -> list[Path]:
    """A file for each place, none twice: a name is cut where it is long."""
    taken: dict[str, Place] = {}
    for place in places:
        name = own = slug(place.name)
        count = 1
        while name in taken:
            count += 1
            name = f"{own}-{count}"
        taken[name] = place
    return [out / f"{name}.json" for name in taken]


def _write(case: Case, path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_case(case, path)
    except OSError as error:
        raise InvalidInput(error.strerror or "not written", where=str(path)) from None


def _chosen(places: list[Place], lines: Sequence[int] | None, log: str) -> list[Place]:
    """The places on these lines, or all that are lines of text."""
    text = [place for place in places if place.line is not None]
    if not text:
        raise InvalidInput("no text dump", where=log)
    if lines is None:
        return text
    missing = sorted(set(lines) - {place.line for place in text})
    if missing:
        raise InvalidInput(f"no kernel on line {missing[0]}", where=log)
    return [place for place in text if place.line in lines]
