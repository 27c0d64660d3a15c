"""The record of an opt: what tells one opt of a family from another, as data."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from kernelref.opt.axis import AxisType
from kernelref.opt.opt import OptOps


class Origin(enum.Enum):
    """From where an opt counts its axis."""

    FIRST_AXIS = "the first axis"
    FIRST_REDUCE = "the first reduced axis"
    AFTER_GROUPS = "the first axis behind the groups"


class Place(enum.Enum):
    """Where the new axis goes."""

    END = "last"
    BEFORE_LOCALS = "before the locals"
    AFTER_LOCALS = "after the locals"
    AFTER_GROUPS = "after the groups"


@dataclass(frozen=True, slots=True)
class SplitRule:
    """The family that splits an axis: types taken, type made, which part moves, and where to.

    `made_of_output` is the type made where the axis taken is not a reduced one.
    """

    takes: frozenset[AxisType]
    made: AxisType
    place: Place
    outer: bool = False
    at_most: int | None = None
    made_of_output: AxisType | None = None


@dataclass(frozen=True, slots=True)
class PadRule:
    """The family that pads an axis at its end."""

    takes: frozenset[AxisType]


@dataclass(frozen=True, slots=True)
class SwitchRule:
    """The family that changes no axis: work-groups of one work-item from now on."""


@dataclass(frozen=True, slots=True)
class TensorRule:
    """The family that shapes a kernel after a tensor core by other opts."""


Family = SplitRule | PadRule | SwitchRule | TensorRule


@dataclass(frozen=True, slots=True)
class OptRule:
    """One opt. `amounts` are the amounts worth trying, `rewrite` and `law` what a person reads."""

    op: OptOps
    origin: Origin
    family: Family
    amounts: tuple[int, ...]
    rewrite: str
    law: str
