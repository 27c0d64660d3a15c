"""The summary of `prove` for a person."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kernelref.jobs.prove import Checked
from kernelref.jobs.prove_report import ProveReport
from kernelref.report.text import columns, counts, duration, in_one_line, many

MOST_FINDINGS = 20
MOST_LEFT_OUT = 5
ANSWERS = ("PROVED", "REFUTED", "UNKNOWN", "UNSUPPORTED")


def summary(report: ProveReport) -> str:
    """What was proved, refuted and left open, by which engines, how fast."""
    return "\n".join(_lines(report.as_json()))


def _lines(found: dict[str, Any]) -> Iterator[str]:
    yield (
        f"{many(found['kernels'], 'kernel')}, {many(found['obligations'], 'obligation')} "
        f"in {duration(found['seconds'])}, opts {found['opts']}, {found['optimizer']}"
    )
    answers = {
        name: found[name.lower()] for name in ("PROVED", "REFUTED", "UNKNOWN", "UNSUPPORTED")
    }
    yield from counts(answers)
    if found["unsupported_reasons"]:
        yield f"unsupported: {in_one_line(found['unsupported_reasons'])}"
    if found["left_out"]:
        yield f"left out: {in_one_line(found['left_out'])}"
        yield from columns(map(_left_out, found["left_out_first"][:MOST_LEFT_OUT]))
    if found["differs"]:
        yield f"otherwise than the release: {in_one_line(found['differs'])}"
    if found["inherited"]:
        yield f"{found['inherited']:,} of the refuted: the release itself is refuted there too"
    yield f"claims by engine: {in_one_line(found['engines'])}"
    yield (
        f"a kernel: median {found['median_ms']:.1f} ms, index alone {found['index_median_ms']:.1f} "
        f"ms, 99th percentile {found['p99_ms']:.0f} ms"
    )
    if found["skipped_opts"]:
        yield f"opts refused and skipped: {in_one_line(found['skipped_opts'])}"
    if found["stopped_early"]:
        why = "interrupted" if found["interrupted"] else "the budget was spent"
        yield f"stopped early: {why}"
    for fault in found["faults"]:
        yield f"fault of kernelref: {fault}"
    for one in found["generalised"]:
        op, axis, amount = one["opt"]
        says = (
            "is right whenever" if one["verdict"] == "PROVED" else "unknown whether right whenever"
        )
        yield f"{one['kernel']}: {op}({axis}, {amount}) {says} {one['condition']}"
    findings = found["findings"]
    if findings:
        yield f"{len(findings):,} not proved:"
        yield from columns(map(_row, findings[:MOST_FINDINGS]))
        if len(findings) > MOST_FINDINGS:
            yield f"  and {len(findings) - MOST_FINDINGS:,} more (--json lists them all)"


def _left_out(one: dict[str, Any]) -> tuple[str, str]:
    return f"{one['kernel']} {_opts(one)}".strip(), one["detail"] or one["reason"]


def _opts(told: dict[str, Any]) -> str:
    return " ".join(f"{op}({axis}, {amt})" for op, axis, amt in told.get("opts", ()))


def _row(finding: dict[str, Any]) -> tuple[str, str, str]:
    where = f"{finding.get('kernel', '')} {finding['step']} {finding['obligation']}"
    where = f"{where} {_opts(finding)}".strip()
    blame = f"{finding['blame']}: " if finding.get("blame") else ""
    if finding.get("inherited"):
        blame = f"as the release itself: {blame}"
    return finding["verdict"], where, blame + (finding.get("witness") or finding.get("reason", ""))


def check_summary(checked: Checked) -> str:
    """What a certificate's check found."""
    found = checked.as_json()
    lines = [
        f"{many(found['obligations'], 'obligation')} derived again by {', '.join(found['asked'])}",
        *counts({name: found[name.lower()] for name in ANSWERS}),
        *(f"not as stated: {difference}" for difference in checked.differences),
        *columns(map(_row, found["findings"])),
    ]
    return "\n".join(lines)
