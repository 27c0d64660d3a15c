"""What is accepted and what is refused, held to what each check says, said here once more."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from fuzz.harness import examples, fuzzed, kept
from fuzz.test_kernels import generate_limits, target_of
from kernelref.codegen.lower import lower
from kernelref.errors import KernelOptError, Unsupported
from kernelref.fuzzing.campaign_check import Stage, Subject
from kernelref.fuzzing.choose import Chooser, FixedChooser, SeededChooser
from kernelref.fuzzing.generate import generate_kernel
from kernelref.fuzzing.generate_opts import (
    OptSequence,
    fitting,
    generate_sequence,
    is_moderate,
    next_opt,
)
from kernelref.fuzzing.generate_taste import DEFAULT, Taste
from kernelref.ir.ast import Ast
from kernelref.ir.index import Sint, floordiv, simplify
from kernelref.opt.axis import AxisType as T
from kernelref.opt.kernel import Kernel
from kernelref.opt.limits import OPENCL, PRESETS, Limits
from kernelref.opt.opt import Opt, OptOps
from kernelref.pytest_plugin import Settings
from kernelref.run.outcome import Outcome

FITTING: dict[OptOps, frozenset[T]] = {
    OptOps.UPCAST: frozenset({T.GLOBAL, T.LOCAL, T.WARP}),
    OptOps.UPCASTMID: frozenset({T.GLOBAL, T.LOCAL}),
    OptOps.UNROLL: frozenset({T.REDUCE, T.GROUP_REDUCE, T.GROUP_UPCAST}),
    OptOps.LOCAL: frozenset({T.GLOBAL}),
    OptOps.LASTLOCAL: frozenset({T.GLOBAL, T.LOCAL}),
    OptOps.GROUP: frozenset({T.REDUCE}),
    OptOps.GROUPTOP: frozenset({T.REDUCE}),
    OptOps.PADTO: frozenset(T) - {T.UPCAST, T.UNROLL},
}
"""The axes that an opt is for."""

SHARED = frozenset({T.LOCAL, T.WARP, T.GROUP_REDUCE, T.GROUP_UPCAST})


def ends(kernel: Kernel) -> tuple[int, int, int]:
    """Where work-groups, the work-items of outputs and those of reductions end among the axes."""
    types = [axis.type for axis in kernel.axes]
    groups = sum(kind is T.GLOBAL for kind in types)
    outer = groups + sum(kind in (T.LOCAL, T.WARP) for kind in types)
    return groups, outer, outer + sum(kind in (T.GROUP_REDUCE, T.GROUP_UPCAST) for kind in types)


def position(kernel: Kernel, opt: Opt) -> int:
    """The axis that is meant, counted from where the opt's first one is."""
    assert opt.axis is not None
    _, outer, grouped = ends(kernel)
    start = {OptOps.UNROLL: outer, OptOps.GROUP: grouped, OptOps.GROUPTOP: grouped}
    return start.get(opt.op, 0) + opt.axis


