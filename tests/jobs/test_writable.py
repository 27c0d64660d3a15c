"""What is to be written is known to be writable before any work is done for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelref.errors import InvalidInput
from kernelref.jobs import prove
from kernelref.jobs.writable import check_file, check_folder
from tests.cli.command import command

KERNEL = "corpus/seeds/dot.json"
OPTIONS = [
    ("prove", KERNEL, "--certificate"),
    ("prove", KERNEL, "--smt2"),
    ("fuzz", "--cases", 1, "--store"),
    ("import", "LOG", "--out"),
]


def test_what_can_be_written_is_left_as_it_is(tmp_path: Path) -> None:
    check_file(tmp_path / "new", "--x")
    check_folder(tmp_path / "new" / "deep", "--x")
    check_folder(tmp_path, "--x")
    assert list(tmp_path.iterdir()) == []
    old = tmp_path / "old"
    old.write_text("kept")
    check_file(old, "--x")
    assert old.read_text() == "kept"


def test_what_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path, tmp_path / "none" / "new", tmp_path / "file" / "new"):
        with pytest.raises(InvalidInput, match=f"--x {path}: "):
            check_file(path, "--x")
    for path in (tmp_path / "file", tmp_path / "file" / "new" / "deep"):
        with pytest.raises(InvalidInput, match=f"--x {path}: {tmp_path}/file is no folder"):
            check_folder(path, "--x")


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="this system has no /proc")
def test_a_folder_that_takes_nothing_is_named() -> None:
    with pytest.raises(InvalidInput, match="nothing can be written in /proc: "):
        check_folder(Path("/proc/new"), "--x")
    with pytest.raises(InvalidInput, match="nothing can be written in /proc: "):
        check_file(Path("/proc/new"), "--x")


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option[-1])
def test_every_option_that_names_a_place_to_write_is_bad_input_at_once(
    option, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("nonsense\n")

    def never(*_arguments: object) -> None:
        raise AssertionError("work was done")

    for verb in ("prove.prove_places", "fuzz.Store", "import_log.read_kernels"):
        monkeypatch.setattr(f"kernelref.jobs.{verb}", never)
    arguments = [tmp_path / "file" if word == "LOG" else word for word in option]
    ended = command(*arguments, tmp_path / "file" / "place")
    assert ended.code == 2
    assert ended.err.startswith(f"kernelref: {option[-1]} {tmp_path}/file/place: ")
    assert ended.out == ""


def test_a_certificate_that_cannot_be_kept_after_all_is_bad_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_arguments: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(prove, "write_certificate", fails)
    ended = command("prove", KERNEL, "--certificate", tmp_path / "c")
    assert ended.code == 2
    assert f"--certificate {tmp_path}/c: Permission denied" in ended.err


def test_a_certificate_is_of_one_sequence(tmp_path: Path) -> None:
    ended = command("prove", KERNEL, "--opts", "actions:2", "--certificate", tmp_path / "c")
    assert ended.code == 2
    assert "of one sequence" in ended.err


def test_a_check_does_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "c").write_text("{}")
    ended = command("prove", KERNEL, "--check", tmp_path / "c")
    assert ended.code == 2
    assert "--check: goes without KERNELS" in ended.err
