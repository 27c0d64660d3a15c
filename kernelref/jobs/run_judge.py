"""How a pair ended: what the device said of the launch, then the comparison with the oracle."""

from __future__ import annotations

from dataclasses import replace

from kernelref.jobs.run_prepare import CONTRACTS, Ready, failed
from kernelref.jobs.run_report import Ending
from kernelref.run.job import LaunchResult
from kernelref.run.outcome import Outcome
from kernelref.run.tolerance import judge


def judged(ready: Ready, result: LaunchResult) -> Ending:
    """How a pair ended: the device's fault, or the comparison with the oracle.

    A comparison that falls over is this pair's HARNESS_ERROR; the others go on.
    """
    try:
        return _judged(ready, result)
    except Exception as error:
        return failed(ready.pair, error)


def _judged(ready: Ready, result: LaunchResult) -> Ending:
    ending = Ending(
        ready.pair,
        Outcome.PASS,
        contract=CONTRACTS[ready.rung],
        outputs_total=sum(e.total for e in ready.expected),
        points=ready.points,
        is_partial=ready.launch.ranges is not None,
    )
    if result.fault is Outcome.UNSUPPORTED:
        return replace(ending, outcome=result.fault, detail=result.detail, reason="device")
    if result.fault is not None:
        return replace(ending, outcome=result.fault, detail=result.detail)
    checked = 0
    for expected in ready.expected:
        got = result.outputs.get(expected.number)
        if got is None:
            detail = f"the kernel takes no buffer {expected.number}, which it is to store to"
            return replace(ending, outcome=Outcome.UNWRITTEN, detail=detail)
        if len(got) != len(expected.addresses):
            detail = f"{len(got)} outputs came back, {len(expected.addresses)} were asked for"
            return replace(ending, outcome=Outcome.HARNESS_ERROR, detail=detail)
        dtype = ready.dtype_of(expected.number)
        wrong = judge(got, expected.values, ready.rung, dtype)
        checked += len(got)
        if wrong is not None:
            place = int(expected.addresses[wrong.index])
            detail = f"buffer {expected.number} element {place}: {wrong}"
            return replace(ending, outcome=Outcome.WRONG_VALUE, detail=detail)
    return replace(ending, outputs_checked=checked)
