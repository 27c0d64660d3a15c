"""Construction: which nodes are one buffer, what is reduced, what merges."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from kernelref.errors import Unsupported
from kernelref.ir.ast import Alu, Constant, Load, Op, Reduce, ReduceOp, Store
from kernelref.ir.builder import buffer, constant, kernel
from kernelref.ir.dtype import FLOAT, INT32
from kernelref.ir.shapetracker import ShapeTracker
from kernelref.opt.broke import OptBroke
from kernelref.opt.construct import construct, construction_map
from kernelref.opt.rules.sets import (
    RULE_SETS,
    SOUND,
    TINYGRAD_0_8_0,
    TINYGRAD_0_9_0,
    TINYGRAD_0_9_1,
)
from tests.opt.kernels import add, axes, image_sum, matmul, opened, row_sum

ALL = tuple(RULE_SETS.values())


def numbers(kernel) -> list[object]:
    return [b.value if isinstance(b, Constant) else b.buffer for b in kernel.buffers]


@pytest.mark.parametrize("rules", ALL, ids=str)
def test_outputs_stand_first_then_loads_in_reading_order(rules) -> None:
    ast = kernel(buffer(2, (4, 4)) * buffer(1, (4, 4)).permute(1, 0) + buffer(2, (4, 4)))
    assert numbers(opened(ast, rules=rules)) == [0, 2, 1]


def zeros() -> tuple[Store, ...]:
    x = buffer(1, (4, 8))
    return kernel((x + constant(0.0, (4, 8))) * constant(-0.0, (4, 8)))


def test_zero_and_minus_zero_are_one_constant_in_a_release_only() -> None:
    assert numbers(opened(zeros())) == [0, 1, 0.0, -0.0]
    for rules in ALL[1:]:
        kernel = opened(zeros(), rules=rules)
        assert numbers(kernel) == [0, 1, 0.0]
        constants = [node for node in kernel.index if isinstance(node, Constant)]
        assert [kernel.buffer_of(node) for node in constants] == [2, 2]


def in_place() -> tuple[Store, ...]:
    st = ShapeTracker.from_shape((4, 8))
    return (Store(0, FLOAT, st, Alu(Op.ADD, (Load(0, FLOAT, st), Load(1, FLOAT, st)))),)


@pytest.mark.parametrize(
    ("rules", "listed", "own"),
    [(SOUND, [0, 0, 1], 1), (TINYGRAD_0_8_0, [0, 1], 0), (TINYGRAD_0_9_1, [0, 0, 1], 0)],
    ids=str,
)
def test_a_load_of_the_output(rules, listed, own) -> None:
    kernel = opened(in_place(), rules=rules)
    load = kernel.ast[0].value.src[0]
    assert numbers(kernel) == listed
    assert kernel.buffer_of(load) == own
    assert kernel.buffer_of(kernel.ast[0]) == 0


def test_reduced_axes_come_last_in_order() -> None:
    ast = kernel(buffer(1, (3, 4, 5, 6)).permute(2, 0, 3, 1).sum(0, 2))
    opened_kernel = opened(ast)
    assert axes(opened_kernel) == "GLOBAL(12) REDUCE(30)"
    assert opened_kernel.sts[1].real_strides() == (30, 1)


def test_axes_of_extent_1_go() -> None:
    ast = kernel(buffer(1, (1, 4, 1, 8)).sum(3))
    assert axes(opened(ast)) == "GLOBAL(4) REDUCE(8)"
    single = kernel(buffer(1, (1, 1)) + buffer(2, (1, 1)))
    assert opened(single).axes == ()


def test_image_rows_and_columns_stay_apart() -> None:
    assert axes(opened(image_sum(8, 64))) == "GLOBAL(8) GLOBAL(4) REDUCE(64)"
    assert axes(opened(kernel(buffer(1, (8, 4, 64)).sum(-1)))) == "GLOBAL(32) REDUCE(64)"


# Several reductions.


def sibling_axes():
    """A sum over axis 0 beside a sum over axis 1, each of its own source."""
    rows, columns = buffer(1, (1, 8)).sum(1), buffer(2, (4, 1)).sum(0)
    return kernel(rows + columns)


def dependent():
    return kernel(buffer(1, (4, 64, 8)).max(1).sum(2))


def mixed_extents():
    """Siblings that sum 8 and 16 terms on one axis of the AST."""
    return kernel(buffer(1, (4, 8)).sum(1) + buffer(2, (4, 16)).max(1))


def test_sibling_reductions_each_run_over_their_own_axis() -> None:
    kernel = opened(sibling_axes())
    assert axes(kernel) == "REDUCE(4) REDUCE(8)"
    assert kernel.iterates == ((False, True), (True, False))


def test_dependent_reductions_do_not_merge() -> None:
    kernel = opened(dependent())
    assert axes(kernel) == "GLOBAL(4) REDUCE(64) REDUCE(8)"
    assert [reduce.op for reduce in kernel.reduces] == [ReduceOp.MAX, ReduceOp.SUM]
    assert kernel.iterates == ((False, True, False), (False, False, True))


def test_one_axis_with_two_extents_becomes_two_loops() -> None:
    kernel = opened(mixed_extents())
    assert axes(kernel) == "GLOBAL(4) REDUCE(8) REDUCE(16)"
    assert kernel.iterates == ((False, True, False), (False, False, True))
    assert [st.shape for st in kernel.sts] == [(4, 1, 1), (4, 8, 1), (4, 1, 16)]


def test_a_reduction_over_extent_1_iterates_nothing() -> None:
    """One sum's own source has extent 1 on the axis that the other sums."""
    ast = kernel(buffer(1, (4, 8)).sum(1) + buffer(2, (4, 1)).sum(1))
    assert opened(ast).iterates == ((False, True), (False, False))
    wrong = opened(ast, rules=TINYGRAD_0_9_1)
    assert wrong.iterates == ((False, True), (False, True))


