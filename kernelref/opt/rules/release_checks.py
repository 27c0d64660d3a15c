"""The checks of the releases, in their words and their order.

A check with `breaks` is a condition that the release never looks at and falls over instead.
Source: tinygrad 0.8.0, 0.9.0 and 0.9.1 codegen/kernel.py, apply_opt.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from kernelref.ir.index import Sint, is_possibly_le
from kernelref.opt.axis import GROUPS, LOCALS, AxisType
from kernelref.opt.rules.check import Check
from kernelref.opt.rules.conditions import (
    GROUPING,
    amount_at_most,
    amount_of,
    axis_of,
    can_switch_locals_off,
    can_upcast_mid,
    divides,
    has_local,
    has_local_and_shared,
    has_no_locals_and_groups,
    has_one_unit_stride_axis,
    is_not_warp,
    is_unit_stride_axis,
    no_tensor_core,
    product,
    uses_locals,
)
from kernelref.opt.rules.request import Request


def _constant(value: object, request: Request) -> object:
    return value


def make(
    name: str,
    says: str,
    holds: Callable[[Request], bool],
    *,
    needed: object,
    found: Callable[[Request], object] = axis_of,
    upstream: str,
    breaks: bool = False,
) -> Check:
    """A check of which one thing is needed."""
    return Check(name, says, holds, found, partial(_constant, needed), upstream, breaks)


def _locals_state(request: Request) -> object:
    return "locals are off" if not request.kernel.use_locals else "locals are in use"


LOCALS_IN_USE = make(
    "locals-in-use", "no NOLOCALS before", uses_locals,
    needed="locals in use", found=_locals_state, upstream="not using locals",
)  # fmt: skip


# Axis and amount.


def _is_below_count(request: Request) -> bool:
    return request.axis < len(request.kernel.axes)


def _is_indexed_for_whole(request: Request) -> bool:
    return request.opt.amt != 0 or request.has_extent


def _is_indexed_for_division(request: Request) -> bool:
    return request.opt.amt is None or request.has_extent


def _is_int_and_not_1(request: Request) -> bool:
    return request.opt.amt is None or (isinstance(request.amount, int) and request.amount != 1)


def _is_not_zero(request: Request) -> bool:
    return request.opt.amt is None or request.amount != 0


def _is_symbol_by_positive(request: Request) -> bool:
    if request.opt.amt is None or isinstance(request.extent, int):
        return True
    return isinstance(request.amount, int) and request.amount > 0


def _divides_if_given(request: Request) -> bool:
    return request.opt.amt is None or divides(request)


def _is_not_negative(request: Request) -> bool:
    return request.axis >= 0


def _amount_is_positive(request: Request) -> bool:
    amount = request.amount
    return not isinstance(amount, int) or amount > 0


AXIS_BELOW_COUNT = make(
    "axis-below-count", "the axis is below the number of axes", _is_below_count,
    needed="an axis below the number of axes", upstream="invalid axis",
)  # fmt: skip
WHOLE_AXIS_EXISTS = make(
    "whole-axis-exists", "amount 0 asks for the extent of an axis that is there",
    _is_indexed_for_whole, needed="an axis of the kernel", upstream="IndexError", breaks=True,
)  # fmt: skip
DIVIDED_AXIS_EXISTS = make(
    "divided-axis-exists", "the amount divides the extent of an axis that is there",
    _is_indexed_for_division, needed="an axis of the kernel", upstream="IndexError", breaks=True,
)  # fmt: skip
AMOUNT_INT_NOT_1 = make(
    "amount-int-and-not-1", "the amount is an int other than 1", _is_int_and_not_1,
    needed="an int other than 1", found=amount_of, upstream="shift/padto of amt 1",
)  # fmt: skip
AMOUNT_NOT_0 = make(
    "amount-not-0", "nothing is divided by an extent of 0", _is_not_zero,
    needed="an amount other than 0", found=amount_of, upstream="ZeroDivisionError", breaks=True,
)  # fmt: skip
SYMBOL_BY_POSITIVE = make(
    "symbolic-by-positive", "a symbolic extent is divided by a positive amount",
    _is_symbol_by_positive, needed="a positive amount", found=amount_of,
    upstream="AssertionError", breaks=True,
)  # fmt: skip
AMOUNT_DIVIDES = make(
    "amount-divides", "the amount divides the full extent", _divides_if_given,
    needed="a divisor of the extent", found=amount_of, upstream="no longer valid shift",
)  # fmt: skip
AXIS_NOT_NEGATIVE = make(
    "axis-not-negative", "the axis is not counted from the end", _is_not_negative,
    needed="an axis from 0 on", upstream="AssertionError", breaks=True,
)  # fmt: skip
AMOUNT_POSITIVE = make(
    "amount-positive", "the amount is given and not negative", _amount_is_positive,
    needed="a positive amount", found=amount_of, upstream="AssertionError", breaks=True,
)  # fmt: skip


# Shared memory.


def shared_estimate(request: Request) -> Sint:
    """Bytes as the releases count them: amount * itemsize * upcasts * locals and groups."""
    kernel = request.kernel
    if kernel.reduceop is None:
        return 0
    size = kernel.reduceop.dtype.value.itemsize
    counted = kernel.axes_of(AxisType.UPCAST, *LOCALS, *GROUPS)
    return product(tuple(kernel.axes[i].extent for i in counted)) * size * request.amount


def _fits_shared(request: Request) -> bool:
    kernel = request.kernel
    if kernel.reduceop is None or not (request.opt.op in GROUPING or kernel.group_dims):
        return True
    return is_possibly_le(shared_estimate(request), kernel.limits.shared_max)


SHARED_MEMORY = make(
    "shared-memory", "amount * itemsize * upcasts * locals and groups <= shared_max",
    _fits_shared, needed="at most shared_max bytes", found=shared_estimate,
    upstream="exceeds maximum shared memory size",
)  # fmt: skip


# Splits.


def _is_global(request: Request) -> bool:
    return request.axis < request.kernel.global_dims


def is_before_reduce(request: Request) -> bool:
    """The axis is before the first reduced one (as a release compares: a negative one too)."""
    return request.axis < request.kernel.first_reduce


def _is_behind_groups(request: Request) -> bool:
    kernel = request.kernel
    return kernel.first_reduce + kernel.group_dims <= request.axis < kernel.first_upcast


def is_before_upcasts(request: Request) -> bool:
    """The axis is before the upcasts (as a release compares: a negative one too)."""
    return request.axis < request.kernel.first_upcast


def _is_not_warp_if_indexed(request: Request) -> bool:
    return request.axis < 0 or is_not_warp(request)


HAS_LOCAL = make(
    "has-local", "the device has work-groups", has_local,
    needed="has_local", found=partial(_constant, "no work-groups"),
    upstream="target does not support local",
)  # fmt: skip
HAS_LOCAL_AND_SHARED = make(
    "has-local-and-shared", "the device has work-groups and on-chip memory", has_local_and_shared,
    needed="has_local and has_shared", found=partial(_constant, "one of them missing"),
    upstream="target does not support local or shared mem",
)  # fmt: skip
LOCAL_OF_GLOBAL = make(
    "axis-is-global", "the axis is GLOBAL", _is_global,
    needed="a GLOBAL axis", upstream="local is for globals",
)  # fmt: skip
LOCAL_BEFORE_REDUCE = make(
    "axis-before-reduce", "the axis is not reduced and not upcast", is_before_reduce,
    needed="a GLOBAL or LOCAL axis", upstream="can't local a reduce",
)  # fmt: skip
UPCAST_BEFORE_REDUCE = make(
    "axis-before-reduce", "the axis is not reduced and not upcast", is_before_reduce,
    needed="a GLOBAL or LOCAL axis", upstream="upcast is for non-reduce",
)  # fmt: skip
GROUP_BEHIND_GROUPS = make(
    "axis-behind-groups", "the axis is reduced, behind the groups and not upcast",
    _is_behind_groups, needed="a REDUCE axis", upstream="must be reduce axis to group",
)  # fmt: skip
UNROLL_BEFORE_UPCASTS = make(
    "axis-not-upcast", "the axis is not upcast", is_before_upcasts,
    needed="an axis before the upcasts", upstream="can't upcasted already upcasted",
)  # fmt: skip
LOCAL_WITHOUT_TENSOR_CORE = make(
    "no-tensor-core", "no tensor core was applied", no_tensor_core,
    needed="no tensor core", upstream="can't local with tensor cores",
)  # fmt: skip
GROUP_WITHOUT_TENSOR_CORE = make(
    "no-tensor-core", "no tensor core was applied", no_tensor_core,
    needed="no tensor core", upstream="can't group with tensor cores",
)  # fmt: skip
NOT_WARP = make(
    "tensor-core-threads", "the axis is none of the tensor core's threads",
    _is_not_warp_if_indexed, needed="no WARP axis", upstream="can't upcast TC locals",
)  # fmt: skip
UPCAST_AT_MOST_8 = make(
    "amount-at-most-8", "the amount is at most 8", partial(amount_at_most, 8),
    needed=8, found=amount_of, upstream="don't upcast more than 8",
)  # fmt: skip
UNROLL_AT_MOST_32 = make(
    "amount-at-most-32", "the amount is at most 32", partial(amount_at_most, 32),
    needed=32, found=amount_of, upstream="don't unroll more than 32",
)  # fmt: skip


# UPCASTMID and NOLOCALS.


def _colors(request: Request) -> object:
    return request.kernel.colors


def _is_four(request: Request) -> bool:
    return request.amount == 4


CAN_UPCAST_MID = make(
    "upcast-mid", "an image output without a vector axis, grouped, first_reduce <= 2, size > 1",
    can_upcast_mid, needed="an image output ready for it", upstream="invalid upcast mid reduce",
)  # fmt: skip
ONE_UNIT_STRIDE = make(
    "one-unit-stride-axis", "one axis of the output steps by 1", has_one_unit_stride_axis,
    needed="exactly one", upstream="wrong number of stride 1 axis",
)  # fmt: skip
IS_UNIT_STRIDE = make(
    "axis-has-unit-stride", "the axis is the output's axis that steps by 1", is_unit_stride_axis,
    needed="that axis", upstream="wrong axis",
)  # fmt: skip
AMOUNT_IS_4 = make(
    "amount-is-4", "the amount is 4", _is_four,
    needed=4, found=amount_of, upstream="don't upcast mid anything but 4",
)  # fmt: skip
CAN_SWITCH_OFF = make(
    "locals-to-switch-off", "the device has work-groups and they are in use",
    can_switch_locals_off, needed="locals in use", found=_locals_state,
    upstream="NOLOCALS is meaningless",
)  # fmt: skip
NO_LOCALS_YET = make(
    "no-locals-yet", "no axis is local or grouped", has_no_locals_and_groups,
    needed="no LOCAL and no GROUP axis", found=_colors, upstream="can't have no locals with locals",
)  # fmt: skip


# Tensor cores: what comes before the search for one (`tensor`).


def _is_first(request: Request) -> bool:
    return not request.kernel.applied_opts


def _has_axis_and_amount(request: Request) -> bool:
    return request.opt.axis is not None and request.opt.amt is not None


def _has_cores_or_shape(request: Request) -> bool:
    limits = request.kernel.limits
    return limits.tc == 2 or bool(limits.tensor_cores)


def _opt(request: Request) -> object:
    return request.opt


TENSOR_CORE_FIRST = make(
    "tensor-core-first", "no opt before", _is_first, needed="no opts before", found=_opt,
    upstream="tensor core opts must be first",
)  # fmt: skip
AXIS_AND_AMOUNT = make(
    "axis-and-amount", "axis and amount are given", _has_axis_and_amount,
    needed="both", found=_opt, upstream="tensor core opts must have an axis and amt",
)  # fmt: skip
HAS_TENSOR_CORES = make(
    "has-tensor-cores", "the device has tensor cores, or only their shape is wanted",
    _has_cores_or_shape, needed="tensor cores or tc 2", found=_opt,
    upstream="must have tensor cores or TC=2",
)  # fmt: skip
