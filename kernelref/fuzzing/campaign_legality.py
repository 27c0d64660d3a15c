"""Legality from the other side: what happens when a refused opt is carried out all the same.

A check that refuses only what would go wrong is needed; one that refuses what comes out right is
over-strict there. One run is evidence, not proof, of the second.
"""

from __future__ import annotations

import enum
from collections import Counter
from dataclasses import dataclass, field, replace

from kernelref.errors import InvalidInput, KernelOptError
from kernelref.fuzzing.campaign_check import Stage, Subject
from kernelref.opt.kernel import Kernel
from kernelref.opt.opt import Opt, OptOps
from kernelref.run.outcome import Outcome

FALLS = (
    AssertionError, ArithmeticError, LookupError, TypeError, ValueError, InvalidInput,
)  # fmt: skip
"""How what a check keeps from happening fails, if there is nothing to carry out."""


class Need(enum.Enum):
    """What became of a refused opt without the check that refused it.

    NEEDED: a wrong result, a race, a trap. IMPOSSIBLE: there is nothing to carry out, such as an
    axis that does not exist. BEYOND: the kernel is one, but no device model holds it.
    OVER_STRICT: it came out right. ANOTHER: the next check refuses it too.
    """

    NEEDED = "needed"
    IMPOSSIBLE = "impossible"
    BEYOND = "beyond the device"
    OVER_STRICT = "over-strict"
    ANOTHER = "another check too"


@dataclass(slots=True)
class LegalityTable:
    """How often each check of each opt was needed. `counts[op, check, need]`."""

    counts: Counter[tuple[OptOps, str, Need]] = field(default_factory=Counter)

    def add(self, opt: Opt, check: str, need: Need) -> None:
        """One refusal looked at."""
        self.counts[opt.op, check, need] += 1

    def lines(self) -> list[str]:
        """The table as Markdown, one row a check."""
        head = [need.value for need in Need]
        rows = [f"| opt | check | {' | '.join(head)} |", "|---" * (2 + len(head)) + "|"]
        for op, check in sorted({(op, c) for op, c, _ in self.counts}, key=lambda r: str(r)):
            cells = [str(self.counts[op, check, need] or "") for need in Need]
            rows.append(f"| {op.value} | {check} | {' | '.join(cells)} |")
        return rows


def without_check(subject: Subject, kernel: Kernel, opt: Opt, check: str) -> Need:
    """Carry out `opt` on `kernel` with one check left out, and see what the result computes."""
    checks = dict(kernel.rules.checks)
    checks[opt.op] = tuple(kept for kept in checks.get(opt.op, ()) if kept.name != check)
    relaxed = replace(kernel, rules=replace(kernel.rules, checks=checks))
    try:
        answer = relaxed.attempt(opt)
    except FALLS:
        return Need.IMPOSSIBLE
    match answer:
        case Kernel():
            pass
        case KernelOptError():
            return Need.ANOTHER
        case _:
            return Need.BEYOND
    try:
        ending = subject.run(answer, Stage.OPTIMISED)
    except FALLS:
        return Need.IMPOSSIBLE
    match ending.outcome:
        case Outcome.PASS:
            return Need.OVER_STRICT
        case Outcome.UNSUPPORTED:
            return Need.BEYOND
    return Need.NEEDED
