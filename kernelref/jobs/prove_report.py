"""What `prove` found: counts and findings. `as_json` fixes the keys that docs/json.md explains."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from kernelref.cases.sources import in_order
from kernelref.jobs.prove_kernel import Finished
from kernelref.prove.certificate import verdict_to_json
from kernelref.prove.verdict import Answer

MOST_LEFT_OUT = 20
"""How many of those of which nothing was stated are told one by one."""


@dataclass(slots=True)
class ProveReport:
    """Counts over all kernels and sequences.

    `listed` counts the kernels that there are, `looked_at` those of the sample that were come to,
    `read` those of them that could be read. `kernels` counts (kernel, sequence) pairs of
    which obligations were stated; `left_out` those of which none were, by reason, and
    `ones_left_out` one by one. `engines` counts claims by the engine that proved them.
    """

    opts: str = "own"
    rules: str = "own"
    optimizer: str = "reference"
    seed: int = 0
    asked: tuple[str, ...] = ()
    listed: int = 0
    looked_at: int = 0
    read: int = 0
    kernels: int = 0
    answers: Counter[Answer] = field(default_factory=Counter)
    by_obligation: dict[str, Counter[str]] = field(default_factory=dict)
    engines: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    ones_left_out: list[dict[str, Any]] = field(default_factory=list)
    accepted_by_op: Counter[str] = field(default_factory=Counter)
    skipped_opts: Counter[str] = field(default_factory=Counter)
    differs: Counter[str] = field(default_factory=Counter)
    inherited: int = 0
    findings: list[dict[str, Any]] = field(default_factory=list)
    generalised: list[dict[str, Any]] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    index_times: list[float] = field(default_factory=list)
    seconds: float = 0.0
    stopped_early: bool = False
    interrupted: bool = False

    def add(self, done: Finished) -> None:
        """Count one kernel with one sequence."""
        self.skipped_opts.update(check for _, check in done.refused)
        if done.fault:
            self.faults.append(f"{done.kernel}: {done.fault}")
            return
        if done.reason:
            self._leave_out(done)
            return
        self.kernels += 1
        self.times.append(done.seconds)
        self.index_times.append(done.index_seconds)
        self.accepted_by_op.update(opt.op.value for opt in done.opts)
        self.generalised += [
            {
                "kernel": done.kernel,
                "opt": [found.opt.op.value, found.opt.axis, found.opt.amt],
                "condition": found.condition,
                "verdict": found.verdict.answer.value,
                "reason": found.verdict.reason,
            }
            for found in done.generalised
        ]
        if done.differs:
            self.differs[done.differs] += 1
        for verdict in done.verdicts:
            is_inherited = (verdict.step, verdict.obligation) in done.inherited
            self.inherited += is_inherited
            self.answers[verdict.answer] += 1
            held = self.by_obligation.setdefault(verdict.obligation.value, Counter())
            held[verdict.answer.value] += 1
            self.engines.update(verdict.engines)
            if verdict.answer is Answer.PROVED:
                continue
            if verdict.answer is Answer.UNSUPPORTED:
                self.reasons[verdict.reason.partition(":")[0]] += 1
            self.findings.append(
                {
                    "kernel": done.kernel,
                    "opts": [[opt.op.value, opt.axis, opt.amt] for opt in done.opts],
                    **verdict_to_json(verdict),
                    "blame": done.blame if verdict.answer is Answer.REFUTED else "",
                    "inherited": is_inherited,
                }
            )

    def _leave_out(self, done: Finished) -> None:
        self.left_out[done.reason] += 1
        self.ones_left_out.append(
            {
                "kernel": done.kernel,
                "opts": [[opt.op.value, opt.axis, opt.amt] for opt in done.opts],
                "reason": done.reason,
                "detail": done.detail,
            }
        )

    def sort(self, kernels: list[str]) -> None:
        """Tell everything in the order of the kernels, whichever was done first."""
        order = {name: i for i, name in enumerate(kernels)}
        for told in (self.findings, self.generalised, self.ones_left_out):
            told.sort(key=lambda one: order[one["kernel"]])
        self.faults = in_order(self.faults)
        self.unreadable = in_order(self.unreadable)

    @property
    def obligations(self) -> int:
        """How many there were."""
        return sum(self.answers.values())

    @property
    def refuted(self) -> int:
        """How many are refuted."""
        return self.answers[Answer.REFUTED]

    @property
    def unproved(self) -> int:
        """How many are neither proved nor refuted; one of a kernel left out counts once."""
        open_ones = self.answers[Answer.UNKNOWN] + self.answers[Answer.UNSUPPORTED]
        return open_ones + sum(self.left_out.values())

    def as_json(self) -> dict[str, Any]:
        """The object that `prove --json` prints."""
        return {
            "verb": "prove",
            "optimizer": self.optimizer,
            "opts": self.opts,
            "rules": self.rules,
            "seed": self.seed,
            "asked": list(self.asked),
            "listed": self.listed,
            "looked_at": self.looked_at,
            "read": self.read,
            "kernels": self.kernels,
            "obligations": self.obligations,
            "proved": self.answers[Answer.PROVED],
            "refuted": self.refuted,
            "unknown": self.answers[Answer.UNKNOWN],
            "unsupported": self.answers[Answer.UNSUPPORTED],
            "unsupported_reasons": dict(sorted(self.reasons.items())),
            "inherited": self.inherited,
            "differs": dict(sorted(self.differs.items())),
            "left_out": dict(sorted(self.left_out.items())),
            "left_out_first": self.ones_left_out[:MOST_LEFT_OUT],
            "by_obligation": {k: dict(sorted(v.items())) for k, v in self.by_obligation.items()},
            "engines": dict(sorted(self.engines.items())),
            "median_ms": _ms(median(self.times)) if self.times else 0.0,
            "index_median_ms": _ms(median(self.index_times)) if self.index_times else 0.0,
            "p99_ms": _ms(quantile(self.times, 0.99)) if self.times else 0.0,
            "accepted_by_op": dict(sorted(self.accepted_by_op.items())),
            "skipped_opts": dict(sorted(self.skipped_opts.items())),
            "seconds": round(self.seconds, 3),
            "stopped_early": self.stopped_early,
            "interrupted": self.interrupted,
            "unreadable": list(self.unreadable),
            "faults": list(self.faults),
            "generalised": list(self.generalised),
            "findings": list(self.findings),
        }


def quantile(values: list[float], part: float) -> float:
    """The value below which this part of them lies."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))]


def _ms(seconds: float) -> float:
    return round(seconds * 1e3, 3)
