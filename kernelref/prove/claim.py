"""What is claimed of every point of a box, said once, so that each engine asks it its own way.

A claim's function is written over whatever stands for a number: ints (to replay one point), numpy
arrays (`enumerate`), or `Term`s that record index expressions (the other engines). What a
ShapeTracker and an axis map mean is asked of `ShapeTracker.address` and `AxisMap.apply` themselves,
so no engine has a reading of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, TypeAlias

from kernelref.ir.index import Sint, Var, bounds, evaluate, variables

Point: TypeAlias = Sequence[Any]
Lift: TypeAlias = Callable[[Sint], Any]
"""Gives a symbolic part (an extent, a stride) the value that it has in the numbers in use."""
Values: TypeAlias = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Fact:
    """`left` equals `right` wherever `where` holds; `says` names it for a person."""

    says: str
    where: Any
    left: Any
    right: Any


@dataclass(frozen=True, slots=True)
class Everywhere:
    """Every fact holds at every point of the box, for every value of the symbols.

    `reach` bounds every number that the facts compute with; None when it is not known.
    """

    subject: str
    box: tuple[Sint, ...]
    symbols: tuple[Var, ...]
    reach: int | None
    facts: Callable[[Point, Lift], Sequence[Fact]] = field(compare=False)


@dataclass(frozen=True, slots=True)
class OneToOne:
    """No two points of the box for which `where` holds have the same key.

    `key` gives (where, key). With `onto` the keys are exactly 0 .. onto - 1. `reach` as above.
    """

    subject: str
    box: tuple[Sint, ...]
    symbols: tuple[Var, ...]
    reach: int | None
    key: Callable[[Point, Lift], tuple[Any, Any]] = field(compare=False)
    onto: Sint | None = None


Claim: TypeAlias = Everywhere | OneToOne


@dataclass(frozen=True, slots=True)
class Proved:
    """An engine has shown the claim."""

    engine: str


@dataclass(frozen=True, slots=True)
class Counterexample:
    """An engine says that the claim fails here: at `point`, or at `point` and `other` together."""

    engine: str
    values: Values
    point: tuple[int, ...]
    other: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Missing:
    """An engine has looked at every point, and none has this key."""

    engine: str
    values: Values
    key: int


@dataclass(frozen=True, slots=True)
class GaveUp:
    """An engine cannot tell, and why."""

    engine: str
    reason: str


Result: TypeAlias = Proved | Counterexample | Missing | GaveUp


def lift_at(values: Values) -> Lift:
    """Symbolic parts as ints."""
    return lambda part: part if isinstance(part, int) else int(evaluate(part, values))


def bindings(symbols: Sequence[Var]) -> Iterator[dict[str, int]]:
    """Every value of the symbols within their bounds."""
    ranges = [range(bounds(var)[0], bounds(var)[1] + 1) for var in symbols]
    for chosen in product(*ranges):
        values = {var.name: value for var, value in zip(symbols, chosen, strict=True)}
        if all(value <= evaluate(v.high, values) for v, value in zip(symbols, chosen, strict=True)):
            yield values


def count_bindings(symbols: Sequence[Var]) -> int:
    """How many values there are at most."""
    return math.prod(bounds(var)[1] - bounds(var)[0] + 1 for var in symbols)


def ordered(symbols: Iterable[Var]) -> tuple[Var, ...]:
    """Symbols by name, those that bound others before them."""
    return tuple(sorted(symbols, key=lambda var: (len(variables(var)), var.name)))


def extents_at(box: Sequence[Sint], values: Values) -> tuple[int, ...]:
    """The extents of a box under a binding."""
    lift = lift_at(values)
    return tuple(lift(extent) for extent in box)


def most_points(claim: Claim) -> int:
    """How many points there are at most, over all bindings."""
    return math.prod(bounds(n)[1] for n in claim.box) * count_bindings(claim.symbols)
