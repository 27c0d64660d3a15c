"""A release's counters: from typed axes and back, and where they fit nothing."""

from __future__ import annotations

import random

import pytest

from kernelref.errors import Unsupported
from kernelref.opt.axis import Axis, AxisType
from kernelref.opt.candidates import candidates
from kernelref.opt.limits import PRESETS
from kernelref.opt.rules.counters import Counters, count, typed, without_ones
from kernelref.opt.rules.sets import SOUND, TINYGRAD_0_9_1
from tests.opt.kernels import image_sum, matmul, opened, row_sum

T = AxisType


def test_counts_of_typed_axes() -> None:
    kinds = [
        T.GLOBAL,
        T.LOCAL,
        T.WARP,
        T.GROUP_REDUCE,
        T.GROUP_UPCAST,
        T.REDUCE,
        T.UPCAST,
        T.UNROLL,
    ]
    assert count([Axis(2, kind) for kind in kinds]) == Counters(2, 2, 2)


def test_counts_that_do_not_fit_are_told_in_words() -> None:
    with pytest.raises(Unsupported) as raised:
        typed(Counters(0, -1, 1), (8, 4), (8, 4), ())
    assert raised.value.detail == "0 local, -1 grouped and 1 upcast axes on (8, 4)"


def test_typed_is_the_inverse_of_count() -> None:
    kinds = [T.GLOBAL, T.LOCAL, T.GROUP_REDUCE, T.GROUP_UPCAST, T.REDUCE, T.UPCAST, T.UNROLL]
    axes = tuple(Axis(2, kind) for kind in kinds)
    full, output = (2,) * 7, (2, 2, 1, 2, 1, 2, 1)
    assert typed(count(axes), full, output, axes) == axes


def test_ones_are_counted_off() -> None:
    full, output = (4, 1, 8, 2), (4, 1, 1, 2)
    assert without_ones(Counters(1, 0, 1), full, output) == Counters(0, 0, 1)
    assert without_ones(Counters(0, 0, 1), full, output) == Counters(0, 0, 1)


@pytest.mark.parametrize("counters", [Counters(0, 3, 0), Counters(3, 0, 0), Counters(0, -1, 0)])
def test_counts_that_fit_no_types(counters) -> None:
    axes = tuple(Axis(4, kind) for kind in (T.GLOBAL, T.REDUCE))
    with pytest.raises(Unsupported) as raised:
        typed(counters, (4, 4), (4, 1), axes)
    assert raised.value.reason == "counters-do-not-fit"


@pytest.mark.parametrize("ast", [matmul(24, 16, 64), row_sum(4, 96), image_sum()])
def test_on_legal_sequences_counted_and_carried_types_agree(ast) -> None:
    """What the sound rule set permits keeps a release's counters right."""
    rng = random.Random(3)
    for _ in range(30):
        carried = opened(ast, PRESETS["metal"], SOUND)
        counted = opened(ast, PRESETS["metal"], TINYGRAD_0_9_1)
        for _ in range(5):
            legal = set(candidates(counted))
            choices = [opt for opt in candidates(carried) if opt in legal]
            if not choices:
                break
            opt = rng.choice(choices)
            carried, counted = carried.apply_opt(opt), counted.apply_opt(opt)
            assert carried.axes == counted.axes
            assert carried.iterates == counted.iterates
