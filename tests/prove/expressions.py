"""Random index expressions with small domains, to look at every point of."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

from kernelref.ir.index import (
    Sint,
    Var,
    add,
    and_,
    evaluate,
    floordiv,
    lt,
    mod,
    mul,
    variables,
)


def axes(rng: random.Random) -> list[Var]:
    return [Var(f"x.{i}", 0, rng.randint(0, 6)) for i in range(rng.randint(1, 3))]


def number(rng: random.Random, over: list[Var], depth: int) -> Sint:
    """A number of the kinds that views make: sums of multiples, quotients, remainders."""
    if depth == 0 or rng.random() < 0.2:
        return rng.choice([*over, rng.randint(-7, 12)])
    kind = rng.randrange(5)
    if kind == 0:
        return add(number(rng, over, depth - 1), number(rng, over, depth - 1))
    if kind == 1:
        return mul(number(rng, over, depth - 1), rng.choice((-6, -2, -1, 2, 3, 4, 6, 8, 12)))
    divide = floordiv if kind < 4 else mod
    return divide(number(rng, over, depth - 1), rng.choice((1, 2, 3, 4, 6, 8, 12)))


def condition(rng: random.Random, over: list[Var], depth: int) -> Sint:
    """A few comparisons, all of which must hold."""
    return and_(
        *(
            lt(number(rng, over, depth), number(rng, over, depth - 1))
            for _ in range(rng.randint(1, 3))
        )
    )


def points(over: list[Var]) -> Iterator[dict[str, int]]:
    """Every value of the variables; a symbolic high is evaluated at the ones before."""

    def values(found: dict[str, int], rest: list[Var]) -> Iterator[dict[str, int]]:
        if not rest:
            yield found
            return
        first, *others = rest
        for value in range(first.low, int(evaluate(first.high, found)) + 1):
            yield from values({**found, first.name: value}, others)

    yield from values({}, over)


def all_variables(*values: Sint) -> list[Var]:
    """The variables of expressions, those that bound others first."""
    found = set(itertools.chain.from_iterable(variables(value) for value in values))
    return sorted(found, key=lambda var: (len(variables(var)), var.name))
