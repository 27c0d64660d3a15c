"""Theorems for all sizes, each with a broken twin that must be refuted.

A theorem is a list of claims whose extents, strides and amounts are variables. It is proved by the
same engines as any kernel's obligations, over the real movement ops and axis maps. Its twin has a
fault in it, and must be REFUTED with a witness: a theorem that cannot fail says nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import pytest

from kernelref.prove.portfolio import DEFAULT
from kernelref.prove.verdict import Answer, Obligation, Part, judge

KNOWN_UNKNOWNS = Path(__file__).with_name("known_unknowns.txt")
PROPERTY = "proof"
"""Under this name a test says what became of a theorem; `conftest` counts them."""

Statement = Callable[[], Iterable[Part]]


@dataclass(frozen=True)
class Theorem:
    """What holds for all sizes, and what a fault makes of it. `name` says it in words."""

    name: str
    holds: Statement
    twin: Statement
    obligation: Obligation = Obligation.INDEX


def known_unknowns() -> dict[str, str]:
    """The theorems that may be unknown, each with its reason: lines of `name: reason`."""
    lines = KNOWN_UNKNOWNS.read_text(encoding="utf-8").splitlines()
    listed = [line.partition(": ") for line in lines if line and not line.startswith("#")]
    return {name: reason for name, _, reason in listed}


def settle(theorem: Theorem, record: Callable[[str, object], None] | None = None) -> None:
    """Prove the theorem and refute its twin; fail where either does not come out so."""
    note = (lambda _name, _value: None) if record is None else record
    proved = judge(theorem.name, theorem.obligation, theorem.holds(), DEFAULT)
    note(PROPERTY, (theorem.name, proved.answer.value))
    expected_unknown = known_unknowns().get(theorem.name)
    if proved.answer is Answer.UNKNOWN and expected_unknown is not None:
        pytest.skip(f"known to be unknown: {expected_unknown}")
    assert proved.answer is Answer.PROVED, str(proved)
    assert expected_unknown is None, f"{theorem.name} is proved; known_unknowns.txt still lists it"
    broken = judge(f"twin of {theorem.name}", theorem.obligation, theorem.twin(), DEFAULT)
    note(PROPERTY, (f"twin of {theorem.name}", broken.answer.value))
    assert broken.answer is Answer.REFUTED, str(broken)
    assert broken.witness is not None
