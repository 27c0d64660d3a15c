"""Progress of long work: a bar on a terminal, a plain line now and then elsewhere; on stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from kernelref.jobs.progress import Progress

PLAIN_SECONDS = 15.0


@contextmanager
def progress(what: str) -> Iterator[Progress]:
    """A function that work calls with what is done, of how much, and a short note."""
    if sys.stderr.isatty():
        with _bar(what) as report:
            yield report
    else:
        yield _plain(what)


@contextmanager
def _bar(what: str) -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[note]}"),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None, note="")

        def report(done: int, total: int | None, note: str = "") -> None:
            bar.update(task, completed=done, total=total, note=note)

        yield report


def _plain(what: str) -> Progress:
    last = time.monotonic()

    def report(done: int, total: int | None, note: str = "") -> None:
        nonlocal last
        if time.monotonic() - last < PLAIN_SECONDS:
            return
        last = time.monotonic()
        of_total = f"/{total}" if total is not None else ""
        print(f"{what}: {done}{of_total} {note}".rstrip(), file=sys.stderr, flush=True)

    return report
