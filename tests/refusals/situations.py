"""Requests: for every op one that every check lets through, and for every check one it stops.

`passing` and `refusing` are keyed by what the rule set lists, so that a check without a situation
fails the test. A situation is a kernel's AST, limits, the opts before, and the request.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from kernelref.ir.ast import Alu, Ast, Load, Op, Store
from kernelref.ir.builder import buffer, constant, kernel
from kernelref.ir.dtype import FLOAT, IMAGE_FLOAT, INT32, image
from kernelref.ir.shapetracker import ShapeTracker
from kernelref.opt.heuristics.session import Session, Settings
from kernelref.opt.heuristics.tensor_cores import apply_tensor_cores
from kernelref.opt.kernel import Kernel
from kernelref.opt.limits import PRESETS, Limits
from kernelref.opt.opt import Opt, OptOps
from kernelref.opt.rules.ruleset import RuleSet
from tests.opt.kernels import add, image_sum, matmul, row_sum, symbolic_sum

METAL = PRESETS["metal"]
O = OptOps  # noqa: E741 - as short as the tables need it


@dataclass(frozen=True)
class Situation:
    ast: Ast
    opt: Opt
    before: tuple[Opt, ...] = ()
    limits: Limits = METAL
    tensor_core: bool = False

    def kernel(self, rules: RuleSet) -> Kernel:
        kernel = Kernel.open(self.ast, self.limits, rules)
        if self.tensor_core:
            session = Session(kernel, Settings())
            assert apply_tensor_cores(session, extra_opts=())
            kernel = session.kernel
        for opt in self.before:
            kernel = kernel.apply_opt(opt)
        return kernel


PASSING: dict[OptOps, Situation] = {
    O.TC: Situation(matmul(), Opt(O.TC, 0, 0)),
    O.UPCAST: Situation(matmul(), Opt(O.UPCAST, 0, 4)),
    O.UPCASTMID: Situation(image_sum(), Opt(O.UPCASTMID, 1, 4), (Opt(O.GROUP, 0, 16),)),
    O.UNROLL: Situation(matmul(), Opt(O.UNROLL, 0, 4)),
    O.LOCAL: Situation(matmul(), Opt(O.LOCAL, 0, 4)),
    O.LASTLOCAL: Situation(matmul(), Opt(O.LASTLOCAL, 0, 4)),
    O.GROUP: Situation(matmul(), Opt(O.GROUP, 0, 4)),
    O.GROUPTOP: Situation(matmul(), Opt(O.GROUPTOP, 0, 4)),
    O.NOLOCALS: Situation(matmul(), Opt(O.NOLOCALS)),
    O.PADTO: Situation(matmul(24, 16, 16), Opt(O.PADTO, 0, 32)),
}
NAMED_NOLOCALS = Situation(matmul(), Opt(O.NOLOCALS, 0, 4))


def _with(op: OptOps, axis: int | None, amt: int | None) -> Situation:
    return replace(PASSING[op], opt=Opt(op, axis, amt))


def _limits(op: OptOps, **changes: object) -> Situation:
    return replace(PASSING[op], limits=replace(METAL, **changes))


def _after(op: OptOps, *before: Opt) -> Situation:
    return replace(PASSING[op], before=before)


def _after_tensor_core(op: OptOps, rules: RuleSet, opt: Opt) -> Situation:
    """On a kernel shaped for a tensor core."""
    return Situation(matmul(64, 64, 64), opt, tensor_core=True)


def _empty() -> Ast:
    """Extent 0, which no reader lets through."""
    st = ShapeTracker.from_shape((0, 4))
    flipped = ShapeTracker.from_shape((4, 0)).permute((1, 0))
    total = Alu(Op.ADD, (Load(1, FLOAT, st), Load(2, FLOAT, flipped)))
    return (Store(0, FLOAT, st, total),)


def _far(op: OptOps) -> int:
    """So far back that it is before the first axis, wherever the op counts from."""
    return -9 if op is not O.UNROLL else -12


def _beyond(op: OptOps, rules: RuleSet) -> Situation:
    amount = PASSING[op].opt.amt if op is not O.NOLOCALS else 4
    if rules.name == "tinygrad-0.8.0":
        return _with(op, 9, amount)
    return _with(op, _far(op), amount)


def _stride_two_image() -> Ast:
    """The output's channels are written two apart: no axis steps by 1."""
    st = ShapeTracker.from_shape((8, 8, 1)).stride((1, 2, 1))
    dtype = image(IMAGE_FLOAT, (1, 16, 4))
    value = buffer(1, (8, 4, 64)).sum(-1).cast(dtype).node
    return (Store(0, dtype, st, value),)


