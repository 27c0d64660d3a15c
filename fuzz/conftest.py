"""Hypothesis profiles: `ci` when CI is set, else `dev`; HYPOTHESIS_PROFILE overrides both.

ci: derandomised, no deadline, no database. ci-without-shrinking: its examples, for planted faults.
dev: random, kept failures. nightly: random and long.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, Phase, settings

settings.register_profile(
    "ci",
    derandomize=True,
    deadline=None,
    database=None,
    max_examples=200,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "ci-without-shrinking",
    settings.get_profile("ci"),
    phases=(Phase.explicit, Phase.generate),
)
settings.register_profile("dev", deadline=None, max_examples=200)
settings.register_profile("nightly", deadline=None, max_examples=20_000)
settings.load_profile(
    os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "dev")
)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The table of refusals and the count of verdicts, where there are any."""
    from fuzz.harness import ANSWERS, LEGALITY

    if LEGALITY.counts:
        terminalreporter.section("refused opts, carried out without the check that refused them")
        terminalreporter.write_line("\n".join(LEGALITY.lines()))
    if ANSWERS:
        counts = ", ".join(f"{count} {answer}" for answer, count in sorted(ANSWERS.items()))
        terminalreporter.section("obligations of optimised kernels")
        terminalreporter.write_line(counts)
