"""A ShapeTracker: a stack of Views, from the buffer's side (first) to the kernel's shape (last)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kernelref.ir.index import Sint
from kernelref.ir.view import View


@dataclass(frozen=True, slots=True)
class ShapeTracker:
    """Views from the last to the first: each address is a row-major index into the view before."""

    views: tuple[View, ...]

    @property
    def shape(self) -> tuple[Sint, ...]:
        """The extents of the last view."""
        return self.views[-1].shape

    def address(self, point: Sequence[Any]) -> tuple[Any, Any]:
        """Where `point` lies in the buffer and whether it is valid in every view."""
        address, valid = self.views[-1].address(point)
        for view in reversed(self.views[:-1]):
            coordinates: list[Any] = []
            for extent in reversed(view.shape):
                coordinates.insert(0, address % extent)
                address = address // extent
            address, inner = view.address(coordinates)
            valid = valid & inner
        return address, valid
