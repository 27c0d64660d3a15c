"""One request to a kernel, with what its checks ask about it worked out once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernelref.opt.opt import Opt

if TYPE_CHECKING:
    from kernelref.ir.index import Sint
    from kernelref.opt.kernel import Kernel


@dataclass(frozen=True, slots=True)
class Request:
    """An opt on a kernel. `axis` is the position it means in the kernel (-1 when it names none)."""

    kernel: Kernel
    opt: Opt
    axis: int

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
