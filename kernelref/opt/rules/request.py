"""One request to a kernel, with what its checks ask about it worked out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernelref.opt.axis import REDUCES, AxisType
from kernelref.opt.opt import Opt
from kernelref.opt.rules.record import OptRule, Origin, PadRule, Place, SplitRule
from kernelref.opt.rules.step import Pad, Split, Step
from kernelref.opt.rules.table import RULES

if TYPE_CHECKING:
    from kernelref.ir.index import Sint
    from kernelref.opt.kernel import Kernel


@dataclass(frozen=True, slots=True)
class Request:
    """An opt on a kernel. `axis` is the position it means in the kernel (-1 when it names none)."""

    kernel: Kernel
    opt: Opt
    axis: int

    @staticmethod
    def of(kernel: Kernel, opt: Opt) -> Request:
        """The request, with its axis counted as the opt's record says."""
        if opt.axis is None:
            return Request(kernel, opt, -1)
        return Request(kernel, opt, opt.axis + origin(kernel, RULES[opt.op].origin))

    @property
    def rule(self) -> OptRule:
        """The opt's record."""
        return RULES[self.opt.op]

    @property
    def has_extent(self) -> bool:
        """Whether `axis` is a position in the kernel's shape, counted from either end."""
        return -len(self.kernel.axes) <= self.axis < len(self.kernel.axes)

    @property
    def extent(self) -> Sint:
        """The full extent of the axis."""
        return self.kernel.axes[self.axis].extent

    @property
    def amount(self) -> Sint:
        """The amount: the whole axis for 0, -1 when none is given."""
        if self.opt.amt is None:
            return -1
        return self.opt.amt if self.opt.amt != 0 else self.extent

    @property
    def axis_type(self) -> AxisType:
        """The type of the axis."""
        return self.kernel.axes[self.axis].type

    def step(self) -> Step | None:
        """What the opt does to the axes, once its checks hold; None when it changes none."""
        amount = self.amount
        match self.rule.family:
            case SplitRule() as rule:
                if not isinstance(amount, int):
                    raise AssertionError(f"symbolic amount {amount!r}")
                made = rule.made
                if rule.made_of_output is not None and self.axis_type not in REDUCES:
                    made = rule.made_of_output
                place = position(self.kernel, rule.place)
                return Split(self.axis, amount, place, made, rule.outer)
            case PadRule():
                if not isinstance(amount, int):
                    raise AssertionError(f"symbolic amount {amount!r}")
                return Pad(self.axis, amount)
            case _:
                return None


def origin(kernel: Kernel, start: Origin) -> int:
    """The axis from which an opt counts."""
    match start:
        case Origin.FIRST_AXIS:
            return 0
        case Origin.FIRST_REDUCE:
            return kernel.first_reduce
        case Origin.AFTER_GROUPS:
            return kernel.first_reduce + kernel.group_dims


def position(kernel: Kernel, place: Place) -> int:
    """The axis before which a new axis goes."""
    match place:
        case Place.END:
            return len(kernel.axes)
        case Place.BEFORE_LOCALS:
            return kernel.global_dims
        case Place.AFTER_LOCALS:
            return kernel.first_reduce
        case Place.AFTER_GROUPS:
            return kernel.first_reduce + kernel.group_dims
