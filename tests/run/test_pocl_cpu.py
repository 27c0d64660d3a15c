from __future__ import annotations

import ctypes
import struct

import pytest

from kernelref.run import pocl_cpu

HASWELL = "flags\t\t: fpu avx avx2 bmi1 bmi2 fma f16c movbe abm aes pclmulqdq rdrand\n"


@pytest.mark.parametrize(
    ("flags", "processor"),
    [
        (HASWELL, "haswell"),
        (HASWELL.strip() + " avx512f avx512bw avx512cd avx512dq avx512vl\n", "skylake-avx512"),
        (HASWELL.replace(" movbe", ""), "ivybridge"),
        ("flags : avx aes pclmulqdq\n", "sandybridge"),
        ("flags : sse sse2\n", "x86-64"),
        ("Features : fp asimd\n", "x86-64"),
    ],
)
def test_the_best_processor_has_all_its_instructions(flags: str, processor: str) -> None:
    assert pocl_cpu.best_processor("processor : 0\n" + flags) == processor


@pytest.mark.parametrize(
    ("version", "unnamed"),
    [
        ("OpenCL 3.0 PoCL HSTR: pthread-x86_64-unknown-linux-gnu-generic", True),
        ("OpenCL 3.0 PoCL HSTR: pthread-x86_64-unknown-linux-gnu-haswell", False),
        ("OpenCL 3.0 PoCL HSTR: pthread-aarch64-unknown-linux-gnu-generic", False),
        ("OpenCL 3.0 CUDA generic", False),
    ],
)
def test_only_pocl_on_an_unknown_x86_is_unnamed(version: str, unnamed: bool) -> None:
    assert pocl_cpu.is_unnamed(version) is unnamed


def record(*pointers: int) -> ctypes.Array[ctypes.c_char]:
    """A page that begins with these pointers, as a driver's record of a device might."""
    content = struct.pack(f"<{len(pointers)}Q", *pointers).ljust(pocl_cpu.RECORD_NBYTES, b"\0")
    return ctypes.create_string_buffer(content, pocl_cpu.RECORD_NBYTES)


def test_only_the_pointer_to_the_generic_name_is_replaced() -> None:
    generic = ctypes.create_string_buffer(b"generic")
    other = ctypes.create_string_buffer(b"genericx")
    wild = [0, 17, 1 << 50, 1 << 46]
    page = record(*wild, ctypes.addressof(other), ctypes.addressof(generic), 99)
    assert pocl_cpu.name_processor(ctypes.addressof(page))
    after = struct.unpack_from("<7Q", page.raw)
    assert after[:5] == (*wild, ctypes.addressof(other))
    assert after[6] == 99
    assert ctypes.string_at(after[5]).decode() == pocl_cpu.best_processor()


def test_a_record_without_the_name_is_left_alone() -> None:
    page = record(1, 2, 3)
    before = page.raw
    assert not pocl_cpu.name_processor(ctypes.addressof(page))
    assert page.raw == before
