"""Another order of the work-items: one after the other up to each barrier, in reverse or at random.

A Program that is right gives the same in every order; lockstep is only one of them.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from kernelref.codegen.program import Barrier, Guarded, Loop, Statement, nested
from kernelref.ir.semantics import Array

MOST_TURNS = 64
"""Into how many sets the work-items of a group are cut at most."""


def holds_barrier(statement: Statement) -> bool:
    """Whether work-items meet in a statement."""
    inside = statement.body if isinstance(statement, Loop | Guarded) else ()
    return any(isinstance(part, Barrier) for part in (statement, *nested(inside)))


def segments(body: Sequence[Statement]) -> Iterator[list[Statement]]:
    """The statements of a block, cut so that each that holds a barrier stands alone."""
    segment: list[Statement] = []
    for statement in body:
        if holds_barrier(statement):
            if segment:
                yield segment
            yield [statement]
            segment = []
        else:
            segment.append(statement)
    if segment:
        yield segment


@dataclass(slots=True)
class Turns:
    """Whose turn it is: in reverse, then in orders drawn with `seed`."""

    seed: int
    drawn: int = 0

    def of(self, segment: Sequence[Statement], local: Array) -> Iterator[Array | None]:
        """The sets of work-items that carry out a segment, in order; None is all together.

        `local` numbers the work-items of a group.
        """
        if holds_barrier(segment[0]):
            yield None
            return
        turns = list(range(min(local.size, MOST_TURNS)))[::-1]
        if self.drawn:
            random.Random((self.seed << 20) + self.drawn).shuffle(turns)
        self.drawn += 1
        for turn in turns:
            yield np.equal(local % len(turns), turn)
