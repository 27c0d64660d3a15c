"""The summary of `run` for a person."""

from __future__ import annotations

from collections.abc import Iterator

from kernelref.jobs.replay import ReplayReport
from kernelref.jobs.run_report import Ending, RunReport
from kernelref.report.text import columns, counts, duration, in_one_line, many

MOST_FINDINGS = 20


def summary(report: RunReport) -> str:
    """What was read, how it ended, and what was found."""
    return "\n".join(_lines(report))


def _lines(report: RunReport) -> Iterator[str]:
    yield (
        f"{many(report.read, 'kernel')} read, {report.run:,} run on {', '.join(report.devices)} "
        f"in {duration(report.seconds)} ({report.per_second:.1f}/s), opts {report.opts}"
    )
    yield from counts(report.outcomes)
    if report.unsupported:
        yield f"unsupported: {in_one_line(report.unsupported)}"
    yield (
        f"outputs: {report.outputs_checked:,} of {report.outputs_total:,} compared; "
        f"contracts: {in_one_line(report.contracts)}"
    )
    if report.partial:
        yield f"{report.partial:,} of the launches ran some of their groups only"
    if report.accepted_by_op:
        yield f"opts applied: {in_one_line(report.accepted_by_op)}"
    if report.opts_asked > report.opts_applied:
        yield (
            f"{report.opts_applied:,} of {many(report.opts_asked, 'opt')} applied: refused because "
            f"{in_one_line(report.skipped_opts)}"
        )
        if report.not_as_asked:
            yield f"{report.not_as_asked:,} ran without any of the opts asked for"
    elif report.skipped_opts:
        yield f"opts refused and skipped: {in_one_line(report.skipped_opts)}"
    if report.stopped_early:
        why = "interrupted" if report.interrupted else "the budget was spent"
        yield f"stopped early: {why}"
    if report.inherited:
        yield f"{report.inherited:,} ended badly in what the published release does as well"
    if report.findings:
        yield f"{many(len(report.findings), 'finding')}:"
        yield from columns(_row(ending) for ending in report.findings[:MOST_FINDINGS])
        if len(report.findings) > MOST_FINDINGS:
            yield f"  and {len(report.findings) - MOST_FINDINGS:,} more (--json lists them all)"


def _row(ending: Ending) -> tuple[str, str, str]:
    return ending.outcome.value, str(ending.pair), ending.detail


def replay_summary(report: ReplayReport) -> str:
    """How many cases ended as they say, and each that did not."""
    lines = [
        f"{many(report.cases, 'case')} on {', '.join(report.devices)}: "
        f"{report.as_expected:,} as expected, {report.failed:,} not",
        *counts(report.outcomes),
    ]
    if report.unsupported:
        lines.append(f"unsupported: {in_one_line(report.unsupported)}")
    lines += columns((str(f.ending.pair), f.reason, f.ending.detail) for f in report.failures)
    return "\n".join(lines)
