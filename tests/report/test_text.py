"""A summary reads as a person would say it."""

from __future__ import annotations

import re

import pytest

from kernelref.jobs.conform_report import ConformReport
from kernelref.jobs.import_log import ImportReport
from kernelref.jobs.prove_report import ProveReport
from kernelref.jobs.replay import ReplayReport
from kernelref.jobs.run_report import Ending, Pair, RunReport
from kernelref.jobs.selftest import SelftestReport
from kernelref.report import conform, importing, prove, run, selftest
from kernelref.report.text import many
from kernelref.run.outcome import Outcome

PLURAL = re.compile(r"\b(1 \w*(?:kernel|case|finding|obligation|step|mutant|opt|line)s)\b")


def summaries(count: int) -> dict[str, str]:
    """What each verb says of `count` of everything."""
    ran = RunReport(devices=("interp",), read=count, opts_asked=count, pairs=count)
    ran.findings = count * [Ending(Pair("k", "interp"), Outcome.TRAP)]
    proved = ProveReport(kernels=count)
    compared = ConformReport("tinygrad==0.9.1", "tinygrad-0.9.1", ("opencl",), 0, read=count)
    compared.steps = compared.findings_total = count
    return {
        "run": run.summary(ran),
        "prove": prove.summary(proved),
        "conform": conform.summary(compared.as_json()),
        "replay": run.replay_summary(ReplayReport(("interp",), cases=count)),
        "import": importing.summary(ImportReport(lines=count, cases=count * ["k"])),
        "selftest": selftest.summary(SelftestReport()),
    }


@pytest.mark.parametrize("verb", sorted(summaries(1)))
def test_one_of_anything_is_no_plural(verb: str) -> None:
    assert PLURAL.findall(summaries(1)[verb]) == []
    assert re.search(r"\b[02] \w+s\b", summaries(0)[verb] + summaries(2)[verb])


def test_many() -> None:
    assert [many(n, "case") for n in (0, 1, 2, 1024)] == [
        "0 cases", "1 case", "2 cases", "1,024 cases",
    ]  # fmt: skip
