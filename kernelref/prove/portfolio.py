"""Which engines are asked, in which order, and how much each may try.

Cheap ones first; a domain is enumerated at once where that is cheaper than asking a solver, and
again as the last resort with a larger limit.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

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
from kernelref.prove.digit_claims import by_digits, syntactic
from kernelref.prove.enumerate import enumerate_points

ENGINES = ("syntactic", "digits", "enumerate", "z3-structured", "z3-bitvector")
"""The engines that are asked unless told otherwise, in this order."""
SECOND_SOLVER = "cvc5"
PROBES = 200
"""Points looked at before a solver is asked: a wrong claim is mostly wrong at one of them."""


@dataclass(frozen=True, slots=True)
class Portfolio:
    """Engines by name, in the order of `ENGINES`.

    Units: `at_once` and `at_most` count points to enumerate before and after the solvers, `rlimit`
    a solver's own steps for one claim.
    """

    engines: tuple[str, ...] = ENGINES
    at_once: int = 1 << 17
    at_most: int = 1 << 26
    rlimit: int = 2_000_000

    def has(self, engine: str) -> bool:
        """Whether an engine is on; evaluating padded points is no choice."""
        return engine in self.engines or engine == "evaluation"

    def decide(self, claim: Claim) -> Result:
        """The first answer that is one; else what the last engine that gave up said."""
        found: Result = GaveUp("none", "no engine is asked")
        for attempt in self._attempts():
            found = attempt(claim)
            if not isinstance(found, GaveUp):
                return found
        return found

    def _attempts(self) -> Sequence[Callable[[Claim], Result]]:
        attempts: list[Callable[[Claim], Result]] = []
        if "syntactic" in self.engines:
            attempts.append(syntactic)
        if "digits" in self.engines:
            attempts.append(by_digits)
        if "enumerate" in self.engines:
            attempts.append(lambda claim: enumerate_points(claim, self.at_once))
            attempts.append(probe)
        if any(name.startswith("z3-") for name in self.engines):
            attempts += self._solvers()
        if SECOND_SOLVER in self.engines:
            attempts.append(self._second_solver)
        if "enumerate" in self.engines:
            attempts.append(lambda claim: enumerate_points(claim, self.at_most))
        return attempts

    def _solvers(self) -> list[Callable[[Claim], Result]]:
        # Loading Z3 takes longer than most proofs.
        from kernelref.prove.solve import SOLVERS, Effort

        effort = Effort(self.rlimit)
        return [partial(ask, effort=effort) for name, ask in SOLVERS if name in self.engines]

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
    for number in range(PROBES):
        values = _some_values(claim, rng)
        shape = extents_at(claim.box, values)
        if 0 in shape:
            return gave_up
        ends = [(0, n - 1) if number % 2 else (0, n - 1, n // 2, min(n - 1, 1)) for n in shape]
        point = tuple(
            rng.choice(some) if rng.random() < 0.5 else rng.randrange(n)
            for some, n in zip(ends, shape, strict=True)
        )
        for fact in claim.facts(point, lift_at(values)):
            if fact.where and fact.left != fact.right:
                return Counterexample("probe", values, point)
    return gave_up


def _some_values(claim: Claim, rng: random.Random) -> dict[str, int]:
    values: dict[str, int] = {}
    for var in claim.symbols:
        high = int(evaluate(var.high, values))
        values[var.name] = rng.choice((var.low, high, rng.randint(var.low, high)))
    return values
