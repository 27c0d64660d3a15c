"""Generated kernels under generated opts: the interpreter says what the oracle says."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fuzz.harness import LEGALITY, fuzzed, kept
from kernelref.codegen.lower import lower
from kernelref.codegen.opencl import render
from kernelref.codegen.target import FULL, MINIMAL, Target
from kernelref.errors import KernelOptError, Unsupported
from kernelref.fuzzing.campaign_check import Stage, Subject
from kernelref.fuzzing.campaign_legality import Need, without_check
from kernelref.fuzzing.choose import Chooser
from kernelref.fuzzing.generate import generate_kernel
from kernelref.fuzzing.generate_opts import OptSequence, generate_sequence
from kernelref.ir.ast import Ast, Constant, Load, Store
from kernelref.opt.kernel import Kernel
from kernelref.opt.limits import PRESETS, Limits
from kernelref.run.device_limits import check_program
from kernelref.run.outcome import Outcome

NEVER_OVER_STRICT = frozenset(
    {"amount-divides", "axis-in-range", "amount-is-int", "padding-does-not-trap", "launch-fits"}
)
"""Checks that refuse only what nobody could carry out, or what would be wrong."""


def generate_limits(chooser: Chooser) -> Limits:
    """Those of a release, or small ones, which small kernels meet."""
    limits = PRESETS[chooser.choice(list(PRESETS))]
    if not chooser.chance(50):
        return limits
    return replace(
        limits,
        group_max=chooser.choice((limits.group_max, 4, 8, 16, 32, 64)),
        local_max=chooser.choice((limits.local_max, (8, 4, 2), (16, 16, 4), (64, 2, 2))),
        global_max=chooser.choice((limits.global_max, (16, 8, 4), (7, 5, 3), (64, 64, 64))),
        shared_max=chooser.choice((limits.shared_max, 16, 64, 256, 1024)),
    )


def target_of(limits: Limits) -> Target:
    """A device that holds no more than the limits say, and no more than FULL."""

    def least(most: tuple[int, int, int], limit: tuple[int, int, int] | None) -> Any:
        return tuple(map(min, most, limit or most))

    return replace(
        FULL,
        group_max=min(FULL.group_max, limits.group_max or FULL.group_max),
        local_max=least(FULL.local_max, limits.local_max),
        grid_max=least(FULL.grid_max, limits.global_max),
    )


TARGETS = (
    FULL, MINIMAL, replace(MINIMAL, grid_max=(7, 5, 3)), replace(FULL, image_max=(4, 4)),
)  # fmt: skip


def generate_target(chooser: Chooser) -> Target:
    return chooser.choice(TARGETS)


@fuzzed(generate_kernel, generate_sequence, generate_limits, seeds=8)
def test_an_accepted_opt_is_never_wrong(ast: Ast, sequence: OptSequence, limits: Limits) -> None:
    walk = sequence.on(Kernel.open(ast, limits))
    with kept("accepted-opt", ast, walk.kernel.applied_opts):
        subject, target = Subject.of(ast, 2), target_of(limits)
        try:
            program = lower(walk.kernel, target)
        except Unsupported:
            # What opts make must fit the device: only a kernel that never did may not.
            ending = subject.run(Kernel.open(ast, limits), Stage.PLAIN, target)
            assert ending.outcome is Outcome.UNSUPPORTED, walk.kernel.applied_opts
            return
        assert program.shared_nbytes <= limits.shared_max
        render(program, target)
        ending = subject.judged(program, Stage.OPTIMISED)
        assert ending.outcome is Outcome.PASS, ending


@fuzzed(generate_kernel, generate_target, seeds=5)
def test_a_kernel_without_opts_computes_what_the_oracle_says(ast: Ast, target: Target) -> None:
    with kept("without-opts", ast):
        subject = Subject.of(ast, 1)
        assert not subject.oracle.undefined, "the generator made something undefined"
        try:
            program = lower(Kernel.open(ast), target)
        except Unsupported:
            return
        check_program(program, target, subject.variables)
        ending = subject.judged(program, Stage.PLAIN)
        assert ending.outcome is Outcome.PASS, ending


@fuzzed(generate_kernel, seeds=3)
def test_a_view_stays_one(ast: Ast) -> None:
    """What is opened needs no more Views than it was given, where that is one without a mask."""
    kernel = Kernel.open(ast)
    for node, buffer in kernel.index.items():
        if isinstance(node, Load | Constant | Store) and len(node.st.views) == 1:
            (view,) = node.st.views
            if view.mask is None and not view.is_symbolic:
                assert len(kernel.sts[buffer].views) == 1, f"{node.st} became {kernel.sts[buffer]}"


@fuzzed(generate_kernel, generate_sequence, share=0.5, seeds=6)
def test_a_refused_opt_was_refused_for_a_reason(ast: Ast, sequence: OptSequence) -> None:
    """Carried out without its check; the table printed at the end is the result."""
    subject = Subject.of(ast, 3)
    for tried in sequence.on(Kernel.open(ast)).refused:
        if isinstance(tried.error, KernelOptError):
            check = tried.error.check
            need = without_check(subject, tried.kernel, tried.opt, check)
            LEGALITY.add(tried.opt, check, need)
            is_needless = need is Need.OVER_STRICT and check in NEVER_OVER_STRICT
            assert not is_needless, f"{tried.opt} was refused by {check} and is right"
