"""The opts, one record each: `RULES` is total over `OptOps`.

Source: tinygrad 0.9.1 codegen/kernel.py, apply_opt (LASTLOCAL: 0.8.0); amounts: engine/search.py.
"""

from __future__ import annotations

from kernelref.opt.axis import AxisType
from kernelref.opt.opt import OptOps
from kernelref.opt.rules.record import (
    OptRule,
    Origin,
    PadRule,
    Place,
    SplitRule,
    SwitchRule,
    TensorRule,
)

_T = AxisType
_INNER = "before = kept * m + moved, 0 <= moved < m"
_OUTER = "before = moved * (n / m) + kept, 0 <= moved < m"

_RULES = (
    OptRule(
        OptOps.TC, Origin.FIRST_AXIS, TensorRule(), (0, 1, 2),
        "N, M, K -> (padded to the tile), K: UNROLL, N and M: UPCAST and WARP",
        "that of its parts, in order: PADTO, UNROLL, UPCAST, LOCAL",
    ),
    OptRule(
        OptOps.UPCAST, Origin.FIRST_AXIS,
        SplitRule(frozenset({_T.GLOBAL, _T.LOCAL, _T.WARP}), _T.UPCAST, Place.END, at_most=8),
        (0, 2, 3, 4, 5, 7, 8), "GLOBAL(n) -> GLOBAL(n/m), ..., UPCAST(m)", _INNER,
    ),
    OptRule(
        OptOps.UPCASTMID, Origin.FIRST_AXIS,
        SplitRule(frozenset({_T.GLOBAL, _T.LOCAL}), _T.GROUP_UPCAST, Place.AFTER_GROUPS),
        (4,), "GLOBAL(n) -> GLOBAL(n/4), ..., GROUP_UPCAST(4)", _INNER,
    ),
    OptRule(
        OptOps.UNROLL, Origin.FIRST_REDUCE,
        SplitRule(
            frozenset({_T.REDUCE, _T.GROUP_REDUCE, _T.GROUP_UPCAST}), _T.UNROLL, Place.END,
            at_most=32, made_of_output=_T.UPCAST,
        ),
        (0, 2, 3, 4, 7, 8), "REDUCE(n) -> REDUCE(n/m), ..., UNROLL(m)", _INNER,
    ),
    OptRule(
        OptOps.LOCAL, Origin.FIRST_AXIS,
        SplitRule(frozenset({_T.GLOBAL}), _T.LOCAL, Place.AFTER_LOCALS),
        (0, 2, 3, 4, 8, 13, 16, 29, 32), "GLOBAL(n) -> GLOBAL(n/m), ..., LOCAL(m)", _INNER,
    ),
    OptRule(
        OptOps.LASTLOCAL, Origin.FIRST_AXIS,
        SplitRule(frozenset({_T.GLOBAL, _T.LOCAL}), _T.LOCAL, Place.BEFORE_LOCALS),
        (0, 2, 4, 8, 16), "GLOBAL(n) -> GLOBAL(n/m), LOCAL(m), ...", _INNER,
    ),
    OptRule(
        OptOps.GROUP, Origin.AFTER_GROUPS,
        SplitRule(frozenset({_T.REDUCE}), _T.GROUP_REDUCE, Place.AFTER_GROUPS),
        (0, 2, 4, 8, 16), "REDUCE(n) -> GROUP_REDUCE(m), REDUCE(n/m)", _INNER,
    ),
    OptRule(
        OptOps.GROUPTOP, Origin.AFTER_GROUPS,
        SplitRule(frozenset({_T.REDUCE}), _T.GROUP_REDUCE, Place.AFTER_GROUPS, outer=True),
        (2, 3, 13, 16, 28, 29, 32, 49, 64, 256), "REDUCE(n) -> GROUP_REDUCE(m), REDUCE(n/m)",
        _OUTER,
    ),
    OptRule(
        OptOps.NOLOCALS, Origin.FIRST_AXIS, SwitchRule(), (),
        "work-groups of one work-item", "before = after",
    ),
    OptRule(
        OptOps.PADTO, Origin.FIRST_AXIS,
        PadRule(frozenset(set(_T) - {_T.UPCAST, _T.UNROLL})),
        (2, 4, 8, 16, 32), "any(n) -> any(ceil(n/m) * m)",
        "before = after; guard: after < n",
    ),
)  # fmt: skip

RULES: dict[OptOps, OptRule] = {rule.op: rule for rule in _RULES}
