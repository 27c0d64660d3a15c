"""What `run` found, as counts and findings; `as_json` fixes the keys that docs/json.md explains."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from kernelref.opt.opt import Opt
from kernelref.run.outcome import Outcome

IDLE = frozenset({Outcome.UNSUPPORTED, Outcome.REFUSED, Outcome.HARNESS_ERROR})
FINE = frozenset({Outcome.PASS, Outcome.REFUSED, Outcome.UNSUPPORTED})
SAME, PUBLISHED = "same", "published"


@dataclass(frozen=True, slots=True)
class Pair:
    """One kernel (FILE:LINE or a case's path) with one sequence of opts on one device.

    `opts` were accepted, `refused` were not, each with the check that refused it. `expects` is the
    outcome that its case says it has. `asked` counts the opts of a list that was to be followed; 0
    where opts were chosen or drawn. `base`, of a changed release: SAME where the published one
    prints the same text, PUBLISHED where this is the published one's text.
    """

    kernel: str
    device: str
    opts: tuple[Opt, ...] = ()
    refused: tuple[tuple[Opt, str], ...] = ()
    expects: str = Outcome.PASS.value
    asked: int = 0
    base: str = ""

    @property
    def is_as_asked(self) -> bool:
        """Whether any opt of the list was applied; a case that expects a refusal asks for one."""
        wants_refusal = self.expects == Outcome.REFUSED.value
        return not self.asked or bool(self.opts) or wants_refusal

    def __str__(self) -> str:
        with_opts = "".join(f" {opt}" for opt in self.opts)
        return f"{self.kernel} on {self.device}{with_opts}"


@dataclass(frozen=True, slots=True)
class Ending:
    """How one pair ended.

    `reason` is the name under which UNSUPPORTED is counted, or the check behind REFUSED and BROKE.
    Units: outputs count elements, `points` iteration points of the kernel.
    """

    pair: Pair
    outcome: Outcome
    detail: str = ""
    reason: str = ""
    contract: str = ""
    outputs_checked: int = 0
    outputs_total: int = 0
    points: int = 0
    is_partial: bool = False

    @property
    def is_expected(self) -> bool:
        """Whether its case says that it ends so."""
        return self.outcome.value == self.pair.expects

    @property
    def is_finding(self) -> bool:
        """Whether it says something is wrong, be it with the kernel or with kernelref."""
        return self.outcome not in FINE and not self.is_expected and not self.is_inherited

    @property
    def is_inherited(self) -> bool:
        """Whether a changed release is wrong in what the published one does as well."""
        return self.outcome not in FINE and self.pair.base == SAME


@dataclass(slots=True)
class RunReport:
    """Counts over all pairs. `skipped_opts` counts by check the opts that were refused.

    `opts_asked` and `opts_applied` count opts of lists that were to be followed; `not_as_asked`
    pairs that ran though none of theirs was applied.
    """

    devices: tuple[str, ...] = ()
    opts: str = "none"
    rules: str = "sound"
    seed: int = 0
    read: int = 0
    run: int = 0
    pairs: int = 0
    partial: int = 0
    expected: int = 0
    inherited: int = 0
    opts_asked: int = 0
    opts_applied: int = 0
    not_as_asked: int = 0
    outputs_checked: int = 0
    outputs_total: int = 0
    seconds: float = 0.0
    stopped_early: bool = False
    interrupted: bool = False
    outcomes: Counter[str] = field(default_factory=Counter)
    unsupported: Counter[str] = field(default_factory=Counter)
    contracts: Counter[str] = field(default_factory=Counter)
    accepted_by_op: Counter[str] = field(default_factory=Counter)
    skipped_opts: Counter[str] = field(default_factory=Counter)
    findings: list[Ending] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)

    def add(self, ending: Ending) -> None:
        """Count one pair."""
        self.pairs += 1
        self.outcomes[ending.outcome.value] += 1
        self.outputs_checked += ending.outputs_checked
        self.outputs_total += ending.outputs_total
        self.partial += ending.is_partial
        self.expected += ending.is_expected and ending.outcome not in FINE
        self.inherited += ending.is_inherited
        if ending.pair.asked:
            self.opts_asked += ending.pair.asked
            self.opts_applied += len(ending.pair.opts)
        self.not_as_asked += ending.outcome not in IDLE and not ending.pair.is_as_asked
        if ending.contract:
            self.contracts[ending.contract] += 1
        self.accepted_by_op.update(opt.op.value for opt in ending.pair.opts)
        self.skipped_opts.update(check for _, check in ending.pair.refused)
        if ending.outcome is Outcome.UNSUPPORTED:
            self.unsupported[ending.reason] += 1
        if ending.is_finding:
            self.findings.append(ending)

    @property
    def harness_errors(self) -> int:
        """Faults of kernelref or of the device's driver, not of a kernel."""
        return self.outcomes[Outcome.HARNESS_ERROR.value]

    @property
    def executed(self) -> int:
        """Pairs that ran as asked and were compared, or failed in running."""
        idle = sum(self.outcomes[outcome.value] for outcome in IDLE)
        return self.pairs - idle - self.not_as_asked

    @property
    def per_second(self) -> float:
        """Pairs that ended, by wall time."""
        return self.pairs / self.seconds if self.seconds else 0.0

    def as_json(self) -> dict[str, Any]:
        """The object that `run --json` prints."""
        return {
            "verb": "run",
            "devices": list(self.devices),
            "opts": self.opts,
            "rules": self.rules,
            "seed": self.seed,
            "read": self.read,
            "run": self.run,
            "pairs": self.pairs,
            "partial": self.partial,
            "expected": self.expected,
            "inherited": self.inherited,
            "opts_asked": self.opts_asked,
            "opts_applied": self.opts_applied,
            "not_as_asked": self.not_as_asked,
            "outcomes": dict(sorted(self.outcomes.items())),
            "unsupported": dict(sorted(self.unsupported.items())),
            "contracts": dict(sorted(self.contracts.items())),
            "accepted_by_op": dict(sorted(self.accepted_by_op.items())),
            "skipped_opts": dict(sorted(self.skipped_opts.items())),
            "outputs_checked": self.outputs_checked,
            "outputs_total": self.outputs_total,
            "seconds": round(self.seconds, 3),
            "per_second": round(self.per_second, 3),
            "stopped_early": self.stopped_early,
            "interrupted": self.interrupted,
            "unreadable": list(self.unreadable),
            "findings": [_finding(ending) for ending in self.findings],
        }


def _finding(ending: Ending) -> dict[str, Any]:
    return {
        "kernel": ending.pair.kernel,
        "device": ending.pair.device,
        "opts": [[opt.op.value, opt.axis, opt.amt] for opt in ending.pair.opts],
        "outcome": ending.outcome.value,
        "detail": ending.detail,
        "contract": ending.contract,
        "outputs_checked": ending.outputs_checked,
        "outputs_total": ending.outputs_total,
    }
