"""Poison: bit patterns that tell what a kernel wrote and what it did not.

Two patterns of poison fill an output before a run, one after the other when needed: an element
that still holds the first after one run and the second after another was not written. Float poison
is a NaN with a payload that no arithmetic makes. The red zones around a buffer hold another
pattern: floats so large, with alternating sign, that a sum or a maximum that takes one in is
visibly wrong (a NaN would vanish in a maximum), and different for each buffer, so that copying
from zone to zone shows as well.

Everything here is unsigned integers of the element's width: bits, not values.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernelref.ir.dtype import BFLOAT16, DType
from kernelref.run.job import Array

Bits = NDArray[np.unsignedinteger]

ZONE_LEAST_NBYTES = 4096
ZONE_MOST_NBYTES = 65536

_QUIET_NAN = {2: 0x7E00, 4: 0x7FC00000, 8: 0x7FF8000000000000}
_HUGE = {2: 0x7B00, 4: 0x7F000000, 8: 0x7FD0000000000000}


@dataclass(frozen=True, slots=True)
class ZoneDamage:
    """The first red-zone element that changed. Units: `element` counts from the buffer's start."""

    number: int
    element: int
    elements: int

    def __str__(self) -> str:
        side = "before the start" if self.element < 0 else "past the end"
        return f"buffer {self.number} of {self.elements} elements: [{self.element}] {side} changed"


def bits_type(dtype: DType) -> np.dtype[np.unsignedinteger]:
    """The unsigned type as wide as one stored element."""
    return np.dtype(f"u{dtype.itemsize}")


def as_bits(dtype: DType, stored: Array) -> Bits:
    """Stored elements as bits."""
    return np.ascontiguousarray(stored).reshape(-1).view(bits_type(dtype))


def zone_elements(dtype: DType, elements: int) -> int:
    """Elements of one red zone: as many bytes as the buffer, within limits; whole 4 KiB blocks."""
    wanted = min(max(elements * dtype.itemsize, ZONE_LEAST_NBYTES), ZONE_MOST_NBYTES)
    return (-(-wanted // ZONE_LEAST_NBYTES) * ZONE_LEAST_NBYTES) // dtype.itemsize


def zone_bits(dtype: DType, number: int, count: int) -> Bits:
    """The pattern of a red zone of buffer `number`."""
    width = dtype.itemsize
    tag = number % 31 + 1
    if not dtype.is_float:
        return np.full(count, _repeated(0xC0 + tag, width), bits_type(dtype))
    huge = 0x7F00 if dtype.storage == BFLOAT16 else _HUGE[width]
    pattern = np.full(count, huge + tag, bits_type(dtype))
    pattern[1::2] |= bits_type(dtype).type(1 << (8 * width - 1))
    return pattern


def poison_bits(dtype: DType, *, second: bool) -> int:
    """One element of poison, of the first or the second kind."""
    width = dtype.itemsize
    if not dtype.is_float:
        return _repeated(0x5A if second else 0xA5, width)
    nan = 0x7FC0 if dtype.storage == BFLOAT16 else _QUIET_NAN[width]
    payload = 0x15 if second else 0x2A
    return nan + payload


def zone_damage(dtype: DType, number: int, elements: int, before: Bits, after: Bits) -> str:
    """The sentence for a damaged red zone, or nothing."""
    expected = zone_bits(dtype, number, len(before))
    changed = np.flatnonzero(before != expected)
    if len(changed):
        return str(ZoneDamage(number, int(changed[-1]) - len(before), elements))
    changed = np.flatnonzero(after != zone_bits(dtype, number, len(after)))
    return str(ZoneDamage(number, elements + int(changed[0]), elements)) if len(changed) else ""


def _repeated(byte: int, width: int) -> int:
    return int.from_bytes(bytes([byte]) * width, "little")