def axes_after(kernel: Kernel, opt: Opt) -> list[tuple[T, Sint]]:
    """The axes that an accepted opt leads to, those of one iteration left out."""
    axes = [(axis.type, axis.extent) for axis in kernel.axes]
    if opt.op is OptOps.NOLOCALS:
        return axes
    at = position(kernel, opt)
    kind, extent = axes[at]
    amount = extent if opt.amt == 0 else opt.amt
    assert isinstance(amount, int)
    if opt.op is OptOps.PADTO:
        assert isinstance(extent, int)
        axes[at] = kind, -(-extent // amount) * amount
        return axes
    groups, outer, grouped = ends(kernel)
    made, place = {
        OptOps.UPCAST: (T.UPCAST, len(axes)),
        OptOps.UNROLL: (T.UPCAST if kind is T.GROUP_UPCAST else T.UNROLL, len(axes)),
        OptOps.LOCAL: (T.LOCAL, outer),
        OptOps.LASTLOCAL: (T.LOCAL, groups),
        OptOps.UPCASTMID: (T.GROUP_UPCAST, grouped),
        OptOps.GROUP: (T.GROUP_REDUCE, grouped),
        OptOps.GROUPTOP: (T.GROUP_REDUCE, grouped),
    }[opt.op]
    axes[at] = kind, 1 if extent == amount else simplify(floordiv(extent, amount))
    axes.insert(place, (made, amount))
    return [(kind, extent) for kind, extent in axes if extent != 1]


def is_so(kernel: Kernel, opt: Opt, check: str) -> bool | None:
    """Whether a check has a reason to refuse; None where it is not said here."""
    limits = kernel.limits
    no_locals = any(applied.op is OptOps.NOLOCALS for applied in kernel.applied_opts)
    match check:
        case "no-arguments":
            return opt.axis is not None or opt.amt is not None
        case "locals-in-use":
            return no_locals
        case "locals-to-switch-off":
            return no_locals or not limits.has_local
        case "no-locals-yet":
            return any(axis.type in SHARED for axis in kernel.axes)
        case "has-local":
            return not limits.has_local
        case "has-local-and-shared":
            return not (limits.has_local and limits.has_shared)
        case "tensor-core-first":
            return bool(kernel.applied_opts)
        case "no-symbolic-shapes":
            return bool(kernel.variables())
        case "axis-in-range":
            return opt.axis is None or not 0 <= position(kernel, opt) < len(kernel.axes)
        case "launch-fits" | "shared-memory":
            return None
    return _is_so_of_an_amount(kernel, opt, check)


def _is_so_of_an_amount(kernel: Kernel, opt: Opt, check: str) -> bool | None:
    """Of checks that look at an axis which is there."""
    if opt.op not in FITTING or opt.axis is None:
        return None
    axis = kernel.axes[position(kernel, opt)]
    amount = axis.extent if opt.amt == 0 else opt.amt
    if check == "axis-type":
        return axis.type not in FITTING[opt.op]
    if check == "amount-is-int":
        return not isinstance(amount, int)
    if not isinstance(amount, int) or not isinstance(axis.extent, int):
        return None
    match check:
        case "amount-at-least-2":
            return amount < 2
        case "amount-is-4":
            return amount != 4
        case "amount-at-most-8":
            return amount > 8
        case "amount-at-most-32":
            return amount > 32
        case "amount-divides":
            return axis.extent % amount != 0
        case "something-to-pad":
            return axis.extent % amount == 0
        case "pads-less-than-quadruple":
            return axis.extent <= amount // 4
    return None


def check_refusal(kernel: Kernel, opt: Opt, check: str) -> None:
    """A check that refused had its reason."""
    assert is_so(kernel, opt, check) is not False, f"{opt} was refused by {check}"
    if check in ("launch-fits", "shared-memory"):
        checks = dict(kernel.rules.checks)
        checks[opt.op] = tuple(kept for kept in checks[opt.op] if kept.name != check)
        after = replace(kernel, rules=replace(kernel.rules, checks=checks)).attempt(opt)
        if not isinstance(after, Kernel):
            return
        try:
            program = lower(after, target_of(kernel.limits))
        except Unsupported:
            return
        fits = check == "launch-fits" or program.shared_nbytes <= kernel.limits.shared_max
        assert not fits, f"{opt} was refused by {check}"


def check_acceptance(kernel: Kernel, opt: Opt, after: Kernel) -> None:
    """No check that let an opt pass has a reason not to, and the axes are as the opt says."""
    for check in kernel.rules.checks[opt.op]:
        assert not is_so(kernel, opt, check.name), f"{opt} was accepted in spite of {check.name}"
    if opt.op is not OptOps.TC:
        assert [(axis.type, axis.extent) for axis in after.axes] == axes_after(kernel, opt), opt


@fuzzed(generate_kernel, generate_sequence, generate_limits, seeds=12)
def test_an_answer_is_what_the_checks_say(ast: Ast, sequence: OptSequence, limits: Limits) -> None:
    kernel = Kernel.open(ast, limits)
    for step in sequence.steps:
        opt = next_opt(FixedChooser(step), kernel, [])
        with kept("answer", ast, (*kernel.applied_opts, opt)):
            answer = kernel.attempt(opt)
            if isinstance(answer, KernelOptError):
                check_refusal(kernel, opt, answer.check)
            elif isinstance(answer, Kernel):
                check_acceptance(kernel, opt, answer)
                kernel = answer if is_moderate(answer) else kernel


@dataclass(frozen=True, slots=True)
class Wanted:
    """An opt that must be accepted somewhere, after `leads`; `holds` says where it counts."""

    name: str
    op: OptOps
    taste: Taste = DEFAULT
    leads: tuple[OptOps, ...] = ()
    limits: Limits = OPENCL
    holds: Callable[[Kernel, Opt, Kernel], bool] = lambda before, opt, after: True


def _is_padded(before: Kernel, opt: Opt, after: Kernel) -> bool:
    return _points(after) != _points(before)


def _points(kernel: Kernel) -> int:
    total = 1
    for axis in kernel.axes:
        total *= axis.extent if isinstance(axis.extent, int) else 1
    return total


def _is_exact(before: Kernel, opt: Opt, after: Kernel) -> bool:
    return opt.amt != 2


def _takes_a_reduced_axis(before: Kernel, opt: Opt, after: Kernel) -> bool:
    return before.axes[position(before, opt)].type is T.REDUCE


REDUCED = replace(DEFAULT, reduces=((1, 80), (2, 20)))
IMAGES = replace(DEFAULT, images=100, matmul=0, symbolic=0, reduces=((1, 100),))
PRODUCTS = replace(DEFAULT, matmul=100)
CORES = replace(PRESETS["metal"], tc=2)
OBLONG = replace(PRESETS["cuda"], tc=2)

WANTED: tuple[Wanted, ...] = (
    Wanted("upcast", OptOps.UPCAST),
    Wanted("upcast-mid", OptOps.UPCASTMID, IMAGES, (OptOps.GROUP,)),
    Wanted("unroll", OptOps.UNROLL, REDUCED),
    Wanted("local", OptOps.LOCAL),
    Wanted("last-local", OptOps.LASTLOCAL, DEFAULT, (OptOps.LOCAL,)),
    Wanted("group", OptOps.GROUP, REDUCED),
    Wanted("group-top", OptOps.GROUPTOP, REDUCED, (OptOps.GROUP,)),
    Wanted("no-locals", OptOps.NOLOCALS),
    Wanted("pad", OptOps.PADTO),
    Wanted("pad-reduced", OptOps.PADTO, REDUCED, holds=_takes_a_reduced_axis),
    Wanted("tensor-core", OptOps.TC, PRODUCTS, limits=CORES, holds=_is_exact),
    Wanted("tensor-core-oblong", OptOps.TC, PRODUCTS, limits=OBLONG),
    Wanted("tensor-core-padded", OptOps.TC, PRODUCTS, limits=CORES, holds=_is_padded),
)
SHARE = 0.1
TRIES = 400


@pytest.mark.parametrize("wanted", WANTED, ids=lambda wanted: wanted.name)
def test_an_opt_is_accepted_where_it_fits(wanted: Wanted, kernelref_settings: Settings) -> None:
    started, given = time.monotonic(), kernelref_settings
    seed, done, vain = given.seed, 0, 0
    while vain < TRIES:
        chooser = SeededChooser(f"{wanted.name} {seed}")
        done, vain = (done + 1, 0) if accepted(wanted, chooser, seed) else (done, vain + 1)
        seed += 1
        is_over = given.budget is not None and time.monotonic() - started > given.budget
        if is_over or (given.budget is None and done >= max(1, examples(SHARE))):
            return
    pytest.fail(f"{wanted.name} was refused {TRIES} times")


def accepted(wanted: Wanted, chooser: Chooser, seed: int) -> bool:
    """Whether the opt was accepted where it counts; then it came out right."""
    kernel = Kernel.open(generate_kernel(chooser, wanted.taste), wanted.limits)
    for op in wanted.leads:
        after = kernel.attempt(fitting(chooser, kernel, op))
        kernel = after if isinstance(after, Kernel) else kernel
    opt = fitting(chooser, kernel, wanted.op)
    with kept(f"wanted-{wanted.name}", kernel.ast, (*kernel.applied_opts, opt)):
        answer = kernel.attempt(opt)
        if isinstance(answer, KernelOptError):
            check_refusal(kernel, opt, answer.check)
        if not isinstance(answer, Kernel) or not wanted.holds(kernel, opt, answer):
            return False
        check_acceptance(kernel, opt, answer)
        ending = Subject.of(kernel.ast, seed).run(answer, Stage.OPTIMISED)
        assert ending.outcome in (Outcome.PASS, Outcome.UNSUPPORTED), ending
        return ending.outcome is Outcome.PASS
