"""Generated kernels under generated opts: the interpreter says what the oracle says."""

from __future__ import annotations

from fuzz.harness import LEGALITY, fuzzed, kept
from kernelref.codegen.target import FULL, MINIMAL, Target
from kernelref.errors import KernelOptError
from kernelref.fuzzing.campaign_check import Stage, Subject
from kernelref.fuzzing.campaign_legality import Need, without_check
from kernelref.fuzzing.choose import Chooser
from kernelref.fuzzing.generate import generate_kernel
from kernelref.fuzzing.generate_opts import OptSequence, generate_sequence
from kernelref.ir.ast import Ast
from kernelref.opt.kernel import Kernel
from kernelref.opt.limits import PRESETS, Limits
from kernelref.run.outcome import Outcome

FINE = (Outcome.PASS, Outcome.UNSUPPORTED)
NEVER_OVER_STRICT = frozenset(
    {"amount-divides", "axis-in-range", "amount-is-int", "padding-does-not-trap", "launch-fits"}
)
"""Checks that refuse only what nobody could carry out, or what would be wrong."""


def generate_limits(chooser: Chooser) -> Limits:
    return PRESETS[chooser.choice(list(PRESETS))]


def generate_target(chooser: Chooser) -> Target:
    return chooser.choice((FULL, MINIMAL))


@fuzzed(generate_kernel, generate_target)
def test_a_kernel_without_opts_computes_what_the_oracle_says(ast: Ast, target: Target) -> None:
    with kept("without-opts", ast):
        subject = Subject.of(ast, 1)
        assert not subject.oracle.undefined, "the generator made something undefined"
        ending = subject.run(Kernel.open(ast), Stage.PLAIN, target)
        assert ending.outcome in FINE, ending


@fuzzed(generate_kernel, generate_sequence, generate_limits)
def test_an_accepted_opt_is_never_wrong(ast: Ast, sequence: OptSequence, limits: Limits) -> None:
    walk = sequence.on(Kernel.open(ast, limits))
    with kept("accepted-opt", ast, walk.kernel.applied_opts):
        subject = Subject.of(ast, 2)
        ending = subject.run(walk.kernel, Stage.OPTIMISED)
        if ending.outcome is Outcome.UNSUPPORTED:
            # What opts make must fit the device: only a kernel that never did may not.
            ending = subject.run(Kernel.open(ast, limits), Stage.PLAIN)
            assert ending.outcome is Outcome.UNSUPPORTED, walk.kernel.applied_opts
        assert ending.outcome in FINE, ending


@fuzzed(generate_kernel, generate_sequence, share=0.5)
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
