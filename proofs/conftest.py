"""The last lines of `pytest proofs/`: how many theorems and twins were proved, refuted, unknown."""

from __future__ import annotations

from collections import Counter

import pytest

from proofs.theorem import PROPERTY


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Count what the tests have said, those of other worker processes too."""
    found: Counter[str] = Counter()
    names: list[str] = []
    for reports in terminalreporter.stats.values():
        for report in reports:
            if getattr(report, "when", None) != "call":
                continue
            for key, value in report.user_properties:
                if key == PROPERTY:
                    name, answer = value
                    kind = "twins" if name.startswith("twin of ") else "theorems"
                    found[f"{kind} {answer}"] += 1
                    if answer == "UNKNOWN":
                        names.append(name)
    if not found:
        return
    said = ", ".join(
        f"{count} {kind} {answer.lower()}"
        for (kind, answer), count in sorted((key.split(), n) for key, n in found.items())
    )
    terminalreporter.write_line(f"proofs: {said}")
    for name in names:
        terminalreporter.write_line(f"  unknown: {name}")
