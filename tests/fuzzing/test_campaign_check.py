"""The ladder tells a wrong kernel from a right one, and says where it went wrong."""

from __future__ import annotations

import numpy as np
import pytest

from kernelref.cases.case import parse_case
from kernelref.errors import Unsupported
from kernelref.fuzzing.campaign_case import (
    Attempt,
    Plan,
    guarded,
    new_attempt,
    reference_ladder,
    replayed,
)
from kernelref.fuzzing.campaign_check import Ending, Stage, Subject
from kernelref.fuzzing.campaign_feedback import Feedback
from kernelref.fuzzing.campaign_legality import LegalityTable, Need, without_check
from kernelref.ir.ast import Op
from kernelref.ir.builder import buffer, constant, kernel
from kernelref.ir.dtype import INT32, UINT32
from kernelref.opt.kernel import Kernel
from kernelref.opt.opt import Opt, OptOps
from kernelref.opt.rules.sets import RULE_SETS
from kernelref.run.outcome import Outcome

STEERING = Feedback().steering()
ROWS = kernel(buffer(1, (12, 20)).sum(1))


def test_a_right_kernel_passes():
    subject = Subject.of(ROWS, 1)
    opened = Kernel.open(ROWS)
    assert subject.run(opened, Stage.PLAIN).outcome is Outcome.PASS
    grouped = opened.apply_opt(Opt(OptOps.GROUP, 0, 4))
    assert subject.run(grouped, Stage.OPTIMISED).outcome is Outcome.PASS


def test_another_kernel_is_wrong():
    other = kernel(buffer(1, (12, 20)).max(1))
    ending = Subject.of(ROWS, 1).run(Kernel.open(other), Stage.OPTIMISED)
    assert (ending.stage, ending.outcome) == (Stage.OPTIMISED, Outcome.WRONG_VALUE)


def test_a_release_that_pads_a_remainder_traps():
    ast = kernel(buffer(1, (5, 7), INT32) % buffer(2, (5, 7), INT32))
    padded = Kernel.open(ast, rules=RULE_SETS["tinygrad-0.9.1"]).apply_opt(Opt(OptOps.PADTO, 0, 4))
    assert Subject.of(ast, 1).run(padded, Stage.OPTIMISED).outcome is Outcome.TRAP


@pytest.mark.parametrize(
    ("opt", "check", "need"),
    [
        (Opt(OptOps.PADTO, 1, 8), "padding-keeps-reductions", Need.NEEDED),
        (Opt(OptOps.UPCAST, 0, 5), "amount-divides", Need.IMPOSSIBLE),
        (Opt(OptOps.UPCAST, 0, 12), "amount-at-most-8", Need.OVER_STRICT),
        (Opt(OptOps.LOCAL, 9, 3), "axis-in-range", Need.IMPOSSIBLE),
    ],
)
def test_a_refused_opt_without_its_check(opt, check, need):
    ast = kernel(buffer(1, (12, 20)).exp2().sum(1))
    opened = Kernel.open(ast)
    assert getattr(opened.attempt(opt), "check", None) == check
    assert without_check(Subject.of(ast, 1), opened, opt, check) is need


def test_the_table_of_refusals():
    table = LegalityTable()
    table.add(Opt(OptOps.PADTO, 0, 4), "something-to-pad", Need.OVER_STRICT)
    table.add(Opt(OptOps.PADTO, 0, 4), "something-to-pad", Need.OVER_STRICT)
    assert table.lines()[-1].split("|")[1:3] == [" PADTO ", " something-to-pad "]
    assert " 2 " in table.lines()[-1]


def _attempt(number: int = 3) -> Attempt:
    return new_attempt(Plan(proves=False), number, STEERING)


def test_a_case_follows_from_its_number():
    first, second = (guarded(_attempt(), reference_ladder) for _ in range(2))
    assert (first.ending, first.opts, first.features) == (
        second.ending, second.opts, second.features,
    )  # fmt: skip
    assert guarded(_attempt(4), reference_ladder).features != first.features


def test_a_finding_has_its_case_with_the_opts_that_are_needed(monkeypatch):
    """A fault that shows whenever a group has several work-items: other opts are left out."""
    judged = Subject.judged

    def faulty(self, program, stage):
        if program.local != (1, 1, 1):
            return Ending(stage, Outcome.WRONG_VALUE, "planted")
        return judged(self, program, stage)

    monkeypatch.setattr(Subject, "judged", faulty)
    found = [guarded(_attempt(number), reference_ladder) for number in range(60)]
    findings = [result for result in found if result.is_finding]
    assert findings
    makers = {OptOps.LOCAL, OptOps.LASTLOCAL, OptOps.GROUP, OptOps.GROUPTOP, OptOps.TC}
    for result in findings:
        kinds = [opt.op for opt in result.opts]
        # One may need what makes its axis divisible, or no longer symbolic, and nothing else.
        assert 1 <= sum(kind in makers for kind in kinds) <= 2, result.key
        assert set(kinds) - makers <= {OptOps.PADTO}, result.key
        assert result.key.startswith("WRONG_VALUE at optimised: ")
        assert parse_case(result.case).opts == result.opts
        assert parse_case(result.case).expect.outcome == "WRONG_VALUE"


@pytest.mark.parametrize(
    ("error", "outcome", "reason"),
    [
        (Unsupported("too-odd", "x"), Outcome.UNSUPPORTED, "too-odd"),
        (ZeroDivisionError("x"), Outcome.HARNESS_ERROR, "ZeroDivisionError"),
    ],
)
def test_what_is_raised_on_the_way_is_an_ending(error, outcome, reason):
    def ladder(attempt):
        attempt.timed(Stage.PROOF)
        raise error

    result = guarded(_attempt(), ladder)
    assert (result.ending.stage, result.ending.outcome) == (Stage.PROOF, outcome)
    assert result.ending.reason == reason


def test_replaying_skips_what_does_not_apply_any_more():
    opened = Kernel.open(ROWS)
    opts = (Opt(OptOps.UPCAST, 0, 5), Opt(OptOps.UPCAST, 0, 4))
    assert replayed(opened, opts).applied_opts == opts[1:]


# What generated kernels found in our own judging: each was a false alarm once.


def test_a_nan_that_a_bitcast_made_is_one():
    bits = constant(0x7FC00000, (3,), UINT32) + 0 * buffer(2, (3,), UINT32)
    tenth = buffer(3, (3,)) * 0.1
    ast = kernel(bits.bitcast(tenth.dtype), tenth)
    assert Subject.of(ast, 1).run(Kernel.open(ast), Stage.PLAIN).outcome is Outcome.PASS


def test_an_infinity_of_unsure_sign_times_zero_is_not_judged():
    from kernelref.ir.dtype import HALF

    large = buffer(1, (64,), INT32).cast(HALF)
    product = (buffer(2, (64,), HALF) * 0.1) * large
    ast = kernel(product.maximum(1.0).apply(Op.LOG2))
    for seed in range(5):
        assert Subject.of(ast, seed).run(Kernel.open(ast), Stage.PLAIN).outcome is Outcome.PASS


def test_the_smallest_doubles_vanish_in_float():
    from kernelref.ir.dtype import DOUBLE, FLOAT, UINT64

    tiny = (buffer(1, (8,), UINT64) % 4).bitcast(DOUBLE).cast(FLOAT)
    ast = kernel(tiny + buffer(2, (8,)) * 0.1)
    subject = Subject.of(ast, 2)
    assert np.isfinite(subject.stored[0][1].bound).all()
    assert subject.run(Kernel.open(ast), Stage.PLAIN).outcome is Outcome.PASS
