from __future__ import annotations

import pytest

from kernelref.cli.exits import Exit, exit_for


@pytest.mark.parametrize(
    ("harness_errors", "findings", "unproved", "executed", "expected"),
    [
        (1, 1, 1, 0, Exit.HARNESS),
        (0, 1, 1, 0, Exit.FINDING),
        (0, 0, 1, 0, Exit.UNPROVED),
        (0, 0, 0, 0, Exit.NOTHING_DONE),
        (0, 0, 0, 1, Exit.CLEAN),
    ],
)
def test_the_first_that_applies_wins(harness_errors, findings, unproved, executed, expected):
    code = exit_for(
        harness_errors=harness_errors, findings=findings, unproved=unproved, executed=executed
    )
    assert code is expected
