"""The step that makes work-groups of several work-items."""

from __future__ import annotations

from math import prod

from kernelref.opt.extents import is_multiple
from kernelref.opt.heuristics.session import Session
from kernelref.opt.kernel import Kernel
from kernelref.opt.opt import OptOps

MOST_LOCALS = 128
SIZES = (16, 8, 4, 3, 2)
FIRST_AXIS_SIZES = (32, *SIZES)
MOST_AXES = 3


def locals_or_none(session: Session) -> None:
    """NOLOCALS if asked for; else up to three local axes, those that some buffer stands still on.

    Later axes are ranked first, the first three of the ranking are applied in axis order.
    """
    kernel = session.kernel
    if not kernel.limits.has_local:
        return
    if session.settings.no_locals and not kernel.local_dims and not kernel.group_dims:
        session.apply(OptOps.NOLOCALS)
        return
    vanished = 0
    for axis, size in sorted(_ranked(kernel)[:MOST_AXES]):
        place = axis - vanished
        is_whole = session.kernel.full_shape[place] == size
        if session.apply(OptOps.LOCAL, place, size) and is_whole:
            vanished += 1


def _ranked(kernel: Kernel) -> list[tuple[int, int]]:
    """Axes with the size that each may have, best first."""
    broadcast = {
        axis: any(st.views[-1].strides[axis] == 0 for st in kernel.sts)
        for axis in range(kernel.first_reduce)
    }
    chosen: list[tuple[int, int]] = []
    for axis in sorted(broadcast, key=lambda axis: (-broadcast[axis], -axis)):
        taken = prod(size for _, size in chosen)
        for size in FIRST_AXIS_SIZES if axis == 0 else SIZES:
            if is_multiple(kernel.full_shape[axis], size) and taken * size <= MOST_LOCALS:
                chosen.append((axis, size))
                break
    return chosen
