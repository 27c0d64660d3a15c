"""A processor name that PoCL's compiler accepts.

PoCL from PyPI carries LLVM 14. On a processor newer than that, LLVM names the host "generic", and
the same LLVM's front end then refuses every program with "unknown target CPU 'generic'". PoCL has
no setting for the name, so a worker replaces it in the driver's record of the device by a name
that PoCL's own kernel library was compiled for and the processor has the instructions of.

Source: pocl/pocl issue 1049; PoCL 3.0, kernel library variants `distro`.
"""

from __future__ import annotations

import ctypes
import os
import re
import struct
from pathlib import Path

RECORD_NBYTES = 4096
GENERIC = b"generic\0"

# LLVM's names of PoCL's kernel library variants, newest first, and what each needs of a processor.
_PROCESSORS: tuple[tuple[str, frozenset[str]], ...] = (
    ("skylake-avx512", frozenset(("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"))),
    ("haswell", frozenset(("avx2", "bmi1", "bmi2", "fma", "f16c", "movbe", "abm"))),
    ("ivybridge", frozenset(("avx", "f16c", "rdrand"))),
    ("sandybridge", frozenset(("avx", "aes", "pclmulqdq"))),
)
_BASELINE = "x86-64"

# The driver keeps pointers to these names for the life of the process.
_KEPT: list[ctypes.Array[ctypes.c_char]] = []


def is_unnamed(version: str) -> bool:
    """Whether PoCL's version string ends in the name that its compiler refuses."""
    return re.search(r"PoCL.*-x86_64-.*-generic\s*$", version, re.IGNORECASE) is not None


def name_processor(record: int) -> bool:
    """Give the device whose record lies at address `record` a processor name; True if it took."""
    with open("/proc/self/mem", "r+b", buffering=0) as memory:
        raw = os.pread(memory.fileno(), RECORD_NBYTES, record)
        for offset in range(0, len(raw) - 7, 8):
            (pointer,) = struct.unpack_from("<Q", raw, offset)
            if _reads(memory.fileno(), pointer) == GENERIC:
                name = ctypes.create_string_buffer(best_processor().encode())
                _KEPT.append(name)
                os.pwrite(
                    memory.fileno(), struct.pack("<Q", ctypes.addressof(name)), record + offset
                )
                return True
    return False


def best_processor(cpuinfo: str | None = None) -> str:
    """The newest of PoCL's processors whose instructions this machine has."""
    text = Path("/proc/cpuinfo").read_text() if cpuinfo is None else cpuinfo
    flags = next((line for line in text.splitlines() if line.startswith("flags")), "")
    have = frozenset(flags.partition(":")[2].split())
    return next((name for name, needs in _PROCESSORS if needs <= have), _BASELINE)


def _reads(memory: int, address: int) -> bytes:
    """The bytes at an address that may not be one, or nothing."""
    if not RECORD_NBYTES <= address < 1 << 47:
        return b""
    try:
        return os.pread(memory, len(GENERIC), address)
    except OSError:
        return b""
