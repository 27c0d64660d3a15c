"""Verdicts, and the one place that says PROVED: `judge`.

An obligation is proved when every claim that it is made of was proved by an engine. A
counterexample is replayed with plain ints before anyone calls it a refutation; one that does not
replay is a fault of the engine, and an error of ours. What no engine can tell is UNKNOWN.
"""

from __future__ import annotations

import enum
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from kernelref.ir.index import Sint
from kernelref.prove.claim import (
    Claim,
    Counterexample,
    Everywhere,
    GaveUp,
    Missing,
    Proved,
    extents_at,
    lift_at,
)
from kernelref.prove.enumerate import enumerate_points
from kernelref.prove.portfolio import Portfolio

MOST_REPLAYED = 1 << 24
"""Points that are looked at to replay that a key is missing."""


class Answer(enum.Enum):
    """What is known of an obligation."""

    PROVED = "PROVED"
    REFUTED = "REFUTED"
    UNKNOWN = "UNKNOWN"
    UNSUPPORTED = "UNSUPPORTED"


class Obligation(enum.Enum):
    """What must hold of a step, or of the Program at its end."""

    BIJECTION = "bijection"
    INDEX = "index"
    REDUCTION = "reduction"
    PADDING = "padding"
    COVERAGE = "coverage"
    BOUNDS = "bounds"
    DOMAIN = "domain"
    RACES = "races"


@dataclass(frozen=True, slots=True)
class Witness:
    """Where it fails, replayed: what was expected there, and what was found."""

    subject: str
    says: str
    point: tuple[int, ...]
    expected: object
    found: object
    other: tuple[int, ...] | None = None
    values: tuple[tuple[str, int], ...] = ()

    def __str__(self) -> str:
        where = f"at {self.point}" + (f" and {self.other}" if self.other is not None else "")
        bound = "".join(f", {name} = {value}" for name, value in self.values)
        return f"{self.subject} {where}{bound}: {self.says}: {self.expected} and {self.found}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is known of one obligation of one step, and who found it.

    `engines` names the engine behind each claim. Units: `seconds`.
    """

    step: str
    obligation: Obligation
    answer: Answer
    engines: tuple[str, ...] = ()
    reason: str = ""
    witness: Witness | None = None
    seconds: float = field(default=0.0, compare=False)

    def __str__(self) -> str:
        what = f"{self.step} {self.obligation.value}: {self.answer.value}"
        return f"{what} ({self.witness or self.reason})" if self.witness or self.reason else what


class EngineFault(AssertionError):  # noqa: N818 - the field says fault
    """An engine's counterexample does not replay: what it says cannot be believed."""


@dataclass(frozen=True, slots=True)
class Failure:
    """What an analysis that is not a claim over a box found wrong, replayed already."""

    witness: Witness


@dataclass(frozen=True, slots=True)
class Open:
    """What an analysis cannot decide, or does not model (`is_unsupported`)."""

    reason: str
    is_unsupported: bool = False


@dataclass(frozen=True, slots=True)
class Shown:
    """What an analysis that is no claim over a box has looked at in full, by an engine's name."""

    engine: str
    subject: str


Plain = Claim | Failure | Open | Shown


@dataclass(frozen=True, slots=True)
class Readings:
    """Ways to read one thing, of which one must hold. A way is a guess, so what fails under it is
    no refutation; where none holds, `otherwise` says what follows from why the first does not."""

    ways: Iterable[Sequence[Plain]]
    otherwise: Callable[[Open], Failure | Open]


Part = Plain | Readings


