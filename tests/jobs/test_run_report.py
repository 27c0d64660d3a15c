from __future__ import annotations

import pytest

from kernelref.jobs.run_report import Ending, Pair, RunReport
from kernelref.opt.opt import Opt, OptOps
from kernelref.run.outcome import Outcome

FINE = {Outcome.PASS, Outcome.REFUSED, Outcome.UNSUPPORTED}
UPCAST = Opt(OptOps.UPCAST, 0, 4)
PADTO = Opt(OptOps.PADTO, 1, 32)


@pytest.mark.parametrize("outcome", list(Outcome))
def test_whatever_is_not_fine_is_a_finding(outcome):
    report = RunReport()
    report.add(Ending(Pair("k", "pocl"), outcome))
    assert len(report.findings) == (outcome not in FINE)
    assert report.outcomes == {outcome.value: 1}


def test_a_failure_that_its_case_expects_is_counted_and_no_finding():
    report = RunReport()
    report.add(Ending(Pair("k", "pocl", expects="WRONG_VALUE"), Outcome.WRONG_VALUE))
    report.add(Ending(Pair("k", "pocl", expects="WRONG_VALUE"), Outcome.CRASH))
    report.add(Ending(Pair("k", "pocl", expects="PASS"), Outcome.PASS))
    assert report.expected == 1
    assert [ending.outcome for ending in report.findings] == [Outcome.CRASH]


def test_opts_are_counted_by_op_and_refusals_by_check():
    report = RunReport()
    pair = Pair("k", "pocl", (UPCAST, UPCAST), ((PADTO, "something-to-pad"),))
    report.add(Ending(pair, Outcome.PASS, outputs_checked=3, outputs_total=5))
    report.add(Ending(pair, Outcome.UNSUPPORTED, reason="images"))
    assert report.accepted_by_op == {"UPCAST": 4}
    assert report.skipped_opts == {"something-to-pad": 2}
    assert report.unsupported == {"images": 1}
    assert (report.outputs_checked, report.outputs_total) == (3, 5)


def test_nothing_ran_when_all_is_unsupported_or_refused():
    report = RunReport()
    for outcome in (Outcome.UNSUPPORTED, Outcome.REFUSED, Outcome.HARNESS_ERROR):
        report.add(Ending(Pair("k", "pocl"), outcome))
    assert report.executed == 0
    assert report.harness_errors == 1
    report.add(Ending(Pair("k", "pocl"), Outcome.PASS))
    assert report.executed == 1
