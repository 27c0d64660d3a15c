"""Exit codes: what a script learns from a verb without reading its output.

The first that applies: 130 interrupted, 2 bad input, 3 harness or device error, 1 a finding,
4 unproved obligations, 5 nothing was executed or compared as asked, 0 clean. A failure and "done"
never share one.
"""

from __future__ import annotations

import enum
import sys
from collections.abc import Sequence

from kernelref.report.text import many


class Exit(enum.IntEnum):
    """What the process says when it ends."""

    CLEAN = 0
    FINDING = 1
    BAD_INPUT = 2
    HARNESS = 3
    UNPROVED = 4
    NOTHING_DONE = 5
    INTERRUPTED = 130


def unreadable(
    messages: Sequence[str], looked_at: int | None = None, listed: int | None = None
) -> Exit:
    """Name on stderr what could not be read; the exit code of that.

    Where that is known it says of how many, and whether there are more that nobody looked at.
    """
    for line in messages:
        print(f"kernelref: {line}", file=sys.stderr)
    if looked_at is not None:
        said = f"{len(messages):,} of {many(looked_at, 'kernel')} looked at cannot be read"
        more = f"; {listed:,} are there" if listed is not None and listed > looked_at else ""
        print(f"kernelref: {said}{more}", file=sys.stderr)
    return Exit.BAD_INPUT


def exit_for(*, harness_errors: int, findings: int, unproved: int, executed: int) -> Exit:
    """The exit code of work that came to its end, by how many of each there were."""
    if harness_errors:
        return Exit.HARNESS
    if findings:
        return Exit.FINDING
    if unproved:
        return Exit.UNPROVED
    return Exit.CLEAN if executed else Exit.NOTHING_DONE
