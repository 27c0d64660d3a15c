"""Typed axes: what runs the iterations of each axis, and how a person sees it.

The type sits on the axis; colours and coloured shapes follow from it.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from kernelref.ir.index import Sint


class AxisType(enum.Enum):
    """Who iterates an axis. The value is its colour in `colors`."""

    GLOBAL = "blue"
    LOCAL = "cyan"
    WARP = "warp"
    GROUP_REDUCE = "green"
    GROUP_UPCAST = "white"
    REDUCE = "red"
    UPCAST = "yellow"
    UNROLL = "magenta"


@dataclass(frozen=True, slots=True)
class Axis:
    """One loop of the iteration space: 0 <= i < extent."""

    extent: Sint
    type: AxisType
