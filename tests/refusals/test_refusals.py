"""Every check of every rule set has been seen to stop a request, and to let one through."""

from __future__ import annotations

import pytest

from kernelref.errors import KernelOptError
from kernelref.opt.broke import OptBroke
from kernelref.opt.kernel import Kernel
from kernelref.opt.legality import BESIDE_THE_TABLE
from kernelref.opt.opt import OptOps
from kernelref.opt.rules.sets import RULE_SETS
from tests.refusals.situations import NAMED_NOLOCALS, PASSING, REFUSING, Situation

CASES = [
    (rules.name, op, check.name, check.breaks)
    for rules in RULE_SETS.values()
    for op, checks in rules.checks.items()
    for check in checks
]
BESIDE = [
    (rules, OptOps.TC, extra.name, extra.breaks)
    for extra in BESIDE_THE_TABLE
    if extra.op is OptOps.TC
    for rules in extra.rule_sets
]


def passing(rules: str, op: OptOps, check: str) -> Situation:
    """A request that this very check looks at and lets through."""
    if op is OptOps.NOLOCALS and rules != "sound" and check not in (
        "locals-to-switch-off", "no-locals-yet"
    ):  # fmt: skip
        return NAMED_NOLOCALS
    return PASSING[op]


@pytest.mark.parametrize(("rules", "op", "check", "breaks"), CASES + BESIDE)
def test_a_check_refuses(rules: str, op: OptOps, check: str, breaks: bool) -> None:
    assert check in REFUSING, f"no situation in which {check} refuses"
    situation = REFUSING[check](op, RULE_SETS[rules])
    kernel = situation.kernel(RULE_SETS[rules])
    answer = kernel.attempt(situation.opt)
    assert isinstance(answer, OptBroke if breaks else KernelOptError), answer
    assert answer.check == check
    assert answer.opt == situation.opt


@pytest.mark.parametrize(("rules", "op", "check", "breaks"), CASES + BESIDE)
def test_a_check_lets_pass(rules: str, op: OptOps, check: str, breaks: bool) -> None:
    situation = passing(rules, op, check)
    before = situation.kernel(RULE_SETS[rules])
    after = before.attempt(situation.opt)
    assert isinstance(after, Kernel), after
    assert after.applied_opts == (*before.applied_opts, situation.opt)


@pytest.mark.parametrize("rules", RULE_SETS.values(), ids=str)
def test_an_op_that_does_not_exist_is_refused(rules) -> None:
    missing = [op for op in OptOps if op not in rules.checks]
    for op in missing:
        answer = PASSING[op].kernel(rules).attempt(PASSING[op].opt)
        assert isinstance(answer, KernelOptError)
        assert answer.check == "op-exists"
    assert {"sound": set(), "tinygrad-0.8.0": {OptOps.TC}}.get(
        rules.name, {OptOps.LASTLOCAL}
    ) == set(missing)


@pytest.mark.parametrize(("rules", "op", "check", "breaks"), CASES[:3])
def test_the_sentence_says_what_was_found_and_needed(rules, op, check, breaks) -> None:
    situation = REFUSING[check](op, RULE_SETS[rules])
    answer = situation.kernel(RULE_SETS[rules]).attempt(situation.opt)
    assert isinstance(answer, KernelOptError)
    assert str(answer.found) in str(answer)
    assert str(answer.needed) in str(answer)
