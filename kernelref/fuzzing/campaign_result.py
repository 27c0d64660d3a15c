"""What came of a case, in a few words, and what makes two findings the same."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field, replace
from typing import Any

from kernelref.cases.case import Case, Expect, dump_case, parse_case
from kernelref.fuzzing.campaign_check import Ending, Stage
from kernelref.opt.opt import Opt
from kernelref.run.outcome import Outcome

FINE = frozenset({Outcome.PASS, Outcome.UNSUPPORTED, Outcome.REFUSED})
SAY_ENOUGH = frozenset({Outcome.BROKE, Outcome.BUILD_ERROR})


class Confirmed(enum.Enum):
    """What a release process that has served no other case says of a finding.

    FRESH: it shows there. HISTORY: it does not, so it depends on what the campaign's process had
    served before. UNSTEADY: the text is the same there and ended otherwise on the device. UNASKED:
    no release is under test, or no such process could be started.
    """

    UNASKED = "unasked"
    FRESH = "fresh"
    HISTORY = "history"
    UNSTEADY = "unsteady"


IN_WORDS = {Confirmed.HISTORY: ", only after other kernels", Confirmed.UNSTEADY: ", not every time"}


@dataclass(frozen=True, slots=True)
class CaseResult:
    """What came of a case. `case` is its text where it is a finding, or has still to run.

    `launches` are what devices have still to run, `not_run` those that cannot, each with its
    reason; `differs` is what a changed release did otherwise than the published one.

    Units: `points` counts iteration points, `seconds` wall time by stage.
    """

    number: int
    ending: Ending
    opts: tuple[Opt, ...] = ()
    refused: int = 0
    points: int = 0
    features: tuple[str, ...] = ()
    unproved: tuple[str, ...] = ()
    seconds: dict[str, float] = field(default_factory=dict)
    case: str = ""
    launches: tuple[Any, ...] = ()
    not_run: tuple[str, ...] = ()
    differs: tuple[str, ...] = ()
    confirmed: Confirmed = Confirmed.UNASKED

    @property
    def is_finding(self) -> bool:
        """Whether something is wrong, and the optimizer under test brought it."""
        return self.ending.outcome not in FINE and not self.ending.inherited

    @property
    def key(self) -> str:
        """What makes two findings the same: stage, outcome, reason and kinds of opts.

        The message of what fell over, or of a compiler, says enough without the opts. What does not
        show alone is not put down to its opts: nobody knows which of them it needs.
        """
        ending = self.ending
        reason = f" ({ending.reason})" if ending.reason else ""
        text = f"{ending.outcome.value}{reason} at {ending.stage.value}"
        if self.confirmed in IN_WORDS:
            return text + IN_WORDS[self.confirmed]
        if ending.outcome in SAY_ENOUGH and ending.reason and ending.stage is not Stage.OPTS:
            return text
        kinds = "+".join(sorted({opt.op.value for opt in self.opts})) or "no opts"
        return f"{text}: {kinds}"

    def ended(self, ending: Ending) -> CaseResult:
        """The same case with another ending, of which its text tells too."""
        if not self.case:
            return replace(self, ending=ending)
        before = parse_case(self.case)
        case = retold(before, ending)
        if self.confirmed in IN_WORDS:
            case = replace(case, title=case.title + IN_WORDS[self.confirmed], expect=before.expect)
        return replace(self, ending=ending, case=dump_case(case))

    def marked(self, confirmed: Confirmed, alone: Outcome) -> CaseResult:
        """The finding with what a process that has served no other case says of it.

        Its case's title says so too where that is not FRESH, and expects `alone`, which is how the
        case ended there: a case file is tried alone.
        """
        if confirmed not in IN_WORDS or not self.case:
            return replace(self, confirmed=confirmed)
        case = parse_case(self.case)
        title = case.title + IN_WORDS[confirmed]
        case = replace(case, title=title, expect=Expect(None, alone.value))
        return replace(self, confirmed=confirmed, case=dump_case(case))


def retold(case: Case, ending: Ending) -> Case:
    """The case with a title, origin and expectation that are this ending's."""
    origin = case.origin.partition(": ")[0]
    return replace(
        case,
        title=f"{ending.outcome.value} at {ending.stage.value}",
        origin=f"{origin}: {ending.detail}" if ending.detail else origin,
        expect=Expect(None, ending.outcome.value),
    )
