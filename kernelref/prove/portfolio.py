"""Which engines are asked, in which order, and how much each may try.

Cheap ones first; a domain is enumerated at once where that is cheaper than asking a solver, and
again as the last resort with a larger limit.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kernelref.errors import InvalidInput
from kernelref.ir.index import evaluate
from kernelref.prove.claim import (
    Claim,
    Counterexample,
    Everywhere,
    GaveUp,
    Result,
    extents_at,
    lift_at,
)
from kernelref.prove.digit_claims import by_digits, forms_of, syntactic
from kernelref.prove.enumerate import LARGEST, enumerate_points

ENGINES = ("syntactic", "digits", "enumerate", "z3-structured", "z3-bitvector")
"""The engines that are asked unless told otherwise, in this order."""
SECOND_SOLVER = "cvc5"
PROBES = 200
"""Points looked at before a solver is asked: a wrong claim is mostly wrong at one of them."""


@dataclass(frozen=True, slots=True)
class Portfolio:
    """Engines by name, in the order of `ENGINES`.

    `smt2`: a folder for the questions that solvers are asked. Units: `at_once` and `at_most` count
    points to enumerate before and after the solvers, `rlimit` a solver's own steps for one claim.
    """

    engines: tuple[str, ...] = ENGINES
    at_once: int = 1 << 17
    at_most: int = 1 << 26
    rlimit: int = 2_000_000
    smt2: Path | None = None

    def has(self, engine: str) -> bool:
        """Whether an engine is on; evaluating padded points is no choice."""
        return engine in self.engines or engine == "evaluation"

    def decide(self, claim: Claim) -> Result:
        """The first answer that is one; else what the last engine that gave up said."""
        found: Result = GaveUp("none", "no engine is asked")
        for found in self._answers(claim):
            if not isinstance(found, GaveUp):
                break
        return found

    def _answers(self, claim: Claim) -> Iterator[Result]:
        """What each engine says, asked when its turn comes."""
        forms = forms_of(claim)
        if "syntactic" in self.engines:
            yield syntactic(claim, forms)
        if "digits" in self.engines:
            yield by_digits(claim, forms)
        if "enumerate" in self.engines:
            yield enumerate_points(claim, self.at_once)
            yield probe(claim)
        asks_z3 = any(name.startswith("z3-") for name in self.engines)
        if self.smt2 is not None and (asks_z3 or SECOND_SOLVER in self.engines):
            from kernelref.prove.dump import dump

            dump(claim, self.smt2)
        if asks_z3:
            yield from self._solvers(claim)
        if SECOND_SOLVER in self.engines:
            yield self._second_solver(claim)
        if "enumerate" in self.engines:
            yield enumerate_points(claim, self.at_most)

    def _solvers(self, claim: Claim) -> Iterator[Result]:
        # Loading Z3 takes longer than most proofs.
        from kernelref.prove.solve import SOLVERS, Effort

        effort = Effort(self.rlimit)
        for name, ask in SOLVERS:
            if name in self.engines:
                yield ask(claim, effort)

    def _second_solver(self, claim: Claim) -> Result:
        from kernelref.prove.crosscheck import crosscheck

        return crosscheck(claim, self.rlimit)


DEFAULT = Portfolio()
CHECKING = Portfolio(("enumerate", SECOND_SOLVER), at_once=1 << 22)
"""What a certificate is checked with."""


def portfolio_of(names: Sequence[str]) -> Portfolio:
    """The portfolio of these engines. Raises: InvalidInput for an unknown one."""
    known = (*ENGINES, SECOND_SOLVER)
    unknown = [name for name in names if name not in known]
    if unknown or not names:
        raise InvalidInput(f"known are {', '.join(known)}", where=f"--engines {','.join(names)}")
    return Portfolio(tuple(name for name in known if name in names))


def probe(claim: Claim) -> Result:
    """Corners and random points: they can refute, never prove."""
    gave_up = GaveUp("probe", "no counterexample among the points looked at")
    if not isinstance(claim, Everywhere):
        return gave_up
    rng = random.Random(0)
    if not claim.symbols and claim.reach is not None and claim.reach < LARGEST:
        # Nothing overflows and no symbol needs a value: all points at once.
        shape = extents_at(claim.box, {})
        points = [np.array([_near_an_end(n, i, rng) for i in range(PROBES)]) for n in shape]
        return gave_up if 0 in shape else _wrong_among(claim, {}, points) or gave_up
    for number in range(PROBES):
        values = _some_values(claim, rng)
        shape = extents_at(claim.box, values)
        if 0 in shape:
            return gave_up
        found = _wrong_among(claim, values, [_near_an_end(n, number, rng) for n in shape])
        if found is not None:
            return found
    return gave_up


def _wrong_among(
    claim: Everywhere, values: dict[str, int], points: Sequence[Any]
) -> Counterexample | None:
    """The first of these points (ints, or arrays of them) at which a fact does not hold."""
    for fact in claim.facts(points, lift_at(values)):
        wrong = np.broadcast_to(fact.where & (fact.left != fact.right), np.shape(points)[1:])
        if wrong.any():
            place = np.unravel_index(int(wrong.argmax()), wrong.shape)
            return Counterexample(
                "probe", values, tuple(int(x[place]) if place else x for x in points)
            )
    return None


def _near_an_end(extent: int, number: int, rng: random.Random) -> int:
    """A coordinate: half of them at or near the ends, for every other point at an end."""
    if extent == 0 or rng.random() >= 0.5:
        return rng.randrange(max(1, extent))
    return rng.choice(
        (0, extent - 1) if number % 2 else (0, extent - 1, extent // 2, min(extent - 1, 1))
    )


def _some_values(claim: Claim, rng: random.Random) -> dict[str, int]:
    values: dict[str, int] = {}
    for var in claim.symbols:
        high = int(evaluate(var.high, values))
        values[var.name] = rng.choice((var.low, high, rng.randint(var.low, high)))
    return values
