"""Typed axes: what runs the iterations of each axis, and how a person sees it.

The type sits on the axis; colours and coloured shapes follow from it.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from kernelref.ir.index import Sint


class AxisType(enum.Enum):
    """Who iterates an axis.

    GLOBAL: work-groups (work-items of their own without locals). LOCAL, WARP: the work-items of a
    group, WARP those of a tensor core. GROUP_REDUCE: work-items that share a reduction.
    GROUP_UPCAST: work-items before the late reduction, registers after it. REDUCE: a loop.
    UPCAST, UNROLL: registers, of an output axis and of a reduced axis.
    """

    GLOBAL = "global"
    LOCAL = "local"
    WARP = "warp"
    GROUP_REDUCE = "group-reduce"
    GROUP_UPCAST = "group-upcast"
    REDUCE = "reduce"
    UPCAST = "upcast"
    UNROLL = "unroll"


LOCALS = frozenset({AxisType.LOCAL, AxisType.WARP})
GROUPS = frozenset({AxisType.GROUP_REDUCE, AxisType.GROUP_UPCAST})
UPCASTS = frozenset({AxisType.UPCAST, AxisType.UNROLL})
REDUCES = frozenset({AxisType.GROUP_REDUCE, AxisType.REDUCE, AxisType.UNROLL})

COLORS: dict[AxisType, str] = {
    AxisType.GLOBAL: "blue",
    AxisType.LOCAL: "cyan",
    AxisType.WARP: "cyan",
    AxisType.GROUP_REDUCE: "green",
    AxisType.GROUP_UPCAST: "white",
    AxisType.REDUCE: "red",
    AxisType.UPCAST: "yellow",
    AxisType.UNROLL: "magenta",
}


@dataclass(frozen=True, slots=True)
class Axis:
    """One loop of the iteration space: 0 <= i < extent."""

    extent: Sint
    type: AxisType
