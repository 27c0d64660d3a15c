"""The four rule sets: `sound`, and one per tinygrad release.

Source: tinygrad 0.8.0, 0.9.0 and 0.9.1 codegen/kernel.py.
"""

from __future__ import annotations

from kernelref.ir.ast import Op
from kernelref.ir.view import ViewAlgebra
from kernelref.opt.opt import OptOps
from kernelref.opt.rules import release_checks as r
from kernelref.opt.rules import release_padding as p
from kernelref.opt.rules.check import Check
from kernelref.opt.rules.ruleset import BufferIdentity, Construction, RuleSet
from kernelref.opt.rules.sound_checks import SOUND_CHECKS

Checks = tuple[Check, ...]

_DIVIDES: Checks = (
    r.WHOLE_AXIS_EXISTS, r.AMOUNT_INT_NOT_1, r.DIVIDED_AXIS_EXISTS, r.AMOUNT_NOT_0,
    r.SYMBOL_BY_POSITIVE, r.AMOUNT_DIVIDES,
)  # fmt: skip
_NOT_DIVIDING: Checks = (r.WHOLE_AXIS_EXISTS, r.AMOUNT_INT_NOT_1)
_SPLITS: Checks = (r.AXIS_NOT_NEGATIVE, r.AMOUNT_POSITIVE)
_GROUP: Checks = (
    r.HAS_LOCAL_AND_SHARED, r.GROUP_BEHIND_GROUPS, r.GROUP_WITHOUT_TENSOR_CORE, r.AMOUNT_POSITIVE
)  # fmt: skip
_UNROLL: Checks = (r.UNROLL_BEFORE_UPCASTS, r.UNROLL_AT_MOST_32, *_SPLITS)
_UPCASTMID: Checks = (r.CAN_UPCAST_MID, r.ONE_UNIT_STRIDE, r.IS_UNIT_STRIDE, r.AMOUNT_IS_4)
_NOLOCALS: Checks = (r.CAN_SWITCH_OFF, r.NO_LOCALS_YET)

_UNSAFE_0_9_0 = frozenset({Op.DIV, Op.CMPLT, Op.CMPEQ, Op.LOG2, Op.EXP2})
_UNSAFE_0_9_1 = frozenset({Op.RECIP, Op.LOG2, Op.EXP2, Op.IDIV})


def _checks_0_8_0() -> dict[OptOps, Checks]:
    off: Checks = (r.LOCALS_IN_USE,)
    local: Checks = (r.HAS_LOCAL, r.LOCAL_BEFORE_REDUCE)
    return {
        OptOps.UPCAST: (*_DIVIDES, r.UPCAST_BEFORE_REDUCE, r.UPCAST_AT_MOST_8, *_SPLITS),
        OptOps.UPCASTMID: (*off, *_DIVIDES, *_UPCASTMID),
        OptOps.UNROLL: (*_DIVIDES, *_UNROLL),
        OptOps.LOCAL: (*off, *_DIVIDES, *local, r.LOCAL_WITHOUT_TENSOR_CORE, *_SPLITS),
        OptOps.LASTLOCAL: (*off, *_DIVIDES, *local, *_SPLITS),
        OptOps.GROUP: (*off, *_DIVIDES, *_GROUP),
        OptOps.GROUPTOP: (*off, *_DIVIDES, *_GROUP),
        OptOps.NOLOCALS: (*_DIVIDES, *_NOLOCALS),
        OptOps.PADTO: (
            *_NOT_DIVIDING, p.NO_VARIABLES, p.PAD_BEFORE_REDUCE,
            *p.padding_checks(2, skips_ones=False),
        ),
    }  # fmt: skip


def _checks_0_9(unsafe: frozenset[Op]) -> dict[OptOps, Checks]:
    off: Checks = (r.LOCALS_IN_USE,)
    dividing: Checks = (r.AXIS_BELOW_COUNT, *_DIVIDES)
    sharing: Checks = (*dividing, r.SHARED_MEMORY)
    return {
        OptOps.TC: (r.TENSOR_CORE_FIRST, r.AXIS_AND_AMOUNT, r.HAS_TENSOR_CORES),
        OptOps.UPCAST: (
            *sharing, r.UPCAST_BEFORE_REDUCE, r.NOT_WARP, r.UPCAST_AT_MOST_8, *_SPLITS
        ),
        OptOps.UPCASTMID: (*off, *sharing, *_UPCASTMID),
        OptOps.UNROLL: (*sharing, *_UNROLL),
        OptOps.LOCAL: (*off, *sharing, r.HAS_LOCAL, r.LOCAL_OF_GLOBAL, *_SPLITS),
        OptOps.GROUP: (*off, *sharing, *_GROUP),
        OptOps.GROUPTOP: (*off, *sharing, *_GROUP),
        OptOps.NOLOCALS: (*dividing, *_NOLOCALS),
        OptOps.PADTO: (
            r.AXIS_BELOW_COUNT, *_NOT_DIVIDING, p.NO_VARIABLES, p.PAD_BEFORE_UPCASTS,
            p.pad_safe_by_name(unsafe), *p.padding_checks(4, skips_ones=True),
        ),
    }  # fmt: skip


SOUND = RuleSet(
    "sound",
    ViewAlgebra.SOUND,
    Construction(BufferIdentity.NODES, each_reduce_its_axes=True),
    SOUND_CHECKS,
)
TINYGRAD_0_8_0 = RuleSet(
    "tinygrad-0.8.0",
    ViewAlgebra.TINYGRAD_0_8_0,
    Construction(BufferIdentity.ALL_ARGUMENTS, max_outputs=1, max_reduces=1),
    _checks_0_8_0(),
    is_release=True,
)
TINYGRAD_0_9_0 = RuleSet(
    "tinygrad-0.9.0",
    ViewAlgebra.TINYGRAD_0_9_0,
    Construction(BufferIdentity.ARGUMENTS, max_reduces=1),
    _checks_0_9(_UNSAFE_0_9_0),
    is_release=True,
    unroll_mends_counts=True,
)
TINYGRAD_0_9_1 = RuleSet(
    "tinygrad-0.9.1",
    ViewAlgebra.TINYGRAD_0_9_1,
    Construction(BufferIdentity.ARGUMENTS, reduces_land_on_output=True),
    _checks_0_9(_UNSAFE_0_9_1),
    is_release=True,
    unroll_mends_counts=True,
)

RULE_SETS: dict[str, RuleSet] = {
    rules.name: rules for rules in (SOUND, TINYGRAD_0_8_0, TINYGRAD_0_9_0, TINYGRAD_0_9_1)
}
