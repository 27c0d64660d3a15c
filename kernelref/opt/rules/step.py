"""Steps: what an opt does to the axes, resolved to numbers.

A step is the record that both routes read: `movement` makes reshapes, permutes and pads of it for
every buffer's ShapeTracker, `axismap` makes the law. Nothing else is shared between them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from kernelref.opt.axis import AxisType


@dataclass(frozen=True, slots=True)
class Split:
    """Split an axis in two and move the part of extent `amount` before axis `place`.

    Rewrite: axis of extent n -> (n // amount, amount), or with `outer` (amount, n // amount).
    Law: before = kept * amount + moved, or with `outer` moved * (n // amount) + kept.
    `place` counts axes before the step; the number of axes means the end. A part of extent 1 goes.
    """

    axis: int
    amount: int
    place: int
    made: AxisType
    outer: bool = False


@dataclass(frozen=True, slots=True)
class Pad:
    """Extend an axis at its end to a multiple of `multiple`.

    Law: before = after, where after < n. Points from n on are padding: the guard is false there.
    """

    axis: int
    multiple: int


Step: TypeAlias = Split | Pad