@pytest.mark.parametrize(
    ("ast", "rules", "check"),
    [
        (sibling_axes(), TINYGRAD_0_9_1, "reshape"),
        (dependent(), TINYGRAD_0_9_1, "reduce-shape"),
        (dependent(), TINYGRAD_0_9_0, "reduces"),
        (dependent(), TINYGRAD_0_8_0, "reduces"),
        (kernel(buffer(2, (4,)), buffer(3, (4,))), TINYGRAD_0_8_0, "outputs"),
    ],
)
def test_where_a_release_breaks_in_construction(ast, rules, check) -> None:
    with pytest.raises(OptBroke) as raised:
        opened(ast, rules=rules)
    assert raised.value.check == check
    assert opened(ast).axes


def test_buffers_that_disagree_unseen_by_a_release_are_unsupported() -> None:
    with pytest.raises(Unsupported) as raised:
        opened(mixed_extents(), rules=TINYGRAD_0_9_1)
    assert raised.value.reason == "extents-differ"


def test_outputs_of_different_shapes_are_unsupported() -> None:
    one, two = ShapeTracker.from_shape((4, 2)), ShapeTracker.from_shape((2, 4))
    ast = (
        Store(0, FLOAT, one, Load(2, FLOAT, one)),
        Store(1, FLOAT, two, Load(2, FLOAT, two)),
    )
    with pytest.raises(Unsupported) as raised:
        opened(ast)
    assert raised.value.reason == "output-shapes-differ"


def test_equal_reductions_below_different_constants_stay_two() -> None:
    x = buffer(1, (4, 8))
    ast = kernel((x + 0.0).sum(1) + (x + -0.0).sum(1))
    assert len(opened(ast).reduces) == 2


@pytest.mark.parametrize(
    "ast",
    [matmul(3, 4, 5), add(3, 4), row_sum(3, 2, 4), sibling_axes(), mixed_extents(), dependent(),
     kernel(buffer(1, (2, 1, 3, 4)).permute(3, 1, 0, 2).sum(0))],
)  # fmt: skip
def test_the_construction_map_is_a_bijection_and_keeps_addresses(ast) -> None:
    parts = construct(ast, SOUND)
    law = construction_map(parts)
    assert law.before == parts.extents
    seen = set()
    for point in itertools.product(*(range(n) for n in law.after)):
        image, real = law.apply(point)
        assert real is True
        seen.add(image)
        for one, two in zip(parts.dim_sts, parts.sts, strict=True):
            at = [x * (n != 1) for x, n in zip(point, one.shape, strict=True)]
            to = [x * (n != 1) for x, n in zip(image, two.shape, strict=True)]
            assert one.address(at) == two.address(to)
    assert len(seen) == np.prod(law.after, dtype=int) == np.prod(law.before, dtype=int)


def test_an_int_and_a_float_constant_of_one_value() -> None:
    """Python compares 1 == 1.0 == True, and so do the releases; the dtype still tells."""
    x = buffer(1, (4,), INT32)
    ast = kernel((x + 1) * constant(True, (4,), INT32))
    assert numbers(opened(ast)) == [0, 1, 1, True]
    assert len(opened(ast, rules=TINYGRAD_0_9_1).buffers) == 3


def test_reduces_are_listed_sources_first() -> None:
    ast = dependent()
    outer = ast[0].value
    assert isinstance(outer, Reduce)
    assert opened(ast).reduceop is outer.value
