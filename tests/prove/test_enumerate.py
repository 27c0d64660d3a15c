"""Enumeration leaves no point out: not the last block, not a key below 0."""

from __future__ import annotations

import math

import numpy as np
import pytest

from kernelref.prove.claim import Counterexample, Everywhere, Fact, OneToOne, Proved
from kernelref.prove.enumerate import BLOCK, blocks, enumerate_points
from kernelref.prove.portfolio import Portfolio
from kernelref.prove.verdict import Answer, Obligation, judge

LARGE = [
    (BLOCK + 1,),
    (2 * BLOCK,),
    (BLOCK // 256 + 1, 256),
    (3, BLOCK - 1),
    (1, 2, BLOCK + 3),
    (5, 1, BLOCK // 4, 3),
]
"""Boxes of more than one block: cut evenly or not, along the first axis or along several."""


@pytest.mark.parametrize("shape", LARGE, ids=str)
def test_blocks_meet_every_point_once(shape) -> None:
    seen = np.zeros(shape, np.uint8)
    count = 0
    for block in blocks(shape):
        assert math.prod(map(len, block)) <= BLOCK
        seen[tuple(slice(r.start, r.stop) for r in block)] += 1
        count += 1
    assert count > 1
    assert (seen == 1).all()


@pytest.mark.parametrize("shape", LARGE, ids=str)
def test_a_fault_at_the_last_point_alone_is_found_there(shape) -> None:
    last = tuple(n - 1 for n in shape)

    def facts(at, _):
        flat = 0
        for x, n in zip(at, shape, strict=True):
            flat = flat * n + x
        return [Fact("before the last", True, flat < math.prod(shape) - 1, True)]

    claim = Everywhere("last", shape, (), 1 << 40, facts)
    found = enumerate_points(claim, math.prod(shape))
    assert isinstance(found, Counterexample), found
    assert found.point == last


@pytest.mark.parametrize("engine", ["enumerate", "z3-structured", "z3-bitvector"])
@pytest.mark.parametrize("lowest", [-1, -4, -100])
def test_a_key_below_0_is_out_of_range(engine, lowest) -> None:
    """As many keys as there are to be, no two alike: only that they lie below 0 tells."""
    below = OneToOne("below", (4,), (), 1000, lambda at, _: (True, at[0] + lowest), 4)
    found = judge("step", Obligation.BIJECTION, [below], Portfolio((engine,)))
    assert found.answer is Answer.REFUTED, found
    assert found.witness is not None


def test_a_key_below_0_is_named() -> None:
    below = OneToOne("below", (4,), (), 100, lambda at, _: (True, at[0] - 1), 4)
    found = enumerate_points(below, 4)
    assert isinstance(found, Counterexample), found
    assert found.point == (0,)
    right = OneToOne("right", (4,), (), 100, lambda at, _: (at[0] > 0, at[0] - 1), 3)
    assert isinstance(enumerate_points(right, 4), Proved)
