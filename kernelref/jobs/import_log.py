"""`kernelref import`: lines of a search log, or of a dump, become case files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kernelref.cases.case import Case, Expect, write_case
from kernelref.cases.corpus import slug
from kernelref.cases.sources import KernelSource, Place, list_kernels, read_kernels
from kernelref.errors import InvalidInput, Unsupported
from kernelref.jobs.choices import limits_of, rules_of
from kernelref.jobs.progress import Progress, silent


def import_lines(
    log: str,
    out: Path,
    *,
    lines: Sequence[int] | None = None,
    rules: str = "tinygrad-0.9.1",
    limits: str = "opencl",
    progress: Progress = silent,
) -> list[str]:
    """Write one case for each line of `log`, or for `lines` of it, and return the files.

    A release applied the opts of its own log, so under its rules they must be legal; under `sound`
    either is right.
    Raises: InvalidInput for lines that could not be read, after all others were written.
    """
    places = _chosen(list_kernels([log]), lines, log)
    own_rules, own_limits = rules_of(rules).name, limits_of(limits)
    expect = Expect(legal=None if rules == "sound" else True)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInput(error.strerror or "no folder", where=f"--out {out}") from None
    written: list[str] = []
    faults: list[InvalidInput | Unsupported] = []
    for done, source in enumerate(read_kernels(places), 1):
        if isinstance(source, KernelSource):
            case = Case(
                source.ast,
                title=f"{source.place.path.name} line {source.place.line}",
                origin=str(source.place),
                opts=source.opts or (),
                rules=own_rules,
                limits=own_limits,
                expect=expect,
            )
            path = out / f"{slug(source.name)}.json"
            try:
                write_case(case, path)
            except OSError as error:
                raise InvalidInput(error.strerror or "not written", where=str(path)) from None
            written.append(str(path))
        else:
            faults.append(source.error)
        progress(done, len(places), source.name)
    if faults:
        message = f"{len(faults)} of {len(places)} lines cannot be read, the first: {faults[0]}"
        raise InvalidInput(message, where=log)
    return written


def _chosen(places: list[Place], lines: Sequence[int] | None, log: str) -> list[Place]:
    """The places on these lines, or all that are lines of text."""
    text = {place.line: place for place in places if place.line is not None}
    if not text:
        raise InvalidInput("no text dump", where=log)
    if lines is None:
        return list(text.values())
    missing = [line for line in lines if line not in text]
    if missing:
        raise InvalidInput(f"no kernel on line {missing[0]}", where=log)
    return [text[line] for line in lines]
