"""A finding against a release, made again in a process of it that has served no other case.

A release keeps constants and views between the kernels of one process, so a fault may be one of the
cases before. What does not show again stays a finding, and says that it depends on them.
"""

from __future__ import annotations

from functools import partial

from kernelref.fuzzing.campaign_case import Attempt, guarded, new_attempt
from kernelref.fuzzing.campaign_release import release_ladder
from kernelref.fuzzing.campaign_result import CaseResult, Confirmed
from kernelref.optimizers.names import fresh_release
from kernelref.optimizers.process import WorkerError


def confirmed(attempt: Attempt, result: CaseResult) -> tuple[Attempt, CaseResult]:
    """The finding as a process made for it alone tells it; else as it was found, with all opts.

    Law: the case is made from its number once more; it is the same finding where the key is.
    """
    again = new_attempt(attempt.plan, attempt.number, attempt.steering)
    try:
        with fresh_release(attempt.plan.optimizer) as release:
            found = guarded(again, partial(release_ladder, release=release))
    except WorkerError:
        return attempt, result
    if found.key == result.key:
        return again, found.marked(Confirmed.FRESH, found.ending.outcome)
    if attempt.whole is not None:
        # That fewer opts fail alike is said by our copy of the release, which keeps nothing.
        attempt.kernel, ending = attempt.whole
        result = attempt.result(ending)
    return attempt, result.marked(Confirmed.HISTORY, found.ending.outcome)
