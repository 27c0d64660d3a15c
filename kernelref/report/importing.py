"""The summary of `import` for a person."""

from __future__ import annotations

from kernelref.jobs.import_log import ImportReport
from kernelref.report.text import in_one_line, many


def summary(report: ImportReport) -> str:
    """How many of the lines became cases, and what became of the others."""
    text = f"{many(len(report.cases), 'case')} of {many(report.lines, 'line')}"
    if report.unsupported:
        text += f"; unsupported: {in_one_line(report.unsupported)}"
    if report.unreadable:
        text += f"; unreadable: {len(report.unreadable):,}"
    return text