def _max_of(shape: tuple[int, ...]) -> Ast:
    return kernel(buffer(1, shape).max(-1))


def _exp_sum() -> Ast:
    return kernel(buffer(1, (4, 24)).exp2().sum(-1))


def _quotient() -> Ast:
    """100 // x: the divisor is 0 at a padded point."""
    x = buffer(1, (24, 8), INT32)
    y = buffer(2, (8, 24), INT32).permute(1, 0)
    return kernel(constant(100, (24, 8), INT32) // x + y)


Maker = Callable[[OptOps, RuleSet], Situation]

SMALL_SHARED = replace(METAL, shared_max=16)
GROUPED = (Opt(O.GROUP, 0, 4),)


def _shared(op: OptOps, rules: RuleSet) -> Situation:
    if op in (O.GROUP, O.GROUPTOP):
        return _limits(op, shared_max=8)
    if op is O.UPCASTMID:
        return _limits(op, shared_max=64)
    if rules.name == "sound" and op is O.UNROLL:
        # Each unrolled step of the outer reduction keeps an accumulator of the inner one.
        return Situation(_sum_of_sums(), Opt(op, 2, 4), GROUPED, SMALL_SHARED)
    if op is O.PADTO:
        return Situation(matmul(), Opt(op, 2, 8), GROUPED, SMALL_SHARED)
    return replace(PASSING[op], before=GROUPED, limits=SMALL_SHARED)


def _sum_of_sums() -> Ast:
    """Axes: GLOBAL(4), then REDUCE(64) of the inner and REDUCE(8) of the outer reduction."""
    inner = buffer(1, (4, 64, 8)).max(1)
    return kernel(inner.sum(2))


def _launch(op: OptOps, rules: RuleSet) -> Situation:
    """More work-items than a group may have; for opts that make none, too many work-groups."""
    if op in (O.LOCAL, O.LASTLOCAL, O.GROUP, O.GROUPTOP):
        return _limits(op, group_max=2)
    if op is O.UPCASTMID:
        return _limits(op, group_max=16)
    return _limits(op, global_max=(1, 1, 1))


REFUSING: dict[str, Maker] = {
    # Axis and amount.
    "axis-in-range": lambda op, rules: _with(op, 9, 4),
    "axis-below-count": lambda op, rules: _with(op, 9, 4),
    "amount-is-int": lambda op, rules: _with(op, 0, None),
    "amount-at-least-2": lambda op, rules: _with(op, PASSING[op].opt.axis, 1),
    "amount-int-and-not-1": lambda op, rules: _with(op, PASSING[op].opt.axis or 0, 1),
    "amount-divides": lambda op, rules: _with(op, PASSING[op].opt.axis or 0, 5),
    "whole-axis-exists": lambda op, rules: _with(
        op, 9 if rules.name == "tinygrad-0.8.0" else _far(op), 0
    ),
    "divided-axis-exists": _beyond,
    "amount-not-0": lambda op, rules: Situation(_empty(), Opt(op, _first_axis(op), 0)),
    "symbolic-by-positive": lambda op, rules: Situation(
        symbolic_sum(), Opt(op, 0 if op in (O.UNROLL, O.GROUP, O.GROUPTOP) else 1, -4)
    ),
    "axis-not-negative": lambda op, rules: _negative(op),
    "amount-positive": lambda op, rules: _with(op, 0, None),
    "axis-type": lambda op, rules: _wrong_type(op),
    # Device and kernel.
    "locals-in-use": lambda op, rules: _locals_off(op),
    "has-local": lambda op, rules: _limits(op, has_local=False),
    "has-local-and-shared": lambda op, rules: _limits(op, has_shared=False),
    "shared-memory": _shared,
    "launch-fits": _launch,
    "no-tensor-core": lambda op, rules: _after_tensor_core(op, rules, Opt(op, 0, 4)),
    "tensor-core-threads": lambda op, rules: _after_tensor_core(op, rules, Opt(op, 2, 2)),
    # Splits.
    "axis-is-global": lambda op, rules: replace(_with(op, 2, 4), before=(Opt(O.LOCAL, 0, 4),)),
    "axis-before-reduce": lambda op, rules: (
        replace(_with(op, 2, 32), ast=matmul(16, 16, 24)) if op is O.PADTO else _with(op, 2, 4)
    ),
    "axis-behind-groups": lambda op, rules: replace(_with(op, 1, 4), before=(Opt(O.UNROLL, 0, 4),)),
    "axis-not-upcast": lambda op, rules: (
        replace(_with(op, 3, 32), before=(Opt(O.UNROLL, 0, 4),))
        if op is O.PADTO
        else replace(_with(op, 1, 4), before=(Opt(O.UNROLL, 0, 4),))
    ),
    "amount-at-most-8": lambda op, rules: _with(op, 0, 16),
    "amount-at-most-32": lambda op, rules: Situation(matmul(16, 16, 64), Opt(op, 0, 64)),
    # UPCASTMID and NOLOCALS.
    "upcast-mid": lambda op, rules: Situation(matmul(), Opt(op, 0, 4), GROUPED),
    "one-unit-stride-axis": lambda op, rules: Situation(
        _stride_two_image(), Opt(op, 0, 4), (Opt(O.GROUP, 0, 16),)
    ),
    "axis-has-unit-stride": lambda op, rules: _with(op, 0, 4),
    "amount-is-4": lambda op, rules: _with(op, 1, 2),
    "no-arguments": lambda op, rules: _with(op, 0, 4),
    "locals-to-switch-off": lambda op, rules: _after(op, Opt(O.NOLOCALS)),
    "no-locals-yet": lambda op, rules: _after(op, Opt(O.LOCAL, 0, 4)),
    # PADTO.
    "no-symbolic-shapes": lambda op, rules: Situation(symbolic_sum(), Opt(op, 0, 6)),
    "pads-less-than-quadruple": lambda op, rules: _with(op, 0, 1024),
    "pads-less-than-double": lambda op, rules: _with(op, 0, 64),
    "something-to-pad": lambda op, rules: _with(op, 0, 8),
    "padded-axis-exists": lambda op, rules: _with(op, -9, 32),
    "padding-possible": lambda op, rules: Situation(add(24, 24), Opt(op, -1, 32)),
    "padding-safe-by-name": lambda op, rules: Situation(_exp_sum(), Opt(op, 1, 32)),
    "padding-keeps-reductions": lambda op, rules: Situation(_max_of((4, 24)), Opt(op, 1, 32)),
    "padding-does-not-trap": lambda op, rules: Situation(_quotient(), Opt(op, 0, 32)),
    # TC.
    "tensor-core-first": lambda op, rules: _after(op, Opt(O.UPCAST, 0, 4)),
    "axis-and-amount": lambda op, rules: _with(op, 0, None),
    "has-tensor-cores": lambda op, rules: replace(PASSING[op], limits=PRESETS["opencl"]),
    "tensor-core-level": lambda op, rules: _with(op, 0, 3),
    "tensor-core-choice": lambda op, rules: _with(op, -1, 0),
    "tensor-core-fits": lambda op, rules: Situation(row_sum(4, 64), Opt(op, 0, 0)),
    "axis-names-a-choice": lambda op, rules: _with(op, -9, 0),
    "reduces-fit-alike": lambda op, rules: Situation(_unlike_sums(), Opt(op, 0, 2)),
}


def _first_axis(op: OptOps) -> int:
    """The axis of extent 0 is the first one; ops that count from elsewhere go back to it."""
    return -2 if op in (O.UNROLL, O.GROUP, O.GROUPTOP) else 0


def _negative(op: OptOps) -> Situation:
    if op is O.UNROLL:
        return Situation(row_sum(64), Opt(op, -1, 4))
    return _with(op, -1, 4)


def _wrong_type(op: OptOps) -> Situation:
    match op:
        case O.UNROLL | O.GROUP | O.GROUPTOP:
            return replace(_with(op, 1, 4), before=(Opt(O.UNROLL, 0, 4),))
        case O.UPCASTMID:
            return replace(PASSING[op], opt=Opt(op, 2, 4))
        case O.PADTO:
            return replace(_with(op, 3, 32), before=(Opt(O.UNROLL, 0, 4),))
        case O.LOCAL:
            return replace(_with(op, 2, 2), before=(Opt(O.LOCAL, 0, 4),))
        case _:
            return _with(op, 2, 4)


def _locals_off(op: OptOps) -> Situation:
    return replace(PASSING[op], before=(Opt(O.NOLOCALS),))


def _unlike_sums() -> Ast:
    """One sum of products beside one that is none."""
    a, b = buffer(1, (16, 16)), buffer(2, (16, 16))
    product = a @ b
    other = buffer(3, (16, 16, 16)).sum(-1)
    return kernel(product + other)