def judge(
    step: str, obligation: Obligation, parts: Iterable[Part], portfolio: Portfolio
) -> Verdict:
    """The verdict on an obligation: proved when each of its parts is.

    Law: PROVED means that an engine of the portfolio proved or has shown every part.
    """
    begin = time.perf_counter()
    engines: list[str] = []
    open_part: Open | None = None

    def verdict(answer: Answer, reason: str = "", witness: Witness | None = None) -> Verdict:
        seconds = time.perf_counter() - begin
        return Verdict(step, obligation, answer, tuple(engines), reason, witness, seconds)

    for each in parts:
        part = _read(each, portfolio, engines) if isinstance(each, Readings) else each
        match part:
            case None:
                continue
            case Failure(witness):
                return verdict(Answer.REFUTED, witness=witness)
            case Open() | Shown():
                open_part = open_part or _left_open(part, portfolio, engines)
            case _:
                result = portfolio.decide(part)
                engines.append(result.engine)
                match result:
                    case Proved():
                        continue
                    case Counterexample():
                        return verdict(Answer.REFUTED, witness=replay(part, result))
                    case Missing() if is_missing(part, result):
                        return verdict(Answer.REFUTED, witness=_missing(part, result))
                    case Missing():
                        open_part = open_part or Open(f"{part.subject}: too many points to replay")
                    case GaveUp(_, reason):
                        open_part = open_part or Open(f"{part.subject}: {reason}")
    if open_part is not None:
        answer = Answer.UNSUPPORTED if open_part.is_unsupported else Answer.UNKNOWN
        return verdict(answer, open_part.reason)
    return verdict(Answer.PROVED)


def _read(readings: Readings, portfolio: Portfolio, engines: list[str]) -> Failure | Open | None:
    """None when every part of one way is proved; its engines are noted."""
    first: Open | None = None
    for way in readings.ways:
        used: list[str] = []
        for part in way:
            left = _left_open(part, portfolio, used)
            if left is not None:
                first = first or left
                break
        else:
            engines += used
            return None
    return readings.otherwise(first or Open("no reading"))


def _left_open(part: Plain, portfolio: Portfolio, used: list[str]) -> Open | None:
    """None when a part is proved."""
    match part:
        case Open():
            return part
        case Failure(witness):
            return Open(str(witness))
        case Shown(engine, subject):
            used.append(engine)
            return None if portfolio.has(engine) else Open(f"{subject}: {engine} is off")
        case _:
            result = portfolio.decide(part)
            used.append(result.engine)
            return None if isinstance(result, Proved) else Open(f"{part.subject}: {result}")


def replay(claim: Claim, found: Counterexample) -> Witness:
    """What goes wrong at a counterexample, computed with plain ints.

    Raises: EngineFault when nothing does.
    """
    lift = lift_at(found.values)
    shape = extents_at(claim.box, found.values)
    points = [found.point] if found.other is None else [found.point, found.other]
    bound = tuple(sorted(found.values.items()))
    if not all(_lies_in(point, shape) for point in points):
        raise EngineFault(f"{found} is outside the box of {claim.subject}")
    if isinstance(claim, Everywhere):
        for fact in claim.facts(found.point, lift):
            if fact.where and fact.left != fact.right:
                expected, seen = _plain(fact.right), _plain(fact.left)
                return Witness(claim.subject, fact.says, found.point, expected, seen, values=bound)
        raise EngineFault(f"{found} does not replay on {claim.subject}")
    onto = None if claim.onto is None else lift(claim.onto)
    (where, key), *second = [claim.key(point, lift) for point in points]
    if where and onto is not None and not 0 <= key < onto:
        return Witness(claim.subject, "a key out of range", found.point, onto, key, values=bound)
    if found.other != found.point and where and second and second[0] == (where, key):
        return Witness(
            claim.subject, "two points with one key", found.point, key, key, found.other, bound
        )
    raise EngineFault(f"{found} does not replay on {claim.subject}")


def is_missing(claim: Claim, found: Missing) -> bool:
    """Whether looking at every point confirms that a key is missing.

    Raises: EngineFault when no key is.
    """
    again = enumerate_points(claim, MOST_REPLAYED)
    if isinstance(again, Proved):
        raise EngineFault(f"{found} does not replay on {claim.subject}")
    return not isinstance(again, GaveUp)


def _missing(claim: Claim, found: Missing) -> Witness:
    """A key that no point has."""
    bound = tuple(sorted(found.values.items()))
    return Witness(claim.subject, "a key that no point has", (), found.key, None, values=bound)


def _lies_in(point: Sequence[int], shape: Sequence[int]) -> bool:
    return all(0 <= x < n for x, n in zip(point, shape, strict=True))


def _plain(value: Any) -> Sint | bool:
    """A number or a truth value as Python has it."""
    return bool(value) if isinstance(value, bool) else int(value)
