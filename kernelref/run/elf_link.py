"""A linker just large enough for what PoCL asks of one: an object file becomes a shared library.

PoCL compiles every kernel to a relocatable x86-64 object and runs `ld` on it, which a machine with
Python and a C library need not have; `run/devices` puts this in its place. Such an object refers to
nothing outside itself. One that does, or that holds any but the two relocations that LLVM makes
for it, is left to the system's linker where there is one, and refused otherwise.

Layout: a byte lies in the file where it lies in memory: first the tables, then the sections, in
groups of equal access that begin on pages of their own.

It imports little and has no dataclasses, because it is started anew for every kernel.

Source: System V ABI, chapter 5, and its AMD64 supplement, section 4.4 (relocations).
"""

from __future__ import annotations

import os
import struct
import sys

PAGE = 4096
HEADER, PROGRAM, SECTION, SYMBOL, RELA = 64, 56, 64, 24, 24
READ, WRITE, EXECUTE = 4, 2, 1
SYMBOL_TABLE, RELOCATIONS, NO_BITS = 2, 4, 8
LOAD, DYNAMIC, STACK = 1, 2, 0x6474E551
SEGMENTS = 6
"""One for the tables, two without content of their own, one for each access."""
RELATIVE_32 = (2, 4)
"""R_X86_64_PC32 and R_X86_64_PLT32: symbol + addend - place, in 32 bits."""


class LinkError(Exception):
    """The object holds something that this linker does not know."""


class Section:
    """A section of the object. Units: bytes; `address` is where it ends up.

    `access` is READ with WRITE or EXECUTE, or 0 for a section that is not part of the program.
    """

    def __init__(
        self, kind: int, flags: int, link: int, info: int, align: int, data: bytearray
    ) -> None:
        self.kind = kind
        self.link = link
        self.info = info
        self.align = max(align, 1)
        self.data = data
        self.address = 0
        self.access = 0
        if flags & 2:
            self.access = READ | (WRITE if flags & 1 else 0) | (EXECUTE if flags & 4 else 0)


class Symbol:
    """A symbol of the object; `section` 0 is undefined."""

    def __init__(self, name: bytes, info: int, section: int, value: int) -> None:
        self.name = name
        self.info = info
        self.section = section
        self.value = value


def main(arguments: list[str], system_linker: str | None) -> int:
    """The command line of `ld`, as far as PoCL's compiler uses it: one object, `-o` library."""
    objects = [name for name in arguments if name.endswith(".o")]
    try:
        if len(objects) != 1 or "-shared" not in arguments:
            raise LinkError(f"one object to a shared library, not {objects}")
        with open(objects[0], "rb") as file:
            library = link(file.read())
    except LinkError as error:
        if system_linker is not None:
            os.execv(system_linker, [system_linker, *arguments])
        print(f"kernelref's linker: {error}", file=sys.stderr)
        return 1
    with open(arguments[arguments.index("-o") + 1], "wb") as file:
        file.write(library)
    return 0


def link(content: bytes) -> bytes:
    """A shared library with the object's code and its global symbols. Raises: LinkError."""
    sections = _read_sections(content)
    symbols = _read_symbols(sections)
    exported = [symbol for symbol in symbols if symbol.section and symbol.info >> 4]
    names = b"\0" + b"".join(symbol.name + b"\0" for symbol in exported)
    hashes = _hash_table([symbol.name for symbol in exported])

    at_symbols = HEADER + SEGMENTS * PROGRAM
    at_names = at_symbols + SYMBOL * (1 + len(exported))
    at_hashes = _up(at_names + len(names), 8)
    at_dynamic = _up(at_hashes + len(hashes), 8)
    dynamic = b"".join(
        struct.pack("<QQ", tag, value)
        for tag, value in (
            (4, at_hashes), (5, at_names), (6, at_symbols), (10, len(names)), (11, SYMBOL), (0, 0),
        )
    )  # fmt: skip
    end = at_dynamic + len(dynamic)
    # The dynamic table is written by the loader, so its pages are writable.
    segments = [
        (LOAD, READ | WRITE, 0, end),
        (DYNAMIC, READ | WRITE, at_dynamic, end),
        (STACK, READ | WRITE, 0, 0),
    ]
    for access in (READ, READ | EXECUTE, READ | WRITE):
        start = _up(end, PAGE)
        end = _place(sections, access, start)
        if end > start:
            segments.append((LOAD, access, start, end))
    _relocate(sections, symbols)

    out = bytearray(end)
    pieces: list[tuple[int, bytes]] = [
        (0, _file_header(segments)),
        (at_symbols, _dynamic_symbols(exported, sections)),
        (at_names, names),
        (at_hashes, hashes),
        (at_dynamic, dynamic),
        *((section.address, bytes(section.data)) for section in sections if section.access),
    ]
    for address, piece in pieces:
        out[address : address + len(piece)] = piece
    return bytes(out)


