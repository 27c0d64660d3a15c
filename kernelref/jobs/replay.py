"""`kernelref replay`: stored cases are run, and each must end as it says."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from kernelref.cases.case import Expect
from kernelref.cases.sources import KernelSource, kernels
from kernelref.errors import InvalidInput
from kernelref.jobs.progress import Progress, silent
from kernelref.jobs.run import RunRequest, run_kernels
from kernelref.jobs.run_report import Ending
from kernelref.run.outcome import Outcome

STOPPED = frozenset({Outcome.REFUSED, Outcome.BROKE})


@dataclass(frozen=True, slots=True)
class Failure:
    """A case that ended in another way than it says, and why that is wrong."""

    ending: Ending
    expect: Expect
    reason: str


@dataclass(slots=True)
class ReplayReport:
    """Counts over all (case, device) pairs."""

    devices: tuple[str, ...]
    cases: int = 0
    as_expected: int = 0
    harness_errors: int = 0
    interrupted: bool = False
    outcomes: Counter[str] = field(default_factory=Counter)
    unsupported: Counter[str] = field(default_factory=Counter)
    failures: list[Failure] = field(default_factory=list)

    @property
    def failed(self) -> int:
        """Pairs that did not end as their case says."""
        return len(self.failures)

    @property
    def executed(self) -> int:
        """Pairs about which something was learned."""
        return self.as_expected + self.failed

    def as_json(self) -> dict[str, Any]:
        """The object that `replay --json` prints."""
        return {
            "verb": "replay",
            "devices": list(self.devices),
            "cases": self.cases,
            "as_expected": self.as_expected,
            "failed": self.failed,
            "interrupted": self.interrupted,
            "outcomes": dict(sorted(self.outcomes.items())),
            "unsupported": dict(sorted(self.unsupported.items())),
            "failures": [
                {
                    "case": failure.ending.pair.kernel,
                    "device": failure.ending.pair.device,
                    "expected": failure.expect.outcome,
                    "outcome": failure.ending.outcome.value,
                    "reason": failure.reason,
                    "detail": failure.ending.detail,
                }
                for failure in self.failures
            ],
        }


def replay_cases(
    specs: tuple[str, ...], devices: tuple[str, ...], progress: Progress = silent
) -> ReplayReport:
    """Run cases with their own opts and rules, and hold each to its `expect`.

    A line of a text dump expects a PASS. Raises: InvalidInput, DeviceError.
    """
    expects = _expects(specs)
    report = ReplayReport(devices, cases=len(expects))

    def watch(ending: Ending) -> None:
        expect = expects[ending.pair.kernel]
        report.outcomes[ending.outcome.value] += 1
        if ending.outcome is Outcome.UNSUPPORTED and expect.outcome != Outcome.UNSUPPORTED.value:
            report.unsupported[ending.reason] += 1
            return
        report.harness_errors += ending.outcome is Outcome.HARNESS_ERROR
        reason = why_not(ending, expect)
        if reason is None:
            report.as_expected += 1
        else:
            report.failures.append(Failure(ending, expect, reason))

    request = RunRequest(kernels=specs, devices=devices, is_strict=True)
    report.interrupted = run_kernels(request, progress, watch).interrupted
    return report


def why_not(ending: Ending, expect: Expect) -> str | None:
    """Why an ending is not what a case says, or None when it is."""
    stopped = ending.outcome in STOPPED
    if stopped and expect.legal is True:
        return f"an opt that must be legal was stopped by {ending.reason}"
    if stopped and expect.check is not None and ending.reason != expect.check:
        return f"stopped by {ending.reason}, not by {expect.check}"
    if not stopped and expect.legal is False:
        return "an opt that must be refused was accepted"
    if stopped and expect.legal is None:
        return None
    if ending.outcome.value != expect.outcome:
        return f"ended in {ending.outcome.value}, not in {expect.outcome}"
    return None


def _expects(specs: tuple[str, ...]) -> dict[str, Expect]:
    found: dict[str, Expect] = {}
    for source in kernels(specs):
        if not isinstance(source, KernelSource):
            raise InvalidInput(str(source.error))
        found[str(source.place)] = source.case.expect if source.case else Expect()
    return found
