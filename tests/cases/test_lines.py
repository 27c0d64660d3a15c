"""Lines of a dump: bounded, numbered, and one bad byte or block costs one line."""

from __future__ import annotations

import gzip
import random

import pytest

from kernelref.cases import lines
from kernelref.cases.lines import Line, decoded, open_lines
from kernelref.errors import InvalidInput


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_lines_are_numbered_and_blank_ones_left_out(tmp_path, pack) -> None:
    path = tmp_path / "dump"
    path.write_bytes(pack(b"one\n\n  \t\ntwo\r\n\x0b\nthree"))
    found = list(open_lines(path))
    assert [(line.number, decoded(line, "dump")) for line in found] == [
        (1, "one"),
        (4, "two"),
        (6, "three"),
    ]


def test_a_file_that_is_not_there(tmp_path) -> None:
    with pytest.raises(InvalidInput, match=r"none: No such file"):
        list(open_lines(tmp_path / "none"))
    with pytest.raises(InvalidInput, match="directory"):
        list(open_lines(tmp_path))


def test_an_empty_file_has_no_lines(tmp_path) -> None:
    path = tmp_path / "dump"
    path.write_bytes(b"")
    assert list(open_lines(path)) == []
    path.write_bytes(gzip.compress(b""))
    assert list(open_lines(path)) == []


def test_bytes_that_are_no_text() -> None:
    with pytest.raises(InvalidInput) as caught:
        decoded(Line(3, b"abc\xff\n"), "d")
    assert caught.value.where == "d:3:4"


@pytest.mark.parametrize("cut", [-4, -12, 40, 11])
def test_a_cut_gzip_keeps_the_lines_before(tmp_path, cut: int) -> None:
    rng = random.Random(2)
    text = b"".join(b"%d %d\n" % (i, rng.randrange(1 << 60)) for i in range(20_000))
    packed = gzip.compress(text)
    path = tmp_path / "dump.gz"
    path.write_bytes(packed[:cut])
    found = list(open_lines(path))
    assert found[-1].fault.startswith("damaged gzip")
    assert [line.data for line in found[:-1]] == text.splitlines(keepends=True)[: len(found) - 1]
    with pytest.raises(InvalidInput, match=rf"d:{found[-1].number}: damaged gzip"):
        decoded(found[-1], "d")


def test_damaged_gzip_is_a_line_or_text(tmp_path) -> None:
    rng = random.Random(5)
    packed = gzip.compress(b"".join(b"%d\n" % rng.randrange(1 << 60) for _ in range(300)))
    path = tmp_path / "dump.gz"
    faults = 0
    for _ in range(200):
        damaged = bytearray(packed)
        damaged[rng.randrange(2, len(packed))] ^= 1 << rng.randrange(8)
        path.write_bytes(damaged)
        faults += any(line.fault for line in open_lines(path))
    assert faults > 150


def test_a_line_has_a_length(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(lines, "MAX_LINE", 10)
    path = tmp_path / "dump"
    path.write_bytes(b"123456789\n1234567890\n" + b"x" * 35 + b"\nlast\n" + b"y" * 40)
    found = list(open_lines(path))
    assert [(line.number, line.data) for line in found if not line.fault] == [
        (1, b"123456789\n"),
        (4, b"last\n"),
    ]
    assert [line.number for line in found if line.fault] == [2, 3, 5]
    assert found[2].fault == "a line of 36 bytes; at most 10"


@pytest.mark.parametrize("content", [b"0" * 64, b"0\n" * 32, b"0" * 30 + b"\n" + b"0" * 60])
def test_a_bomb_stops_at_the_bound(tmp_path, monkeypatch, content: bytes) -> None:
    monkeypatch.setattr(lines, "MAX_LINE", 8 << 10)
    monkeypatch.setattr(lines, "MAX_UNPACKED", 1 << 20)
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(content * (1 << 17)))
    seen = 0
    for line in open_lines(path):
        seen += len(line.data)
        last = line
    assert "bytes unpacked" in last.fault
    assert seen <= 1 << 20
