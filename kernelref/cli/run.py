"""`kernelref run`: kernels on devices, compared with the oracle."""

from __future__ import annotations

from kernelref.cli import options
from kernelref.cli.exits import Exit, exit_for, unreadable


def run(
    kernels: options.Kernels,
    sample: options.Sample = None,
    seed: options.Seed = 0,
    opts: options.Opts = "own",
    rules: options.Rules = None,
    limits: options.LimitsName = None,
    optimizer: options.Optimizer = "reference",
    device: options.Devices = None,
    jobs: options.Jobs = None,
    budget: options.Budget = None,
    cases: options.Cases = None,
    json: options.Json = False,
) -> Exit:
    """Run kernels on a device and compare every output with the oracle."""
    from kernelref.cli.output import print_json
    from kernelref.cli.progress import progress
    from kernelref.jobs.duration import seconds
    from kernelref.jobs.run import RunRequest, run_kernels
    from kernelref.report.run import summary

    request = RunRequest(
        kernels=tuple(kernels),
        sample=sample,
        seed=seed,
        opts=opts,
        rules=rules,
        limits=limits,
        optimizer=optimizer,
        devices=options.once(device, ("pocl",)),
        jobs=jobs,
        budget=seconds(budget),
        cases=cases,
    )
    with progress("run") as report_progress:
        report = run_kernels(request, report_progress)
    if json:
        print_json(report.as_json())
    else:
        print(summary(report))
    if report.interrupted:
        raise KeyboardInterrupt
    if report.unreadable:
        return unreadable(report.unreadable, report.read + len(report.unreadable))
    return exit_for(
        harness_errors=report.harness_errors,
        findings=len(report.findings),
        unproved=0,
        executed=report.executed,
    )
