"""A file is something one reads: at most 400 lines, and most of them under 200."""

from __future__ import annotations

import statistics

from tests.repo.packages import ROOT, modules, name

MOST_LINES = 400
MOST_LINES_OF_A_TEST = 500
USUAL_LINES = 200


def test_no_module_is_long() -> None:
    assert not longer(modules(), MOST_LINES)


def test_no_test_file_is_long() -> None:
    folders = [ROOT / name for name in ("tests", "fuzz", "proofs")]
    files = [path for folder in folders for path in folder.rglob("*.py")]
    assert not longer(files, MOST_LINES_OF_A_TEST)


def test_most_modules_are_short() -> None:
    assert statistics.quantiles([line_count(path) for path in modules()], n=4)[2] <= USUAL_LINES


def test_a_long_file_is_seen() -> None:
    assert longer(modules(), 1)


def longer(files, most) -> dict[str, int]:
    return {name(path): n for path in files if (n := line_count(path)) > most}


def line_count(path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())
