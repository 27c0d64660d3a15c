"""The summary of `fuzz` for a person."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kernelref.report.text import columns, counts, duration, in_one_line

MOST_FINDINGS = 20


def summary(report: dict[str, Any]) -> str:
    """Cases, outcomes, features, and what was found."""
    return "\n".join(_lines(report))


def _lines(report: dict[str, Any]) -> Iterator[str]:
    yield (
        f"{report['cases']:,} cases of {report['optimizer']}, {report['new_cases']:,} of them now "
        f"in {duration(report['seconds'])} ({report['cases_per_second']:.1f}/s)"
    )
    yield from counts(report["outcomes"])
    if report["unsupported"]:
        yield f"unsupported: {in_one_line(report['unsupported'])}"
    if report["unproved"]:
        yield f"not proved: {in_one_line(report['unproved'])}"
    yield (
        f"median case: {report['median_points']:,} iteration points, "
        f"{report['median_opts']} accepted opts"
    )
    yield f"features: {report['features']:,}, and {report['feature_pairs']:,} pairs of them"
    if report["stopped_early"]:
        why = "interrupted" if report["interrupted"] else "the budget was spent"
        yield f"stopped: {why}"
    if report["findings"]:
        yield f"{report['findings_total']:,} kinds of findings:"
        yield from columns(
            (str(found["first_case"]), f"{found['cases']:,} cases", found["kind"])
            for found in report["findings"][:MOST_FINDINGS]
        )
