"""The stand-in for `ld`: every kernel that PoCL runs here goes through it; these are its edges."""

from __future__ import annotations

import ctypes
import struct
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kernelref.run.elf_link import LinkError, link, main
from kernelref.run.isolate import DevicePool
from tests.run.device_launches import GOOD, INPUT, launch, need_device

X86_64 = 62
RETURNS_FORTY_TWO = b"\x8b\x05\x00\x00\x00\x00\xc3"
"""mov eax, [rip + displacement]; ret"""


def section(
    kind: int, flags: int, content: bytes, *, link_: int = 0, info: int = 0
) -> tuple[int, int, bytes, int, int]:
    return kind, flags, content, link_, info


def object_file(*, machine: int = X86_64, relocation: int = 2, symbol_section: int = 2) -> bytes:
    """An object with a function `answer` that loads 42 from .rodata."""
    names = b"\0answer\0number\0"
    symbols = (
        bytes(24)
        + struct.pack("<IBBHQQ", 8, 0x01, 0, symbol_section, 4, 4)
        + struct.pack("<IBBHQQ", 1, 0x12, 0, 1, 0, 7)
    )
    sections = [
        section(0, 0, b""),
        section(1, 2 | 4, RETURNS_FORTY_TWO),
        section(1, 2, struct.pack("<ii", 0, 42)),
        section(4, 0, struct.pack("<QQq", 2, 1 << 32 | relocation, -4), link_=4, info=1),
        section(2, 0, symbols, link_=5, info=2),
        section(3, 0, names),
    ]
    body, headers = b"", b""
    for kind, flags, content, link_, info in sections:
        headers += struct.pack(
            "<IIQQQQIIQQ", 0, kind, flags, 0, 64 + len(body), len(content), link_, info, 16, 0
        )
        body += content
    start = struct.pack(
        "<HHIQQQIHHHHHH", 1, machine, 1, 0, 0, 64 + len(body), 0, 64, 0, 0, 64, len(sections), 5
    )
    return b"\x7fELF\2\1\1".ljust(16, b"\0") + start + body + headers


needs_x86 = pytest.mark.skipif(
    not sys.platform.startswith("linux") or struct.calcsize("P") != 8, reason="not 64-bit Linux"
)


@needs_x86
def test_a_linked_function_runs(tmp_path: Path) -> None:
    source, library = tmp_path / "one.o", tmp_path / "one.so"
    source.write_bytes(object_file())
    assert main(["-shared", "-o", str(library), "-lgcc", str(source)], None) == 0
    assert ctypes.CDLL(str(library)).answer() == 42


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (lambda: object_file(machine=183), "not a relocatable x86-64 object"),
        (lambda: b"not an object at all" * 9, "not a relocatable x86-64 object"),
        (lambda: object_file(relocation=9), "relocation type 9"),
        (lambda: object_file(symbol_section=0), "undefined symbol 'number'"),
    ],
)
def test_what_is_not_known_is_refused(content: Callable[[], bytes], message: str) -> None:
    with pytest.raises(LinkError, match=message):
        link(content())


def test_without_a_system_linker_a_refusal_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "one.o"
    source.write_bytes(object_file(relocation=9))
    assert main(["-shared", "-o", str(tmp_path / "one.so"), str(source)], None) == 1
    assert "relocation type 9" in capsys.readouterr().err
    assert not (tmp_path / "one.so").exists()


def test_with_a_system_linker_it_decides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "one.o"
    source.write_bytes(object_file(relocation=9))
    calls: list[list[str]] = []
    monkeypatch.setattr("os.execv", lambda program, arguments: calls.append([program, *arguments]))
    main(["-shared", "-o", str(tmp_path / "one.so"), str(source)], "/bin/some-ld")
    assert calls[0][:3] == ["/bin/some-ld", "/bin/some-ld", "-shared"]


def test_pocl_runs_where_no_program_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    need_device("pocl")
    monkeypatch.setenv("PATH", "/nonexistent")
    with DevicePool("pocl") as pool:
        (result,) = pool.run([launch(GOOD)])
    assert result.fault is None
    assert (result.outputs[0] == INPUT + 1).all()
