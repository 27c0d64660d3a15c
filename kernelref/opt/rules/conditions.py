"""Conditions that checks of several rule sets are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelref.ir.ast import Alu, Op, ReduceOp, postorder
from kernelref.ir.index import Sint, is_possibly_gt, is_possibly_le
from kernelref.opt.axis import GROUPS, LOCALS, AxisType
from kernelref.opt.extents import is_multiple
from kernelref.opt.opt import OptOps
from kernelref.opt.rules.request import Request

if TYPE_CHECKING:
    from kernelref.opt.kernel import Kernel

GROUPING = frozenset({OptOps.GROUP, OptOps.GROUPTOP})


def product(extents: tuple[Sint, ...]) -> Sint:
    """The product of extents."""
    total: Sint = 1
    for extent in extents:
        total = total * extent
    return total


def axis_of(request: Request) -> object:
    """What a person reads about the axis: its position, and its type when it has one."""
    if not request.has_extent:
        return f"axis {request.axis} of {len(request.kernel.axes)}"
    return f"axis {request.axis}, {request.axis_type.name}"


def amount_of(request: Request) -> object:
    """The amount, where it can be known."""
    return request.amount if request.opt.amt != 0 or request.has_extent else "a missing axis"


def uses_locals(request: Request) -> bool:
    """NOLOCALS was not applied."""
    return request.kernel.use_locals


def has_local(request: Request) -> bool:
    """The device has work-groups."""
    return request.kernel.limits.has_local


def has_local_and_shared(request: Request) -> bool:
    """The device has work-groups and on-chip memory."""
    return request.kernel.limits.has_local and request.kernel.limits.has_shared


def no_tensor_core(request: Request) -> bool:
    """The kernel is not marked for a tensor-core instruction."""
    return not request.kernel.has_tensor_core


def is_not_warp(request: Request) -> bool:
    """The axis is not one of a marked tensor core's threads."""
    return not (request.kernel.has_tensor_core and request.axis_type is AxisType.WARP)


def can_switch_locals_off(request: Request) -> bool:
    """The device has work-groups and they are still in use."""
    return request.kernel.limits.has_local and request.kernel.use_locals


def has_no_locals_and_groups(request: Request) -> bool:
    """No axis is local or grouped."""
    return not request.kernel.axes_of(*LOCALS, *GROUPS)


def amount_at_most(most: int, request: Request) -> bool:
    """The amount does not exceed a cap."""
    return is_possibly_le(request.amount, most)


def divides(request: Request) -> bool:
    """The amount divides the full extent, whatever symbolic variables are."""
    return is_multiple(request.extent, request.amount)


def can_upcast_mid(request: Request) -> bool:
    """The output is an image without a vector axis, something is grouped, and axes are few."""
    kernel = request.kernel
    return (
        kernel.buffers[0].dtype.is_image
        and not kernel.float4_axes(0)
        and kernel.group_dims != 0
        and kernel.first_reduce <= 2
        and is_possibly_gt(product(kernel.output_shape), 1)
    )


def has_one_unit_stride_axis(request: Request) -> bool:
    """One axis of the output steps by 1."""
    return len(request.kernel.sts[0].unit_stride_axes()) == 1


def is_unit_stride_axis(request: Request) -> bool:
    """The axis is the output's first one that steps by 1."""
    return request.kernel.sts[0].unit_stride_axes()[:1] == (request.axis,)


def is_safe_by_name(unsafe: frozenset[Op], kernel: Kernel) -> bool:
    """The first reduction is a SUM and no op below it is in a list of unsafe names."""
    first = kernel.reduceop
    if first is None or first.op is not ReduceOp.SUM:
        return False
    below = postorder([first.value])
    return not any(isinstance(node, Alu) and node.op in unsafe for node in below)
