"""What devices say of a changed release's text, told apart from what they say of the published."""

from __future__ import annotations

import pytest

from kernelref.fuzzing.campaign_check import Ending, Stage
from kernelref.fuzzing.campaign_result import CaseResult
from kernelref.jobs.fuzz_changed import finished_changed
from kernelref.jobs.run_report import PUBLISHED, Pair
from kernelref.jobs.run_report import Ending as Ran
from kernelref.run.outcome import Outcome

RIGHT, WRONG, TRAP = Outcome.PASS, Outcome.WRONG_VALUE, Outcome.TRAP


def ended(own: Outcome, published: Outcome, host: Outcome = RIGHT) -> CaseResult:
    """A case whose two texts ended so on one device."""
    result = CaseResult(0, Ending(Stage.OPTIMISED, host))
    texts = (Pair("0", "pocl"), own), (Pair("0", "pocl", base=PUBLISHED), published)
    return finished_changed(result, [Ran(pair, outcome) for pair, outcome in texts])


@pytest.mark.parametrize(
    ("own", "published", "outcome", "inherited"),
    [
        (RIGHT, RIGHT, RIGHT, False),
        (RIGHT, WRONG, RIGHT, False),
        (WRONG, WRONG, WRONG, True),
        (WRONG, RIGHT, WRONG, False),
        (WRONG, TRAP, WRONG, False),
    ],
)
def test_only_what_the_changed_text_does_is_told(
    own: Outcome, published: Outcome, outcome: Outcome, inherited: bool
) -> None:
    found = ended(own, published)
    assert (found.ending.outcome, found.ending.inherited) == (outcome, inherited)
    assert found.is_finding == (outcome is not RIGHT and not inherited)


def test_what_is_wrong_on_the_host_stays_so() -> None:
    found = ended(RIGHT, RIGHT, host=WRONG)
    assert (found.ending.stage, found.ending.outcome) == (Stage.OPTIMISED, WRONG)
    assert found.is_finding


def test_what_only_the_published_text_needs_of_a_device_is_not_counted() -> None:
    assert ended(RIGHT, Outcome.UNSUPPORTED).not_run == ()
    assert len(ended(Outcome.UNSUPPORTED, RIGHT).not_run) == 1
