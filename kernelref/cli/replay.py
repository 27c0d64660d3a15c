"""`kernelref replay`: one case, held to what it says must happen."""

from __future__ import annotations

from kernelref.cli import options
from kernelref.cli.exits import Exit, exit_for


def replay(
    cases: options.CaseFiles,
    device: options.Devices = None,
    json: options.Json = False,
) -> Exit:
    """Run stored cases and compare how each ends with what it expects."""
    from kernelref.cli.output import print_json
    from kernelref.cli.progress import progress
    from kernelref.jobs.replay import replay_cases
    from kernelref.report.run import replay_summary

    with progress("replay") as report_progress:
        report = replay_cases(tuple(cases), options.once(device, ("pocl",)), report_progress)
    if json:
        print_json(report.as_json())
    else:
        print(replay_summary(report))
    if report.interrupted:
        raise KeyboardInterrupt
    return exit_for(
        harness_errors=report.harness_errors,
        findings=report.failed,
        unproved=0,
        executed=report.executed,
    )
