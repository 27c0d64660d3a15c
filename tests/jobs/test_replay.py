from __future__ import annotations

import pytest

from kernelref.cases.case import Expect
from kernelref.jobs.replay import why_not
from kernelref.jobs.run_report import Ending, Pair
from kernelref.run.outcome import Outcome

PAIR = Pair("k.json", "pocl")


@pytest.mark.parametrize(
    ("outcome", "reason", "expect", "is_right"),
    [
        (Outcome.PASS, "", Expect(), True),
        (Outcome.WRONG_VALUE, "", Expect(), False),
        (Outcome.WRONG_VALUE, "", Expect(outcome="WRONG_VALUE"), True),
        (Outcome.PASS, "", Expect(outcome="WRONG_VALUE"), False),
        (Outcome.REFUSED, "axis-type", Expect(), False),
        (Outcome.REFUSED, "axis-type", Expect(legal=False, outcome="REFUSED"), True),
        (Outcome.REFUSED, "axis-type", Expect(False, "REFUSED", "axis-type"), True),
        (Outcome.REFUSED, "amount", Expect(False, "REFUSED", "axis-type"), False),
        (Outcome.BROKE, "axis-type", Expect(False, "REFUSED", "axis-type"), False),
        (Outcome.PASS, "", Expect(legal=False, outcome="REFUSED"), False),
        (Outcome.REFUSED, "axis-type", Expect(legal=None), True),
        (Outcome.PASS, "", Expect(legal=None), True),
        (Outcome.CRASH, "", Expect(legal=None), False),
        (Outcome.HARNESS_ERROR, "", Expect(), False),
    ],
)
def test_an_ending_is_held_to_what_its_case_says(outcome, reason, expect, is_right):
    why = why_not(Ending(PAIR, outcome, reason=reason), expect)
    assert (why is None) == is_right, why
