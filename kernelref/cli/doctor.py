"""`kernelref doctor`: what is here, and what will be skipped and why."""

from __future__ import annotations

from kernelref.cli import options
from kernelref.cli.exits import Exit


def doctor(json: options.Json = False) -> Exit:
    """Say which devices, solvers and releases are here, and what will be skipped."""
    from kernelref.cli.output import print_json
    from kernelref.jobs.doctor import examine
    from kernelref.report.doctor import summary

    health = examine()
    if json:
        print_json(health.as_json())
    else:
        print(summary(health))
    return Exit.CLEAN
