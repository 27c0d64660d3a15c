"""Import: each line of a search log becomes a case that replays it."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelref.cases.case import read_case
from kernelref.errors import InvalidInput
from kernelref.jobs.import_log import import_lines
from kernelref.opt.limits import PRESETS
from kernelref.opt.opt import Opt, OptOps
from tests.ir.test_tinygrad_repr import load, store

LINE = f"(({store(load())},), [Opt(op=OptOps.UPCAST, axis=0, amt=4)])"


@pytest.fixture
def log(tmp_path) -> Path:
    path = tmp_path / "search.log"
    path.write_text(f"{LINE}\n{store(load())}\n")
    return path


def test_every_line_becomes_a_case(log: Path, tmp_path: Path) -> None:
    out = tmp_path / "cases" / "deep"
    written = import_lines(str(log), out, limits="cuda")
    assert written == [str(out / "search-log-1.json"), str(out / "search-log-2.json")]
    case = read_case(Path(written[0]))
    assert case.opts == (Opt(OptOps.UPCAST, 0, 4),)
    assert (case.rules, case.limits) == ("tinygrad-0.9.1", PRESETS["cuda"])
    assert case.expect.legal is True
    assert case.origin == f"{log}:1"
    assert read_case(Path(written[1])).opts == ()


def test_under_sound_a_logged_opt_may_be_refused(log: Path, tmp_path: Path) -> None:
    (path, _) = import_lines(str(log), tmp_path, rules="sound")
    assert read_case(Path(path)).expect.legal is None


def test_chosen_lines(log: Path, tmp_path: Path) -> None:
    assert len(import_lines(str(log), tmp_path, lines=[2])) == 1
    assert len(import_lines(f"{log}:1", tmp_path)) == 1
    with pytest.raises(InvalidInput, match="no kernel on line 3"):
        import_lines(str(log), tmp_path, lines=[1, 3])


def test_a_bad_line_is_an_error_and_the_others_are_written(log: Path, tmp_path: Path) -> None:
    log.write_text(f"{LINE}\nnonsense\n{LINE}\n")
    with pytest.raises(InvalidInput, match=r"1 of 3 lines.*search.log:2:1: unknown name"):
        import_lines(str(log), tmp_path / "out")
    assert len(list((tmp_path / "out").iterdir())) == 2


def test_a_case_is_no_log(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{}")
    with pytest.raises(InvalidInput, match="no text dump"):
        import_lines(str(tmp_path / "a.json"), tmp_path / "out")


def test_where_nothing_can_be_written(log: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="--out"):
        import_lines(str(log), log)
    (tmp_path / "search-log-1.json").mkdir()
    with pytest.raises(InvalidInput, match=r"search-log-1\.json"):
        import_lines(str(log), tmp_path)


def test_an_unknown_rule_set_writes_no_case(log: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="--rules lax"):
        import_lines(str(log), tmp_path / "out", rules="lax")
    assert not (tmp_path / "out").exists()


def test_progress(log: Path, tmp_path: Path) -> None:
    calls = []
    import_lines(str(log), tmp_path, progress=lambda *call: calls.append(call))
    assert calls == [(1, 2, "search.log:1"), (2, 2, "search.log:2")]
