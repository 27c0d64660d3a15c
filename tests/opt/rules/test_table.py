"""The records, and the rule sets made of them."""

from __future__ import annotations

import pickle

import pytest

from kernelref.opt.axis import AxisType
from kernelref.opt.opt import OptOps
from kernelref.opt.rules.record import PadRule, SplitRule
from kernelref.opt.rules.sets import RULE_SETS, SOUND
from kernelref.opt.rules.table import RULES


def test_every_op_has_one_record_of_its_name() -> None:
    assert set(RULES) == set(OptOps)
    assert all(rule.op is op for op, rule in RULES.items())


def test_records_are_told_apart_by_data() -> None:
    splits = [rule.family for rule in RULES.values() if isinstance(rule.family, SplitRule)]
    assert len(splits) == 7
    assert len(set(splits)) == 7


def test_the_sound_set_has_every_op() -> None:
    assert set(SOUND.checks) == set(OptOps)


@pytest.mark.parametrize("rules", RULE_SETS.values(), ids=str)
def test_check_names_are_unique_within_an_op(rules) -> None:
    for checks in rules.checks.values():
        names = [check.name for check in checks]
        assert len(set(names)) == len(names)


@pytest.mark.parametrize("rules", RULE_SETS.values(), ids=str)
def test_rule_sets_survive_pickling(rules) -> None:
    assert pickle.loads(pickle.dumps(rules)) == rules


def test_no_rule_takes_what_is_in_registers_already() -> None:
    for rule in RULES.values():
        if isinstance(rule.family, SplitRule | PadRule):
            assert not rule.family.takes & {AxisType.UPCAST, AxisType.UNROLL}
