"""The releases' checks of PADTO: a loop over the buffers that pads as it goes.

Source: tinygrad 0.8.0, 0.9.0 and 0.9.1 codegen/kernel.py, apply_opt.
"""

from __future__ import annotations

import enum
from functools import partial

from kernelref.ir.ast import Op
from kernelref.ir.index import is_possibly_gt
from kernelref.opt.rules.check import Check
from kernelref.opt.rules.conditions import amount_of, is_safe_by_name
from kernelref.opt.rules.release_checks import is_before_reduce, is_before_upcasts, make
from kernelref.opt.rules.request import Request


class Padding(enum.Enum):
    """How a release's loop over the buffers ends."""

    DONE = "done"
    TOO_MUCH = "too much"
    NO_AXIS = "no such axis"
    FELL = "fell"
    NOTHING = "nothing to pad"


def _walk(fraction: int, skips_ones: bool, request: Request) -> Padding:
    """Pad buffer by buffer, as the releases do; the first fault ends it."""
    amount, padded = request.amount, False
    assert isinstance(amount, int)
    for st in request.kernel.sts:
        if not request.has_extent:
            return Padding.NO_AXIS
        extent = st.shape[request.axis]
        if extent == 1 and skips_ones:
            continue
        if not is_possibly_gt(extent, amount // fraction):
            return Padding.TOO_MUCH
        assert isinstance(extent, int)
        extra = (extent + amount - 1) // amount * amount - extent
        if extra:
            if request.axis < 0 or extra < 0:
                return Padding.FELL
            padded = True
    return Padding.DONE if padded else Padding.NOTHING


def _ends_not(fault: Padding, fraction: int, skips_ones: bool, request: Request) -> bool:
    return _walk(fraction, skips_ones, request) is not fault


def padding_checks(fraction: int, *, skips_ones: bool) -> tuple[Check, ...]:
    """The checks of the loop that pads: extent > amount // `fraction`, and something to pad."""
    word = {2: "double", 4: "quadruple"}[fraction]

    def check(
        name: str, says: str, fault: Padding, needed: str, upstream: str, *, breaks: bool = False
    ) -> Check:
        holds = partial(_ends_not, fault, fraction, skips_ones)
        return make(
            name, says, holds, needed=needed, found=amount_of, upstream=upstream, breaks=breaks
        )

    return (
        check(
            "padded-axis-exists", "the axis is there", Padding.NO_AXIS,
            "an axis of the kernel", "IndexError", breaks=True,
        ),
        check(
            f"pads-less-than-{word}", f"the extent is above amount // {fraction}",
            Padding.TOO_MUCH, f"an amount // {fraction} below the extent",
            f"pad adds more than {word} the work",
        ),
        check(
            "padding-possible", "axis and amount are not negative", Padding.FELL,
            "an axis from 0 on and a positive amount", "AssertionError", breaks=True,
        ),
        check(
            "something-to-pad", "the extent is no multiple of the amount", Padding.NOTHING,
            "an extent that is no multiple", "nothing was padded",
        ),
    )  # fmt: skip


def _has_no_variables(request: Request) -> bool:
    return not request.kernel.variables()


def _variables(request: Request) -> object:
    return sorted(variable.name for variable in request.kernel.variables())


def _is_safe_reduce(unsafe: frozenset[Op], request: Request) -> bool:
    kernel = request.kernel
    return request.axis < kernel.first_reduce or is_safe_by_name(unsafe, kernel)


NO_VARIABLES = make(
    "no-symbolic-shapes", "no shape or value is symbolic", _has_no_variables,
    needed="no variables", found=_variables, upstream="does not work with symbolic shape",
)  # fmt: skip
PAD_BEFORE_UPCASTS = make(
    "axis-not-upcast", "the axis is not upcast", is_before_upcasts,
    needed="an axis before the upcasts", upstream="cannot pad upcasted",
)  # fmt: skip
PAD_BEFORE_REDUCE = make(
    "axis-before-reduce", "the axis is not reduced and not upcast", is_before_reduce,
    needed="a GLOBAL or LOCAL axis", upstream="cannot pad a reduce axis",
)  # fmt: skip


def pad_safe_by_name(unsafe: frozenset[Op]) -> Check:
    """On a reduced axis: the first reduction is SUM and no op below it has one of these names."""
    return make(
        "padding-safe-by-name", "on a reduced axis, a SUM of ops that are not listed as unsafe: "
        + " ".join(sorted(op.name for op in unsafe)),
        partial(_is_safe_reduce, unsafe), needed="a SUM of safe ops", upstream="cannot pad",
    )  # fmt: skip
