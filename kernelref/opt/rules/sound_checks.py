"""The checks of the sound rule set: what may be done without changing the result.

They follow 0.9.1 but for these, *differs*: axes are judged by their type; PADTO by evaluating the
expression at a padded point, for every reduction; on-chip memory by what the Program takes; and
what the device cannot launch is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from kernelref.ir.index import is_possibly_gt
from kernelref.opt.axis import GROUPS, LOCALS, Axis
from kernelref.opt.extents import is_multiple
from kernelref.opt.footprint import UNLIMITED, group_counts, local_sizes, shared_nbytes
from kernelref.opt.opt import OptOps
from kernelref.opt.padding import judge
from kernelref.opt.rules import conditions as c
from kernelref.opt.rules.check import Check
from kernelref.opt.rules.movement import Layout, axes_after, move
from kernelref.opt.rules.record import PadRule, SplitRule
from kernelref.opt.rules.request import Request
from kernelref.opt.rules.table import RULES

Predicate = Callable[[Request], bool]
Question = Callable[[Request], object]


def _constant(value: object, request: Request) -> object:
    return value


def _check(
    name: str, says: str, holds: Predicate, needed: object, found: Question = c.axis_of
) -> Check:
    return Check(name, says, holds, found, partial(_constant, needed))


def _has_axis(request: Request) -> bool:
    return request.opt.axis is not None and 0 <= request.axis < len(request.kernel.axes)


def _is_int(request: Request) -> bool:
    return request.opt.amt is not None and isinstance(request.amount, int)


def _is_at_least_2(request: Request) -> bool:
    return is_possibly_gt(request.amount, 1)


def _has_type(request: Request) -> bool:
    family = request.rule.family
    assert isinstance(family, SplitRule | PadRule)
    return request.axis_type in family.takes


def _has_no_arguments(request: Request) -> bool:
    return request.opt.axis is None and request.opt.amt is None


def _opt(request: Request) -> object:
    return request.opt


def _divisor(request: Request) -> object:
    return f"a divisor of {request.extent}"


AXIS_IN_RANGE = _check("axis-in-range", "the axis is there", _has_axis, "an axis of the kernel")
AMOUNT_INT = _check(
    "amount-is-int", "the amount is given, and no symbolic extent", _is_int, "an int", c.amount_of
)
AMOUNT_AT_LEAST_2 = _check(
    "amount-at-least-2", "the amount is at least 2", _is_at_least_2, 2, c.amount_of
)
AMOUNT_DIVIDES = Check(
    "amount-divides", "the amount divides the full extent, for every value of a variable",
    c.divides, c.amount_of, _divisor,
)  # fmt: skip
LOCALS_IN_USE = _check("locals-in-use", "no NOLOCALS before", c.uses_locals, "locals in use", _opt)
HAS_LOCAL = _check("has-local", "the device has work-groups", c.has_local, "has_local", _opt)
HAS_LOCAL_AND_SHARED = _check(
    "has-local-and-shared", "the device has work-groups and on-chip memory",
    c.has_local_and_shared, "has_local and has_shared", _opt,
)  # fmt: skip
NO_TENSOR_CORE = _check(
    "no-tensor-core", "no tensor core was applied", c.no_tensor_core, "no tensor core", _opt
)
NOT_WARP = _check(
    "tensor-core-threads", "the axis is none of a tensor core's threads", c.is_not_warp,
    "another axis",
)  # fmt: skip


def _type_check(op: OptOps) -> Check:
    family = RULES[op].family
    assert isinstance(family, SplitRule | PadRule)
    names = " or ".join(sorted(kind.name for kind in family.takes))
    return _check("axis-type", f"the axis is {names}", _has_type, names)


def _cap_check(op: OptOps) -> Check:
    family = RULES[op].family
    assert isinstance(family, SplitRule)
    most = family.at_most
    assert most is not None
    return _check(
        f"amount-at-most-{most}", f"the amount is at most {most}",
        partial(c.amount_at_most, most), most, c.amount_of,
    )  # fmt: skip


# What the device can hold, judged on the axes after the opt.


def _axes_after(request: Request) -> list[Axis]:
    step = request.step()
    assert step is not None
    return [axis for axis in axes_after(request.kernel.axes, step) if axis.extent != 1]


def _shared(request: Request) -> int:
    kernel, step = request.kernel, request.step()
    assert step is not None
    after = move(Layout(kernel.axes, (), kernel.iterates), step)
    return shared_nbytes(after.axes, kernel.reduces, after.iterates)


def _fits_shared(request: Request) -> bool:
    kernel = request.kernel
    is_shared = request.opt.op in c.GROUPING or kernel.group_dims != 0
    return not is_shared or _shared(request) <= kernel.limits.shared_max


def _fits_launch(request: Request) -> bool:
    axes, limits = _axes_after(request), request.kernel.limits
    if local_sizes(axes, limits) is None:
        return False
    return group_counts(axes, limits.global_max or UNLIMITED) is not None


def _work_items(request: Request) -> object:
    axes = _axes_after(request)
    return {
        "groups": [a.extent for a in axes if a.type not in LOCALS | GROUPS],
        "work-items": [a.extent for a in axes if a.type in LOCALS | GROUPS],
    }


FITS_SHARED = _check(
    "shared-memory", "on-chip memory of all grouped reductions is at most shared_max",
    _fits_shared, "at most shared_max bytes", _shared,
)  # fmt: skip
FITS_LAUNCH = _check(
    "launch-fits", "the device can launch the groups and their work-items", _fits_launch,
    "at most global_max, local_max and group_max", _work_items,
)  # fmt: skip


# UPCASTMID, NOLOCALS, PADTO and TC.


def _is_four(request: Request) -> bool:
    return request.amount == 4


def _has_no_variables(request: Request) -> bool:
    return not request.kernel.variables()


def _pads_little(request: Request) -> bool:
    amount = request.amount
    return isinstance(amount, int) and is_possibly_gt(request.extent, amount // 4)


def _pads_something(request: Request) -> bool:
    return not is_multiple(request.extent, request.amount)


def _keeps_reductions(request: Request) -> bool:
    return not judge(request.kernel, request.axis).reduction


def _does_not_trap(request: Request) -> bool:
    return not judge(request.kernel, request.axis).trap


def _judgement(request: Request) -> object:
    judgement = judge(request.kernel, request.axis)
    return judgement.reduction or judgement.trap


def _level(request: Request) -> bool:
    return request.opt.amt in (0, 1, 2)


def _choice_not_negative(request: Request) -> bool:
    return request.opt.axis is not None and request.opt.axis >= 0


def _is_first(request: Request) -> bool:
    return not request.kernel.applied_opts


def _has_cores(request: Request) -> bool:
    return bool(request.kernel.limits.tensor_cores) and request.kernel.limits.tc in (1, 2)


CAN_UPCAST_MID = _check(
    "upcast-mid", "an image output without a vector axis, grouped, first_reduce <= 2, size > 1",
    c.can_upcast_mid, "an image output ready for it", _opt,
)  # fmt: skip
ONE_UNIT_STRIDE = _check(
    "one-unit-stride-axis", "one axis of the output steps by 1", c.has_one_unit_stride_axis,
    "exactly one", _opt,
)  # fmt: skip
IS_UNIT_STRIDE = _check(
    "axis-has-unit-stride", "the axis is the output's axis that steps by 1",
    c.is_unit_stride_axis, "that axis",
)  # fmt: skip
AMOUNT_IS_4 = _check("amount-is-4", "the amount is 4", _is_four, 4, c.amount_of)
NO_ARGUMENTS = _check("no-arguments", "no axis and no amount", _has_no_arguments, "neither", _opt)
CAN_SWITCH_OFF = _check(
    "locals-to-switch-off", "the device has work-groups and they are in use",
    c.can_switch_locals_off, "locals in use", _opt,
)  # fmt: skip
NO_LOCALS_YET = _check(
    "no-locals-yet", "no axis is local or grouped", c.has_no_locals_and_groups,
    "no LOCAL and no GROUP axis", _opt,
)  # fmt: skip
NO_VARIABLES = _check(
    "no-symbolic-shapes", "no shape or value is symbolic", _has_no_variables, "no variables", _opt
)
PADS_LITTLE = _check(
    "pads-less-than-quadruple", "the extent is above amount // 4", _pads_little,
    "an amount // 4 below the extent", c.amount_of,
)  # fmt: skip
PADS_SOMETHING = _check(
    "something-to-pad", "the extent is no multiple of the amount", _pads_something,
    "an extent that is no multiple", c.amount_of,
)  # fmt: skip
KEEPS_REDUCTIONS = _check(
    "padding-keeps-reductions", "each reduction over the axis receives what cannot change it",
    _keeps_reductions, "0 for SUM; for MAX a value that cannot win", _judgement,
)  # fmt: skip
DOES_NOT_TRAP = _check(
    "padding-does-not-trap", "no integer division, modulo or shift by a padded value can trap",
    _does_not_trap, "nothing that traps", _judgement,
)  # fmt: skip
TENSOR_CORE_FIRST = _check("tensor-core-first", "no opt before", _is_first, "no opts before", _opt)
HAS_CORES = _check(
    "has-tensor-cores", "the device has tensor cores, and they are not off", _has_cores,
    "tensor cores", _opt,
)  # fmt: skip
LEVEL = _check("tensor-core-level", "the level is 0, 1 or 2", _level, "0, 1 or 2", _opt)
CHOICE = _check(
    "tensor-core-choice", "a choice of N, M, K is given, counted from 0", _choice_not_negative,
    "0 or more", _opt,
)  # fmt: skip
TENSOR_CORE_FITS = _check(
    "tensor-core-fits", "a tensor core of the device fits all reductions alike",
    lambda request: True, "a tensor core that fits", _opt,
)  # fmt: skip


Checks = tuple[Check, ...]
_PLACED: Checks = (AXIS_IN_RANGE, AMOUNT_INT, AMOUNT_AT_LEAST_2)
_DIVIDED: Checks = (*_PLACED, AMOUNT_DIVIDES)
_FITS: Checks = (FITS_SHARED, FITS_LAUNCH)


def _local(op: OptOps) -> Checks:
    return (LOCALS_IN_USE, *_DIVIDED, HAS_LOCAL, _type_check(op), *_FITS)


def _group(op: OptOps) -> Checks:
    return (
        LOCALS_IN_USE, *_DIVIDED, HAS_LOCAL_AND_SHARED, _type_check(op), NO_TENSOR_CORE, *_FITS
    )  # fmt: skip


SOUND_CHECKS: dict[OptOps, Checks] = {
    OptOps.TC: (TENSOR_CORE_FIRST, CHOICE, LEVEL, HAS_LOCAL, HAS_CORES),
    OptOps.UPCAST: (
        *_DIVIDED, _type_check(OptOps.UPCAST), NOT_WARP, _cap_check(OptOps.UPCAST), *_FITS
    ),
    OptOps.UPCASTMID: (
        LOCALS_IN_USE, *_DIVIDED, _type_check(OptOps.UPCASTMID), CAN_UPCAST_MID, ONE_UNIT_STRIDE,
        IS_UNIT_STRIDE, AMOUNT_IS_4, *_FITS,
    ),
    OptOps.UNROLL: (*_DIVIDED, _type_check(OptOps.UNROLL), _cap_check(OptOps.UNROLL), *_FITS),
    OptOps.LOCAL: _local(OptOps.LOCAL),
    OptOps.LASTLOCAL: _local(OptOps.LASTLOCAL),
    OptOps.GROUP: _group(OptOps.GROUP),
    OptOps.GROUPTOP: _group(OptOps.GROUPTOP),
    OptOps.NOLOCALS: (NO_ARGUMENTS, CAN_SWITCH_OFF, NO_LOCALS_YET),
    OptOps.PADTO: (
        *_PLACED, NO_VARIABLES, _type_check(OptOps.PADTO), NOT_WARP, PADS_LITTLE,
        PADS_SOMETHING, KEEPS_REDUCTIONS, DOES_NOT_TRAP, *_FITS,
    ),
}  # fmt: skip
