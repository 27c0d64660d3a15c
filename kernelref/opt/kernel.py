"""A Kernel: an AST with its buffers' ShapeTrackers, its typed axes and the opts applied so far.

An immutable value. `Kernel.open` constructs one from an AST; `kernel.apply_opt(opt)` returns a new
Kernel or raises KernelOptError, and a refusal leaves no trace.
"""

from __future__ import annotations

from dataclasses import dataclass

from kernelref.ir.ast import Ast, Constant, Load, Reduce, Store
from kernelref.ir.index import Sint
from kernelref.ir.shapetracker import ShapeTracker
from kernelref.opt.axis import Axis
from kernelref.opt.limits import Limits
from kernelref.opt.opt import Opt

Buffer = Store | Load | Constant


@dataclass(frozen=True, slots=True)
class Kernel:
    """An AST under a schedule.

    Shapes: `sts[i]` has one dim per axis, of the axis's extent or 1 (then the buffer, or the value
    computed from it, does not vary along that axis). `iterates[r][a]` says whether reduce r sums
    over axis a.
    """

    ast: Ast
    buffers: tuple[Buffer, ...]
    sts: tuple[ShapeTracker, ...]
    axes: tuple[Axis, ...]
    reduces: tuple[Reduce, ...]
    iterates: tuple[tuple[bool, ...], ...]
    limits: Limits
    applied_opts: tuple[Opt, ...] = ()
    use_locals: bool = True

    @property
    def full_shape(self) -> tuple[Sint, ...]:
        """The extents of all axes."""
        return tuple(axis.extent for axis in self.axes)

    @property
    def output_shape(self) -> tuple[Sint, ...]:
        """The shape of output 0: the axes' extents, 1 where they are reduced."""
        return self.sts[0].shape
