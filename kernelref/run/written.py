"""What a launch wrote and what it left alone, over the whole of a buffer.

A kernel says which elements of a buffer it stores. Each of them must be written, also where only
some values are compared, and no other may be: a guard that drops the last elements, or lets padded
work through, shows however few points are looked at.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernelref.run.job import Array, LaunchBuffer, Stored
from kernelref.run.poison import Bits, bits_type


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """One written buffer after a launch.

    `wanted` are the elements that the launch asks for. `unwritten` must have been written and hold
    what they held before; what a buffer with data holds says nothing, so there it is empty.
    `stray` is a sentence for an element that the kernel does not store and that changed.
    """

    wanted: Bits
    unwritten: Array
    stray: str = ""


def look(buffer: LaunchBuffer, pieces: Iterable[tuple[int, Bits, Bits]]) -> Seen:
    """Look at all of a buffer, in pieces: (first element, bits before, bits after)."""
    points = buffer.points
    wanted = np.zeros(buffer.elements if points is None else len(points), bits_type(buffer.dtype))
    unwritten: list[Array] = []
    must = must_write(buffer)
    stray = ""
    for start, before, after in pieces:
        if points is None:
            wanted[start : start + len(after)] = after
        else:
            here = (points >= start) & (points < start + len(after))
            wanted[here] = after[points[here] - start]
        is_stored = mask_of(must, start, len(after))
        same = before == after
        if buffer.data is None:
            unwritten.append(np.flatnonzero(same & is_stored) + start)
        if buffer.stored is not None and not stray:
            changed = np.flatnonzero(~same & ~is_stored)
            if len(changed):
                stray = _stray(buffer.number, start + int(changed[0]))
    return Seen(wanted, np.concatenate([np.zeros(0, np.int64), *unwritten]), stray)


def missing_from(buffer: LaunchBuffer, is_written: NDArray[np.bool_]) -> Array:
    """The elements that must be written and are not, where each write was noted."""
    must = must_write(buffer)
    if isinstance(must, range):
        return np.flatnonzero(~is_written[must.start : must.stop]) + must.start
    return must[~is_written[must]]


def stray_in(buffer: LaunchBuffer, is_written: NDArray[np.bool_]) -> str:
    """A sentence for an element that was written and is not stored by the kernel."""
    if buffer.stored is None:
        return ""
    place = (
        slice(buffer.stored.start, buffer.stored.stop)
        if isinstance(buffer.stored, range)
        else buffer.stored
    )
    if np.count_nonzero(is_written) == np.count_nonzero(is_written[place]):
        return ""
    others = np.flatnonzero(is_written & ~mask_of(buffer.stored, 0, len(is_written)))
    return _stray(buffer.number, int(others[0])) if len(others) else ""


def must_write(buffer: LaunchBuffer) -> Stored:
    """What the launch must write: what is stored; where that is not said, what is wanted."""
    if buffer.stored is not None:
        return buffer.stored
    return range(buffer.elements) if buffer.points is None else buffer.points


def mask_of(stored: Stored, start: int, count: int) -> NDArray[np.bool_]:
    """For each of `count` elements from `start` on, whether it is among `stored`."""
    mask = np.zeros(count, bool)
    if isinstance(stored, range):
        mask[max(0, stored.start - start) : max(0, stored.stop - start)] = True
    else:
        here = stored[(stored >= start) & (stored < start + count)]
        mask[here - start] = True
    return mask


def _stray(number: int, element: int) -> str:
    return f"buffer {number}: [{element}] was written, which the kernel does not store"
