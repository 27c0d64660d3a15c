"""The engines `syntactic` and `digits` on claims: equal forms, and numbers written in mixed radix.

`syntactic` compares what the two routes wrote down, unsimplified; `digits` compares normal forms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kernelref.ir.index import (
    Binary,
    Expr,
    IndexOp,
    Sint,
    Var,
    add,
    lt,
    mul,
    polynomial,
    polynomial_sum,
    substitute,
    variables,
)
from kernelref.prove import digits
from kernelref.prove.claim import Claim, Everywhere, Fact, GaveUp, OneToOne, Proved, Result
from kernelref.prove.spans import span
from kernelref.prove.terms import Term, coordinates, raw, written

SYNTACTIC = "syntactic"


def term_lift(part: Sint) -> Any:
    """Symbolic parts as Terms."""
    return part if isinstance(part, int) else Term(part)


def facts_of(claim: Everywhere) -> Sequence[Fact]:
    """The facts of a claim about Terms."""
    return claim.facts(coordinates(claim), term_lift)


class Forms:
    """The facts of a claim as both engines here compare them, written down once when asked for."""

    def __init__(self, claim: Everywhere) -> None:
        self._claim = claim
        self._written: list[tuple[Fact, Sint, Sint, Sint]] | None = None

    def written(self) -> list[tuple[Fact, Sint, Sint, Sint]]:
        """Each fact with its expressions: where, left, right."""
        if self._written is None:
            self._written = [(fact, *written(fact)) for fact in facts_of(self._claim)]
        return self._written


def forms_of(claim: Claim) -> Forms | None:
    """The forms of a claim that has facts."""
    return Forms(claim) if isinstance(claim, Everywhere) else None


def syntactic(claim: Claim, forms: Forms | None = None) -> Result:
    """Equal as they are written."""
    if not isinstance(claim, Everywhere):
        return GaveUp(SYNTACTIC, "says nothing about keys")
    for fact, where, left, right in (forms or Forms(claim)).written():
        if where != 0 and left != right:
            return GaveUp(SYNTACTIC, f"{fact.says}: not written alike")
    return Proved(SYNTACTIC)


def by_digits(claim: Claim, forms: Forms | None = None) -> Result:
    """Equal normal forms, or keys that are numbers in a mixed radix."""
    if isinstance(claim, OneToOne):
        return _one_to_one(claim)
    for fact, where, left, right in (forms or Forms(claim)).written():
        if not _equal_where(where, left, right):
            return GaveUp(digits.ENGINE, f"{fact.says}: {left} and {right}")
    return Proved(digits.ENGINE)


def _equal_where(where: Sint, left: Sint, right: Sint) -> bool:
    is_condition = right == 1
    if _holds(left) if is_condition else digits.normal(left) == digits.normal(right):
        return True
    condition = digits.normal(where)
    if condition == 0:
        return True
    if is_condition:
        ranges, _ = digits.narrowings(condition)
        if ranges and _holds(substitute(left, ranges)):
            return True
        if digits.normal(left) == 1:
            return True
    return digits.assuming(condition, left) == digits.assuming(condition, right)


def _holds(condition: Sint) -> bool:
    """Whether a condition is seen to be 1 everywhere, part by part: no form is made of it."""
    match condition:
        case int():
            return condition == 1
        case Binary(IndexOp.LT, left, right):
            difference = add(digits.normal(left), mul(digits.normal(right), -1))
            return digits.negative(difference) == 1
        case Binary(IndexOp.AND, left, right):
            return _holds(left) and _holds(right)
        case _:
            return False


@dataclass(frozen=True, slots=True)
class Digit:
    """One axis in a key: its weight, and how many values it takes from `low` on."""

    axis: str
    weight: Sint
    low: Sint
    count: Sint


def _one_to_one(claim: OneToOne) -> Result:
    """Law: with weights w1 < w2 < ..., each above the sum of w*(count - 1) below it, no two digit
    strings give one number; with w1 = 1 and each w the product of the counts below it, every
    number below the product of all counts is given.
    """
    where, key = map(raw, claim.key(coordinates(claim), term_lift))
    condition = digits.normal(where)
    if condition == 0 and claim.onto is None:
        return Proved(digits.ENGINE)
    ranges, others = digits.narrowings(condition)
    read = _digits(claim, ranges, digits.normal(substitute(key, ranges)))
    if read is None:
        return GaveUp(digits.ENGINE, f"not linear: {key}")
    found, constant = read
    reach: Sint = 0
    for digit in found:
        above = span(add(digit.weight, mul(reach, -1)))[0]
        if above is None or above < 1:
            return GaveUp(digits.ENGINE, f"weights overlap in {key}")
        reach = add(reach, mul(digit.weight, add(digit.count, -1)))
    if claim.onto is None:
        return Proved(digits.ENGINE)
    lowest = add(constant, *(mul(digit.weight, digit.low) for digit in found))
    if digits.normal(lowest) != 0 or not _is_dense(found):
        return GaveUp(digits.ENGINE, f"keys are not dense in {key}")
    total = digits.normal(add(reach, 1))
    if not others:
        fills = total == digits.normal(claim.onto)
    else:
        below = digits.normal(substitute(lt(key, claim.onto), ranges))
        room = span(add(total, mul(claim.onto, -1)))[0]
        fills = [below] == others and room is not None and room >= 0
    if not fills:
        return GaveUp(digits.ENGINE, f"{total} keys under {condition} for {claim.onto}")
    return Proved(digits.ENGINE)


def _digits(claim: OneToOne, ranges: dict[str, Var], key: Sint) -> tuple[list[Digit], Sint] | None:
    """The digits of a key, by weight, and its constant; None when it is not linear in the axes."""
    found: list[Digit] = []
    for coordinate in coordinates(claim):
        if not isinstance(coordinate, Term):
            continue
        axis = coordinate.expr
        assert isinstance(axis, Var)
        now = ranges.get(axis.name, axis)
        low = now.low
        count = digits.normal(add(now.high, -low, 1))
        if count == 1:
            key = digits.normal(substitute(key, {axis.name: low}))
            continue
        split = _coefficient(key, axis.name)
        if split is None:
            return None
        weight, key = split
        found.append(Digit(axis.name, weight, low, count))
    if any(var.name.startswith("x.") for var in variables(key)):
        return None
    found.sort(key=lambda digit: span(digit.weight)[1] or 0)
    return found, key


def inverse_of(claim: OneToOne, key: Term) -> tuple[Any, ...] | None:
    """A guess at the point whose key this is: each axis as the digit of its weight."""
    where, written_key = map(raw, claim.key(coordinates(claim), term_lift))
    ranges, _ = digits.narrowings(digits.normal(where))
    read = _digits(claim, ranges, digits.normal(substitute(written_key, ranges)))
    if read is None:
        return None
    found, constant = read
    at: dict[str, Any] = {}
    above: Sint | None = None
    for digit in reversed(found):
        part = (key - constant) if above is None else (key - constant) % above
        at[digit.axis] = part // digit.weight + digit.low
        above = digit.weight
    axes = [c.expr if isinstance(c, Term) else c for c in coordinates(claim)]
    return tuple(
        at.get(axis.name, ranges.get(axis.name, axis).low) if isinstance(axis, Var) else axis
        for axis in axes
    )


def _coefficient(key: Sint, name: str) -> tuple[Sint, Sint] | None:
    """(w, rest) with key = w * x + rest and x in neither."""
    weight: list[tuple[tuple[Expr, ...], int]] = []
    rest: list[tuple[tuple[Expr, ...], int]] = []
    for monomial, c in polynomial(key):
        holds = [name in {var.name for var in variables(atom)} for atom in monomial]
        if not any(holds):
            rest.append((monomial, c))
            continue
        place = holds.index(True)
        atom = monomial[place]
        others = (*monomial[:place], *monomial[place + 1 :])
        if not isinstance(atom, Var) or any(holds[place + 1 :]):
            return None
        weight.append((others, c))
    return polynomial_sum(weight), polynomial_sum(rest)


def _is_dense(found: Sequence[Digit]) -> bool:
    """Whether each weight is the product of the counts below it."""
    product: Sint = 1
    for digit in found:
        if digits.normal(digit.weight) != digits.normal(product):
            return False
        product = mul(product, digit.count)
    return True
