"""The summary of `conform` for a person."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kernelref.report.text import columns, duration, in_one_line, many

MOST_FINDINGS = 20


def summary(report: Mapping[str, Any]) -> str:
    """How many heuristics and steps agree, which differences are known, and the others."""
    return "\n".join(_lines(report))


def _lines(report: Mapping[str, Any]) -> Iterator[str]:
    yield (
        f"{report['optimizer']} against the rules {report['rules']}: "
        f"{many(report['read'], 'kernel')} read in {duration(report['seconds'])}, "
        f"limits {', '.join(report['limits'])}"
    )
    yield f"  {report['hand_coded_equal']:,} of {report['kernels']:,} hand-coded alike"
    yield f"  {report['engine_equal']:,} of {report['kernels']:,} alike in the engine's order"
    if report["steps"]:
        yield f"  {report['steps_equal']:,} of {many(report['steps'], 'step')} alike"
        yield f"accepted: {in_one_line(report['accepted_by_op'])}"
        yield f"refused: {in_one_line(report['refused_by_check'])}"
        yield f"broke: {in_one_line(report['broke_by_check'])}"
    for name in ("unsupported", "deviations"):
        if report[name]:
            yield f"{name}: {in_one_line(report[name])}"
    if report["interrupted"]:
        yield "stopped early: interrupted"
    if report["findings_total"]:
        yield f"{many(report['findings_total'], 'finding')}:"
        yield from columns(_row(finding) for finding in report["findings"][:MOST_FINDINGS])


def _row(finding: Mapping[str, Any]) -> tuple[str, ...]:
    differs = f"reference {finding['reference']}, release {finding['release']}"
    return finding["kernel"], finding["limits"], finding["how"], finding["what"], differs