def _read_sections(content: bytes) -> list[Section]:
    if content[:6] != b"\x7fELF\2\1" or content[16:20] != struct.pack("<HH", 1, 62):
        raise LinkError("not a relocatable x86-64 object")
    (start,) = struct.unpack_from("<Q", content, 40)
    (count,) = struct.unpack_from("<H", content, 60)
    sections = []
    for place in range(start, start + SECTION * count, SECTION):
        _, kind, flags, _, offset, size, link_, info, align, _ = struct.unpack_from(
            "<IIQQQQIIQQ", content, place
        )
        data = bytearray(size) if kind == NO_BITS else bytearray(content[offset : offset + size])
        sections.append(Section(kind, flags, link_, info, align, data))
    if any(section.access == READ | WRITE | EXECUTE for section in sections):
        raise LinkError("a section that is writable and executable")
    return sections


def _read_symbols(sections: list[Section]) -> list[Symbol]:
    (table,) = (section for section in sections if section.kind == SYMBOL_TABLE)
    names = bytes(sections[table.link].data)
    symbols = []
    for place in range(0, len(table.data), SYMBOL):
        name, info, _, section, value, _ = struct.unpack_from("<IBBHQQ", table.data, place)
        symbols.append(Symbol(names[name : names.index(b"\0", name)], info, section, value))
    return symbols


def _place(sections: list[Section], access: int, start: int) -> int:
    """Give the sections of one access their addresses from `start` on; where they end."""
    for section in sections:
        if section.access == access:
            section.address = _up(start, section.align)
            start = section.address + len(section.data)
    return start


def _relocate(sections: list[Section], symbols: list[Symbol]) -> None:
    for table in sections:
        if table.kind != RELOCATIONS or not sections[table.info].access:
            continue
        target = sections[table.info]
        for offset, info, addend in struct.iter_unpack("<QQq", table.data):
            symbol = symbols[info >> 32]
            if info & 0xFFFFFFFF not in RELATIVE_32:
                raise LinkError(f"relocation type {info & 0xFFFFFFFF}")
            if not 0 < symbol.section < len(sections):
                raise LinkError(f"undefined symbol {symbol.name.decode(errors='replace')!r}")
            address = sections[symbol.section].address + symbol.value
            value = address + addend - (target.address + offset)
            struct.pack_into("<i", target.data, offset, value)


def _dynamic_symbols(exported: list[Symbol], sections: list[Section]) -> bytes:
    table = bytes(SYMBOL)
    name = 1
    for symbol in exported:
        address = sections[symbol.section].address + symbol.value
        # Any section number but 0 says that the symbol is defined here.
        table += struct.pack("<IBBHQQ", name, symbol.info, 0, 1, address, 0)
        name += len(symbol.name) + 1
    return table


def _hash_table(names: list[bytes]) -> bytes:
    """The SysV hash table with one bucket: a chain of all symbols."""
    count = len(names) + 1
    chain = [0, *range(2, count), 0][:count]
    return struct.pack(f"<{3 + count}I", 1, count, 1 if names else 0, *chain)


def _file_header(segments: list[tuple[int, int, int, int]]) -> bytes:
    header = b"\x7fELF\2\1\1".ljust(16, b"\0") + struct.pack(
        "<HHIQQQIHHHHHH", 3, 62, 1, 0, HEADER, 0, 0, HEADER, PROGRAM, len(segments), 0, 0, 0
    )
    for kind, access, start, end in segments:
        size = end - start
        align = PAGE if kind == LOAD else 8
        header += struct.pack("<IIQQQQQQ", kind, access, start, start, start, size, size, align)
    return header


def _up(address: int, align: int) -> int:
    return -(-address // align) * align
