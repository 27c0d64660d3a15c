"""Accepting a request, and taking its step: what every opt is made of.

Nothing is built before the last check has held, and a kernel is never changed, so a refusal leaves
no trace.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from kernelref.errors import KernelOptError, Unsupported
from kernelref.opt.axis import Axis, AxisType
from kernelref.opt.broke import OptBroke
from kernelref.opt.opt import OptOps
from kernelref.opt.rules.check import Check
from kernelref.opt.rules.counters import Counters, count, typed, without_ones
from kernelref.opt.rules.movement import Layout, drop_ones, kept_positions, move
from kernelref.opt.rules.request import Request
from kernelref.opt.rules.step import Split, Step

if TYPE_CHECKING:
    from kernelref.opt.kernel import Kernel


Refusal = KernelOptError | OptBroke | Unsupported
Taken = tuple["Kernel", tuple[Step, ...]]


def first_fault(request: Request) -> Check | None:
    """The first check of the rule set that does not hold, of those that need no building."""
    for check in request.kernel.rules.checks[request.opt.op]:
        if not check.holds(request):
            return check
    return None


def refusal(check: Check, request: Request) -> Refusal:
    """The error that says which check did not hold."""
    opt, found, needed = request.opt, check.found(request), check.needed(request)
    if check.breaks:
        return OptBroke(check.name, opt=opt, found=found, needed=needed, error=check.upstream)
    return KernelOptError(check=check.name, opt=opt, found=found, needed=needed)


def take(kernel: Kernel, request: Request, made: AxisType | None = None) -> tuple[Kernel, Step]:
    """The kernel after the request's step; `made` overrides the type of the new axis.

    Raises: Unsupported where a release goes on in a state that typed axes cannot hold.
    """
    step = request.step()
    assert step is not None
    if made is not None and isinstance(step, Split):
        step = replace(step, made=made)
    before = Layout(kernel.axes, kernel.sts, kernel.iterates)
    moved = move(before, step)
    after = drop_ones(moved)
    axes = after.axes
    if kernel.rules.is_release:
        axes = _counted(kernel, request, step, moved, after)
    tensor = kernel.tensor
    if tensor is not None:
        tensor = replace(tensor, axes=_follow(kernel, request, step, moved.axes))
    changed = replace(kernel, axes=axes, sts=after.sts, iterates=after.iterates, tensor=tensor)
    return changed, step


def _counted(
    kernel: Kernel, request: Request, step: Step, moved: Layout, after: Layout
) -> tuple[Axis, ...]:
    """The axes typed by a release's counters. Raises: Unsupported when no types fit them."""
    counters = count(kernel.axes)
    if isinstance(step, Split):
        counters = _one_more(counters, step.made)
        if request.opt.op is OptOps.UNROLL and kernel.rules.unroll_mends_counts:
            counters = _mend(kernel, request, counters)
    full = tuple(axis.extent for axis in moved.axes)
    counters = without_ones(counters, full, moved.sts[0].shape)
    full = tuple(axis.extent for axis in after.axes)
    return typed(counters, full, after.sts[0].shape, after.axes)


def _one_more(counters: Counters, made: AxisType) -> Counters:
    match made:
        case AxisType.LOCAL | AxisType.WARP:
            return replace(counters, locals=counters.locals + 1)
        case AxisType.GROUP_REDUCE | AxisType.GROUP_UPCAST:
            return replace(counters, groups=counters.groups + 1)
        case _:
            return replace(counters, upcasts=counters.upcasts + 1)


def _mend(kernel: Kernel, request: Request, counters: Counters) -> Counters:
    """0.9's corrections for an axis that is unrolled whole."""
    if kernel.full_shape[request.axis] != request.amount:
        return counters
    extra = 1 if request.axis == kernel.first_reduce else 0
    gone = 1 if request.axis < kernel.first_reduce + kernel.group_dims else 0
    return replace(counters, locals=counters.locals + extra, groups=counters.groups - gone)


def _follow(
    kernel: Kernel, request: Request, step: Step, moved: Sequence[Axis]
) -> tuple[int | None, int | None]:
    """Where N and M of the tensor core are after the step, or None when gone.

    *differs:* a release is told only the opt's own axis, once, whichever axes vanished.
    """
    assert kernel.tensor is not None
    places = kernel.tensor.axes
    if not kernel.rules.is_release:
        kept = kept_positions(kernel.axes, step)
        n, m = (None if place is None else kept[place] for place in places)
        return n, m
    if all(axis.extent != 1 for axis in moved):
        return places
    n, m = (_told(place, request.axis) for place in places)
    return n, m


def _told(place: int | None, removed: int) -> int | None:
    if place is None or place == removed:
        return None
    return place - 1 if removed < place else place
