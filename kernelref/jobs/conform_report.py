"""What `conform` found, as counts and findings; `as_json` fixes the keys that docs/json.md has."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from kernelref.jobs.conform_compare import Difference
from kernelref.opt.opt import Opt
from kernelref.optimizers.interface import Accepted, Answer, Broke, Refused

MOST_FINDINGS = 200


@dataclass(frozen=True, slots=True)
class Finding:
    """One difference that no deviation explains, with all that replays it.

    `how` is the heuristics' name, or `opt` when `opts[-1]` was asked for after the ones before it.
    """

    kernel: str
    limits: str
    how: str
    opts: tuple[Opt, ...]
    difference: Difference

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "kernel": self.kernel,
            "limits": self.limits,
            "how": self.how,
            "opts": [[opt.op.value, opt.axis, opt.amt] for opt in self.opts],
            "what": self.difference.what,
            "buffer": self.difference.buffer,
            "reference": self.difference.reference,
            "release": self.difference.release,
        }


@dataclass(slots=True)
class ConformReport:
    """Counts over all kernels and steps.

    `listed` counts the kernels that there are, `read` those that were looked at, and `kernels`
    those compared under all limits; `hand_coded_equal` (and `engine_equal`)
    those whose opts and state after the heuristics agree under each of them. A step is one opt
    asked of both; it is equal when nothing differs. `traces` counts, by answer, refusals and
    breakages after which the release's kernel was not as before.
    """

    optimizer: str
    rules: str
    limits: tuple[str, ...]
    seed: int
    listed: int = 0
    read: int = 0
    kernels: int = 0
    unopened: int = 0
    hand_coded_equal: int = 0
    engine_equal: int = 0
    sequences: int = 0
    steps: int = 0
    steps_equal: int = 0
    accepted: int = 0
    broke: int = 0
    seconds: float = 0.0
    interrupted: bool = False
    accepted_by_op: Counter[str] = field(default_factory=Counter)
    refused_by_check: Counter[str] = field(default_factory=Counter)
    broke_by_check: Counter[str] = field(default_factory=Counter)
    traces: Counter[str] = field(default_factory=Counter)
    deviations: Counter[str] = field(default_factory=Counter)
    unsupported: Counter[str] = field(default_factory=Counter)
    unreadable: list[str] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    findings_total: int = 0

    def step(self, opt: Opt, reference: Answer, release: Answer) -> None:
        """Count one step whose answers agree."""
        self.steps_equal += 1
        match reference:
            case Accepted():
                self.accepted += 1
                self.accepted_by_op[opt.op.value] += 1
            case Refused(check=check, reason=reason):
                self.refused_by_check[check or reason] += 1
            case Broke(check=check, kind=kind):
                self.broke += 1
                self.broke_by_check[check or kind] += 1
        if isinstance(release, Refused) and release.changed:
            self.traces["refused"] += 1
        if isinstance(release, Broke) and release.changed:
            self.traces["broke"] += 1

    def found(self, finding: Finding) -> None:
        """Count a finding; keep the first ones whole."""
        self.findings_total += 1
        if len(self.findings) < MOST_FINDINGS:
            self.findings.append(finding)

    def as_json(self) -> dict[str, Any]:
        """The object that `conform --json` prints."""
        return {
            "verb": "conform",
            "optimizer": self.optimizer,
            "rules": self.rules,
            "limits": list(self.limits),
            "seed": self.seed,
            "listed": self.listed,
            "read": self.read,
            "kernels": self.kernels,
            "unopened": self.unopened,
            "hand_coded_equal": self.hand_coded_equal,
            "engine_equal": self.engine_equal,
            "sequences": self.sequences,
            "steps": self.steps,
            "steps_equal": self.steps_equal,
            "accepted": self.accepted,
            "broke": self.broke,
            "accepted_by_op": dict(sorted(self.accepted_by_op.items())),
            "refused_by_check": dict(sorted(self.refused_by_check.items())),
            "broke_by_check": dict(sorted(self.broke_by_check.items())),
            "traces": dict(sorted(self.traces.items())),
            "deviations": dict(sorted(self.deviations.items())),
            "unsupported": dict(sorted(self.unsupported.items())),
            "unreadable": list(self.unreadable),
            "findings_total": self.findings_total,
            "findings": [finding.as_json() for finding in self.findings],
            "seconds": round(self.seconds, 3),
            "interrupted": self.interrupted,
        }
