"""Import: each line of a search log becomes a case that replays it."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelref.cases.case import read_case
from kernelref.errors import InvalidInput
from kernelref.jobs.import_log import import_lines
from kernelref.opt.limits import PRESETS
from kernelref.opt.opt import Opt, OptOps
from kernelref.report.importing import summary
from tests.ir.test_tinygrad_repr import load, store

LINE = f"(({store(load())},), [Opt(op=OptOps.UPCAST, axis=0, amt=4)])"


@pytest.fixture
def log(tmp_path) -> Path:
    path = tmp_path / "search.log"
    path.write_text(f"{LINE}\n{store(load())}\n")
    return path


def test_every_line_becomes_a_case(log: Path, tmp_path: Path) -> None:
    out = tmp_path / "cases" / "deep"
    written = import_lines(str(log), out, limits="cuda").cases
    assert written == [str(out / "search-log-1.json"), str(out / "search-log-2.json")]
    case = read_case(Path(written[0]))
    assert case.opts == (Opt(OptOps.UPCAST, 0, 4),)
    assert (case.rules, case.limits) == ("tinygrad-0.9.1", PRESETS["cuda"])
    assert case.expect.legal is True
    assert case.origin == f"{log}:1"
    assert read_case(Path(written[1])).opts == ()


def test_under_sound_a_logged_opt_may_be_refused(log: Path, tmp_path: Path) -> None:
    (path, _) = import_lines(str(log), tmp_path, rules="sound").cases
    assert read_case(Path(path)).expect.legal is None


def test_chosen_lines(log: Path, tmp_path: Path) -> None:
    assert len(import_lines(str(log), tmp_path, lines=[2]).cases) == 1
    assert len(import_lines(f"{log}:1", tmp_path).cases) == 1
    with pytest.raises(InvalidInput, match="no kernel on line 3"):
        import_lines(str(log), tmp_path, lines=[1, 3])


def test_a_bad_line_is_told_and_the_others_are_written(log: Path, tmp_path: Path) -> None:
    log.write_text(f"{LINE}\nnonsense\n{LINE}\n{LINE[:40]}\n")
    report = import_lines(str(log), tmp_path / "out")
    assert report.lines == 4
    assert list(map(Path, report.cases)) == sorted((tmp_path / "out").iterdir())
    assert len(report.cases) == 2
    assert report.unreadable[0].startswith(f"{log}:2:")
    assert len(report.unreadable) == 2
    assert summary(report) == "2 cases of 4 lines; unreadable: 2"


def test_a_line_outside_of_the_model_is_counted(log: Path, tmp_path: Path) -> None:
    log.write_text(f"{LINE}\n{LINE.replace('dtypes.float', 'dtypes._float4')}\n")
    report = import_lines(str(log), tmp_path / "out")
    assert sum(report.unsupported.values()) == 1
    assert (len(report.cases), report.unreadable) == (1, [])
    assert summary(report).startswith("1 case of 2 lines; unsupported: 1 ")


def test_each_line_has_a_file_of_its_own(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / f"{'long' * 30}.log").write_text(f"{LINE}\n{LINE}\n")
    report = import_lines(str(tmp_path), tmp_path / "out")
    assert len(set(report.cases)) == 4
    origins = {read_case(Path(path)).origin for path in report.cases}
    assert {origin[-1] for origin in origins} == {"1", "2"}
    assert len(origins) == 4


def test_what_is_written_when_it_is_interrupted_is_told(log: Path, tmp_path: Path) -> None:
    def stop(done: int, total: int | None, note: str = "") -> None:
        raise KeyboardInterrupt

    report = import_lines(str(log), tmp_path / "out", progress=stop)
    assert report.interrupted
    assert report.cases == [str(tmp_path / "out" / "search-log-1.json")]


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
