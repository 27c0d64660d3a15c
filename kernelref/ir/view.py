"""A View: how the points of a shape lie in a flat space, by strides, offset and mask.

Read `View.address` first: it alone says what a View means. The algebra below it must keep that
meaning, and is tested against it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kernelref.ir.index import Sint

Mask = tuple[tuple[Sint, Sint], ...]


@dataclass(frozen=True, slots=True)
class View:
    """Strided, shifted and masked points. Units: strides and offset count elements.

    `mask` gives per axis the half-open range [begin, end) where the view is valid, or is None.
    """

    shape: tuple[Sint, ...]
    strides: tuple[Sint, ...]
    offset: Sint = 0
    mask: Mask | None = None

    def address(self, point: Sequence[Any]) -> tuple[Any, Any]:
        """Where `point` lies and whether it is valid; ints, or numpy arrays that broadcast.

        Law: address = offset + sum_i point[i] * strides[i],
        valid = all_i begin[i] <= point[i] < end[i].
        A view with symbolic parts must be bound first (`bind`).
        """
        address: Any = self.offset
        for i, coordinate in enumerate(point):
            address = address + coordinate * self.strides[i]
        valid: Any = True
        for coordinate, (begin, end) in zip(point, self.mask or (), strict=False):
            valid = valid & (coordinate >= begin) & (coordinate < end)
        return address, valid
