"""Axis maps: bijections onto the points before, composed as functions, and equal to route one."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

from kernelref.errors import KernelOptError
from kernelref.opt.axis import AxisType
from kernelref.opt.axismap import AxisMap, LinearSum, identity, merge_map, step_map, steps_map
from kernelref.opt.candidates import candidates
from kernelref.opt.kernel import Kernel
from kernelref.opt.limits import PRESETS
from kernelref.opt.opt import Opt, OptOps
from kernelref.opt.rules.step import Pad, Split
from tests.opt.kernels import add, image_sum, matmul, opened, row_sum

UP = AxisType.UPCAST


def all_points(extents: tuple) -> list[tuple[int, ...]]:
    return list(itertools.product(*(range(n) for n in extents)))


def assert_bijective(law: AxisMap) -> None:
    images = [image for image, real in map(law.apply, all_points(law.after)) if real]
    assert len(images) == len(set(images))
    assert set(images) == set(all_points(law.before))


def test_apply_is_the_law() -> None:
    law = AxisMap(
        (3, 4), (10,), (LinearSum(((0, 4), (1, 1))),), ((LinearSum(((0, 4), (1, 1))), 10),)
    )
    assert law.apply((2, 1)) == ((9,), True)
    assert law.apply((2, 2)) == ((10,), False)
    assert_bijective(law)


def test_apply_takes_arrays() -> None:
    law = step_map((12,), Split(0, 4, 1, UP))
    (before,), real = law.apply((np.arange(3)[:, None], np.arange(4)[None, :]))
    assert before.tolist() == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]
    assert real is True


@pytest.mark.parametrize("outer", [False, True])
@pytest.mark.parametrize("place", [0, 1, 2, 3])
@pytest.mark.parametrize(("axis", "amount"), [(0, 2), (0, 4), (1, 3), (2, 5), (2, 1)])
def test_a_split_is_a_bijection(axis, amount, place, outer) -> None:
    law = step_map((4, 6, 5), Split(axis, amount, place, UP, outer))
    assert 1 not in law.after
    assert_bijective(law)


def test_a_padding_is_a_bijection_where_real() -> None:
    law = step_map((4, 6), Pad(1, 4))
    assert law.after == (4, 8)
    assert_bijective(law)


def test_composition_is_application_in_turn() -> None:
    rng = random.Random(0)
    steps = (Split(0, 4, 2, UP), Pad(0, 4), Split(0, 2, 1, UP, outer=True), Pad(1, 3))
    law = steps_map((12, 5), steps)
    for _ in range(200):
        point = tuple(rng.randrange(n) for n in law.after)
        real, image, extents = True, point, [(12, 5)]
        for step in steps:
            extents.append(step_map(extents[-1], step).after)
        for size, step in zip(reversed(extents[:-1]), reversed(steps), strict=True):
            image, is_real = step_map(size, step).apply(image)
            real = real and is_real
        assert law.apply(point) == (image, real)
    assert_bijective(law)


def test_maps_that_do_not_meet() -> None:
    with pytest.raises(AssertionError, match="do not meet"):
        identity((4,)).then(identity((5,)))


def test_a_merge_is_told_from_the_finer_side() -> None:
    law = merge_map((2, 3, 4), [(0, 1), (2,)])
    assert law.before == (6, 4)
    assert law.apply((1, 2, 3)) == ((5, 3), True)
    assert_bijective(law)


def routes_agree(before: Kernel, after: Kernel, law: AxisMap, rng: random.Random) -> None:
    """valid_after(x) <=> real(x) and valid_before(map(x)), and equal addresses where valid."""
    assert law.after == after.full_shape
    assert law.before == before.full_shape
    points = [np.array([rng.randrange(n) for _ in range(64)]) for n in law.after]
    image, real = law.apply(points)
    for one, two in zip(before.sts, after.sts, strict=True):
        old, was_valid = one.address([x * (n != 1) for x, n in zip(image, one.shape, strict=True)])
        new, is_valid = two.address([x * (n != 1) for x, n in zip(points, two.shape, strict=True)])
        old, was_valid, new, is_valid, is_real = np.broadcast_arrays(
            old, was_valid, new, is_valid, real, points[0]
        )[:5]
        # A buffer that does not vary along a padded axis has the same value at padded points.
        whole = all(n != 1 for n in two.shape)
        expected = was_valid & is_real
        assert np.all(is_valid[is_real] == expected[is_real])
        assert not whole or not np.any(is_valid & ~is_real)
        assert np.all(old[expected] == new[expected])


@pytest.mark.parametrize(
    "ast",
    [matmul(12, 16, 20), add(24, 8, 6), row_sum(4, 64), image_sum(8, 64), matmul(16, 16, 16)],
    ids=["matmul", "add", "row-sum", "image", "square"],
)
def test_the_two_routes_agree(ast) -> None:
    rng = random.Random(1)
    for _ in range(25):
        kernel = opened(ast, PRESETS["metal"])
        for _ in range(4):
            choices = candidates(kernel)
            if not choices:
                break
            op = rng.choice(sorted({opt.op for opt in choices}, key=lambda op: op.value))
            opt = rng.choice([opt for opt in choices if opt.op is op])
            after = kernel.apply_opt(opt)
            routes_agree(kernel, after, kernel.axis_map(opt), rng)
            kernel = after


def test_a_planted_fault_in_a_map_is_seen() -> None:
    """A map that swaps the parts of a split is still a bijection; the buffers tell."""
    kernel = opened(row_sum(4, 64))
    opt = Opt(OptOps.UNROLL, 0, 4)
    wrong = step_map(kernel.full_shape, Split(1, 4, 2, AxisType.UNROLL, outer=True))
    assert_bijective(wrong)
    after = kernel.apply_opt(opt)
    wrong = AxisMap(after.full_shape, wrong.before, wrong.sums)
    with pytest.raises(AssertionError):
        routes_agree(kernel, after, wrong, random.Random(0))


def test_an_axis_map_of_an_illegal_opt_is_refused() -> None:
    with pytest.raises(KernelOptError):
        opened(row_sum(4, 64)).axis_map(Opt(OptOps.UPCAST, 1, 4))
