"""Lines of a text dump, plain or gzip, read as a stream within bounds.

A file may be hostile: a line has at most 16 MiB, a file at most 1 GiB unpacked, and what cannot be
unpacked or decoded is an error about one line, with the lines before it intact.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from kernelref.errors import InvalidInput

MAX_LINE = 16 << 20
MAX_UNPACKED = 1 << 30
_GZIP_MAGIC = b"\x1f\x8b"


@dataclass(frozen=True, slots=True)
class Line:
    """One line that is not blank, undecoded; or the fault that stands in its place."""

    number: int
    data: bytes = b""
    fault: str = ""


def open_lines(path: Path) -> Iterator[Line]:
    """The lines of a file that are not blank; after a fault of the file itself no more follow.

    Raises: InvalidInput when the file cannot be opened.
    """
    try:
        with path.open("rb") as file:
            is_packed = file.read(2) == _GZIP_MAGIC
            file.seek(0)
            if not is_packed:
                yield from _lines(file)
                return
            with gzip.GzipFile(fileobj=file, mode="rb") as unpacked:
                yield from _lines(unpacked)
    except OSError as error:
        raise InvalidInput(error.strerror or "cannot be read", where=str(path)) from None


def _lines(file: IO[bytes] | gzip.GzipFile) -> Iterator[Line]:
    number, unpacked = 0, 0
    while True:
        number += 1
        try:
            data, length = _line(file, MAX_UNPACKED - unpacked)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            yield Line(number, fault=f"damaged gzip: {error}")
            return
        if length == 0:
            return
        unpacked += length
        if unpacked > MAX_UNPACKED:
            yield Line(number, fault=f"more than {MAX_UNPACKED} bytes unpacked")
            return
        if length > MAX_LINE:
            yield Line(number, fault=f"a line of {length} bytes; at most {MAX_LINE}")
        elif not data.isspace():
            yield Line(number, data)


def _line(file: IO[bytes] | gzip.GzipFile, room: int) -> tuple[bytes, int]:
    """One line and its length; of a line that is too long the end alone, the rest passed over."""
    data = file.readline(MAX_LINE + 1)
    length = len(data)
    while length > MAX_LINE and not data.endswith(b"\n") and length <= room:
        data = file.readline(MAX_LINE)
        if not data:
            break
        length += len(data)
    return data, length


def decoded(line: Line, name: str) -> str:
    """The text of a line of file `name`.

    Raises: InvalidInput naming file, line and column.
    """
    if line.fault:
        raise InvalidInput(line.fault, where=f"{name}:{line.number}")
    try:
        return line.data.decode("utf-8").rstrip("\r\n")
    except UnicodeDecodeError as error:
        where = f"{name}:{line.number}:{error.start + 1}"
        raise InvalidInput("a byte that is no UTF-8", where=where) from None
