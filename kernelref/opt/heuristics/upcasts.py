"""Steps that keep several elements in registers."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from kernelref.ir.index import (
    Sint,
    is_possibly_ge,
    is_possibly_gt,
    is_possibly_le,
    is_possibly_lt,
    product,
)
from kernelref.opt.axis import AxisType
from kernelref.opt.extents import is_multiple
from kernelref.opt.heuristics.session import Session
from kernelref.opt.kernel import Kernel
from kernelref.opt.opt import OptOps

SMALL_MASKED = 7
MOST_MASKED = 49
MANY_OUTPUTS = 1024
MOST_UNROLL = 32
TINY_UNROLL = 3
FEW_OFFSETS = 4
MOST_UPCAST = 64


def masked_axes(session: Session) -> None:
    """Upcast small axes whole that some buffer masks (as stacking leaves them), the last first."""
    kernel = session.kernel
    upcast = product(kernel.full_shape[kernel.first_upcast :])
    chosen: list[int] = []
    for axis in range(kernel.first_reduce):
        extent = kernel.full_shape[axis]
        if not isinstance(extent, int) or extent > SMALL_MASKED:
            continue
        if not any(st.axis_is_masked(axis) for st in kernel.sts):
            continue
        already = product(kernel.full_shape[other] for other in chosen)
        if is_possibly_le(upcast * already * extent, MOST_MASKED):
            chosen.append(axis)
    for axis in reversed(chosen):
        session.apply(OptOps.UPCAST, axis, 0)


@dataclass(frozen=True, slots=True)
class _Choice:
    """An axis to upcast: the fewer buffers move along it, and the less, the better."""

    moving: int
    strides: Sint
    axis: int
    amount: int

    def __lt__(self, other: _Choice) -> bool:
        """As tuples compare; a comparison with a symbolic stride is true unless impossible."""
        if self.moving != other.moving:
            return self.moving < other.moving
        if self.strides != other.strides:
            return is_possibly_lt(self.strides, other.strides)
        return (self.axis, self.amount) < (other.axis, other.amount)


def broadcast_axes(session: Session) -> None:
    """Many outputs: upcast axes along which some buffer stands still, by 3 or 4, while there are.

    *differs from what one expects:* an axis counts as done by its number, and numbers are not
    adjusted when an axis vanishes.
    """
    done: set[int] = set()
    while True:
        kernel = session.kernel
        outputs = product(kernel.output_shape[: kernel.first_reduce])
        choices = sorted(_choices(kernel, done))
        if not is_possibly_ge(outputs, MANY_OUTPUTS) or not choices:
            return
        best = choices[0]
        done.add(best.axis)
        session.apply(OptOps.UPCAST, best.axis, best.amount)


def _choices(kernel: Kernel, done: set[int]) -> list[_Choice]:
    steady = [
        not any(stride == 0 for _, stride, _ in kernel.upcast_axes(i))
        for i in range(len(kernel.sts))
    ]
    choices: list[_Choice] = []
    for axis, amount in itertools.product(range(kernel.first_reduce), (3, 4)):
        extent = kernel.full_shape[axis]
        if axis in done or not isinstance(extent, int) or extent % amount != 0:
            continue
        strides = [st.views[-1].strides[axis] for st in kernel.sts]
        if any(stride == 0 and fits for stride, fits in zip(strides, steady, strict=True)):
            moving = sum(is_possibly_gt(stride, 0) for stride in strides)
            choices.append(_Choice(moving, _sum(strides), axis, amount))
    return choices


def _sum(strides: list[Sint]) -> Sint:
    total: Sint = 0
    for stride in strides:
        total = total + stride
    return total


def unroll_reduce(session: Session) -> None:
    """Few upcasts: unroll the last reduced axis, whole if short (one more if tiny), else by 4."""
    kernel = session.kernel
    if not _may_unroll(kernel):
        return
    extent = kernel.full_unupcasted_shape[-1]
    if isinstance(extent, int) and extent <= MOST_UNROLL:
        _unroll_last(session, 0)
        kernel = session.kernel
        if kernel.first_reduce < kernel.first_upcast and extent <= TINY_UNROLL:
            following = kernel.full_unupcasted_shape[-1]
            if isinstance(following, int) and following <= TINY_UNROLL:
                _unroll_last(session, 0)
    elif is_multiple(extent, 4):
        _unroll_last(session, 4)


def _may_unroll(kernel: Kernel) -> bool:
    upcasts = kernel.full_shape[kernel.first_upcast :]
    total = product(upcasts)
    has_unroll = bool(kernel.axes_of(AxisType.UNROLL))
    return (
        kernel.first_reduce < kernel.first_upcast
        and (is_possibly_le(total, FEW_OFFSETS) or not has_unroll)
        and (not upcasts or is_possibly_lt(total, MOST_UPCAST))
    )


def _unroll_last(session: Session, amount: int) -> None:
    kernel = session.kernel
    session.apply(OptOps.UNROLL, kernel.first_upcast - 1 - kernel.first_reduce, amount)


def last_axis(session: Session) -> None:
    """Nothing is upcast and the last axis divides by 4: upcast it by 4."""
    kernel = session.kernel
    shape = kernel.full_unupcasted_shape
    if kernel.first_upcast == len(kernel.axes) and shape and is_multiple(shape[-1], 4):
        session.apply(OptOps.UPCAST, len(shape) - 1, 4)
