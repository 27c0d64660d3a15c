"""A file is something one reads: at most 400 lines, and most of them under 200."""

from __future__ import annotations

import statistics

from tests.repo.packages import ROOT, modules, name

MOST_LINES = 400
USUAL_LINES = 200


def test_no_file_is_long() -> None:
    files = [
        *modules(),
        *(path for folder in ("tests", "fuzz", "proofs") for path in (ROOT / folder).rglob("*.py")),
    ]
    long = {name(path): n for path in files if (n := line_count(path)) > MOST_LINES}
    assert not long, long


def test_most_modules_are_short() -> None:
    assert statistics.quantiles([line_count(path) for path in modules()], n=4)[2] <= USUAL_LINES


def line_count(path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())
