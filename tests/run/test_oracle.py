"""The oracle against a naive second telling, against itself, and with faults planted."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from kernelref.errors import InvalidInput
from kernelref.ir import semantics
from kernelref.ir.ast import Alu, Ast, Cast, Constant, Load, Op, Reduce, ReduceOp, Store, Value
from kernelref.ir.builder import buffer, constant, kernel
from kernelref.ir.dtype import BFLOAT16, BOOL, FLOAT, HALF, IMAGE_HALF, INT8, INT32, UINT8, image
from kernelref.ir.index import Var
from kernelref.ir.shapetracker import ShapeTracker
from kernelref.ir.view import View
from kernelref.run import oracle as oracle_module
from kernelref.run.inputs import make_inputs
from kernelref.run.oracle import Oracle, boxes
from kernelref.run.plan import make_plan
from tests.run import naive
from tests.run.random_ast import RandomAst


def wrong_outputs(ast: Ast, seed: int) -> int:
    """How many outputs differ from the naive telling."""
    inputs = make_inputs(ast, seed, "integers")
    decoded = {b: semantics.decode(a, dtype_of(ast, b)) for b, a in inputs.items()}
    count = 0
    with semantics.quiet():
        for output, store in enumerate(ast):
            got = Oracle(ast, inputs).exact(output)
            wanted = np.array(naive.stored(ast, decoded, output, {}), store.dtype.numpy)
            count += int(np.count_nonzero(~((got == wanted) | ((got != got) & (wanted != wanted)))))
    return count


def dtype_of(ast: Ast, number: int):
    return next(
        node.dtype for node in oracle_nodes(ast) if isinstance(node, Load) and node.buffer == number
    )


def oracle_nodes(ast: Ast):
    from kernelref.ir.ast import postorder

    return postorder(ast)


@pytest.mark.parametrize("seed", range(300))
def test_random_kernels_equal_the_naive_telling(seed: int) -> None:
    assert wrong_outputs(RandomAst(seed).make(), seed) == 0


@pytest.mark.parametrize("elements", [1, 2, 5, 16])
def test_cutting_into_boxes_changes_nothing(elements: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(60):
        ast = RandomAst(seed).make()
        inputs = make_inputs(ast, seed, "integers")
        whole = [Oracle(ast, inputs).values(i) for i in range(len(ast))]
        with monkeypatch.context() as patch:
            patch.setattr(oracle_module, "ELEMENTS", elements)
            cut = [Oracle(ast, inputs).values(i) for i in range(len(ast))]
        for one, other in zip(whole, cut, strict=True):
            assert np.array_equal(one.value, other.value, equal_nan=one.value.dtype.kind == "f")
            assert np.allclose(one.bound, other.bound, rtol=1e-9)


def permuted(node: Value, order: tuple[int, ...]) -> Value:
    """The same value with its axes in another order."""
    match node:
        case Load() | Constant():
            return replace(node, st=node.st.permute(order))
        case Alu(op=op, src=src):
            return Alu(op, tuple(permuted(source, order) for source in src))
        case Cast(value=value):
            return replace(node, value=permuted(value, order))
        case Reduce(op=op, value=value, axes=axes):
            moved = tuple(sorted(order.index(axis) for axis in axes))
            return Reduce(op, permuted(value, order), moved)
    raise AssertionError(node)


def test_permuting_the_axes_changes_nothing() -> None:
    checked = 0
    for seed in range(150):
        ast = RandomAst(seed).make()
        order = tuple(reversed(range(len(ast[0].shape))))
        turned = tuple(
            Store(s.buffer, s.dtype, s.st.permute(order), permuted(s.value, order)) for s in ast
        )
        inputs = make_inputs(ast, seed, "integers")
        for output in range(len(ast)):
            one, other = Oracle(ast, inputs), Oracle(turned, inputs)
            memory = np.zeros((2, 1 + one.addresses(output)[0].max()), ast[output].dtype.numpy)
            for row, oracle in zip(memory, (one, other), strict=True):
                address, valid = oracle.addresses(output)
                row[address[valid]] = oracle.exact(output)[valid]
            assert np.array_equal(*memory, equal_nan=memory.dtype.kind == "f")
            checked += memory.shape[1]
    assert checked > 1000


def test_points_are_the_same_as_all_at_those_points() -> None:
    for seed in range(60):
        ast = RandomAst(seed).make()
        oracle = Oracle(ast, make_inputs(ast, seed, "integers"))
        total = math.prod(oracle.shape(0))
        points = np.random.default_rng(seed).integers(0, total, 7)
        some, whole = oracle.exact(0, points), oracle.exact(0)
        assert np.array_equal(some, whole[points], equal_nan=some.dtype.kind == "f")
        for got, wanted in zip(oracle.addresses(0, points), oracle.addresses(0), strict=True):
            assert got.tolist() == wanted[points].tolist()


def failures() -> int:
    return sum(wrong_outputs(RandomAst(seed).make(), seed) for seed in range(40))


def test_a_lost_mask_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    assert failures() == 0
    address = View.address
    monkeypatch.setattr(View, "address", lambda self, point: (address(self, point)[0] * 1, True))
    monkeypatch.setattr(oracle_module.Walk, "load", clamped_load)
    assert failures() > 0


def clamped_load(walk, node, address, valid):
    stored = walk.inputs[node.buffer]
    return semantics.decode(stored.take(address, mode="clip"), node.dtype)


def test_a_wrong_identity_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(semantics, "identity", lambda op, dtype: 0)
    assert failures() > 0


def test_a_forgotten_step_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    fold = semantics.fold
    monkeypatch.setattr(
        semantics, "fold", lambda op, s, t, d: fold(op, s, t[: max(1, len(t) - 1)], d)
    )
    assert failures() > 0


def test_boxes_cover_a_space_once_and_in_order() -> None:
    for extents in ((), (5,), (2, 3, 4), (1, 7, 1), (3, 0)):
        for limit in (0, 1, 2, 5, 12, 100):
            points = [
                point
                for box in boxes(extents, limit)
                for point in np.ndindex(*(len(part) for part in box))
            ]
            assert len(points) == math.prod(extents)
            cut = list(boxes(extents, limit))
            assert all(math.prod(map(len, box)) <= max(limit, 1) for box in cut)
            firsts = [tuple(part.start for part in box) for box in cut]
            assert firsts == sorted(firsts)


def test_dependent_and_sibling_reduces() -> None:
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    source = Load(1, FLOAT, ShapeTracker.from_shape((2, 3, 4)))
    rows = Reduce(ReduceOp.MAX, source, (2,))
    total = Reduce(ReduceOp.SUM, rows, (1,))
    sibling = Reduce(ReduceOp.SUM, Reduce(ReduceOp.MAX, source, (1,)), (2,))
    ast = (Store(0, FLOAT, ShapeTracker.from_shape((2, 1, 1)), Alu(Op.ADD, (total, sibling))),)
    wanted = x.max(2).sum(1) + x.max(1).sum(1)
    assert Oracle(ast, {1: x}).exact(0).tolist() == wanted.tolist()


def test_a_node_under_two_reduces_is_computed_once_per_box() -> None:
    source = Load(1, FLOAT, ShapeTracker.from_shape((4, 5)))
    square = Alu(Op.MUL, (source, source))
    both = Alu(Op.ADD, (Reduce(ReduceOp.SUM, square, (1,)), Reduce(ReduceOp.MAX, square, (1,))))
    plan = make_plan((both,), int)
    assert len(plan.reductions) == 1
    assert [node for node, _ in plan.reductions[0].terms.steps] == [source, square]


def test_memory_stays_within_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    largest = 0
    apply = semantics.apply

    def watch(op, operands, dtype):
        nonlocal largest
        result = apply(op, operands, dtype)
        largest = max(largest, result.size)
        return result

    monkeypatch.setattr(semantics, "apply", watch)
    a, b = buffer(1, (300, 400)), buffer(2, (400, 300))
    ast = kernel(a @ b)
    inputs = make_inputs(ast, 1, "integers")
    budget = 1 << 20
    got = Oracle(ast, inputs, budget_nbytes=budget).exact(0)
    assert largest * oracle_module.NBYTES <= budget
    wanted = inputs[1].reshape(300, 400).astype(float) @ inputs[2].reshape(400, 300).astype(float)
    assert np.array_equal(got.astype(float), wanted.ravel())


def test_in_place_reads_come_before_the_run() -> None:
    st = ShapeTracker.from_shape((4,))
    flipped = st.stride((-1,))
    ast = (Store(0, INT32, st, Load(0, INT32, flipped)),)
    assert Oracle(ast, {0: np.arange(4, dtype=np.int32)}).exact(0).tolist() == [3, 2, 1, 0]


def test_masked_loads_and_constants_are_zero() -> None:
    st = ShapeTracker.from_shape((2,)).pad(((1, 1),))
    load = Load(1, INT32, st)
    one = Constant(7, INT32, ShapeTracker.from_shape(()).reshape((1,)).expand((2,)).pad(((1, 1),)))
    ast = (Store(0, INT32, ShapeTracker.from_shape((4,)), Alu(Op.ADD, (load, one))),)
    assert Oracle(ast, {1: np.array([5, 6], np.int32)}).exact(0).tolist() == [0, 12, 13, 0]


def test_a_mask_guards_addresses_outside_the_buffer() -> None:
    st = ShapeTracker.from_shape((2,)).pad(((3, 3),))
    ast = (Store(0, FLOAT, ShapeTracker.from_shape((8,)), Load(1, FLOAT, st)),)
    assert Oracle(ast, {1: np.ones(2, np.float32)}).exact(0).sum() == 2
    with pytest.raises(InvalidInput, match="outside its 1 elements"):
        Oracle(ast, {1: np.ones(1, np.float32)}).exact(0)


def test_symbolic_extents_and_values() -> None:
    n = Var("n", 1, 10)
    load = Load(1, FLOAT, ShapeTracker.from_shape((n, 4)))
    count = Constant(n, INT32, ShapeTracker.from_shape((1, 1)).expand((1, 4)))
    total = Reduce(ReduceOp.SUM, load, (0,))
    value = Alu(Op.MUL, (total, Cast(count, FLOAT)))
    ast = (Store(0, FLOAT, ShapeTracker.from_shape((1, 4)), value),)
    data = np.arange(40, dtype=np.float32)
    for size in (1, 3, 10):
        wanted = data[: size * 4].reshape(size, 4).sum(0) * size
        assert Oracle(ast, {1: data}, {"n": size}).exact(0).tolist() == wanted.tolist()


def test_an_image_is_float_in_registers_and_half_in_memory() -> None:
    dtype = image(IMAGE_HALF, (1, 2, 4))
    st = ShapeTracker.from_shape((8,))
    value = Alu(
        Op.MUL, (Load(1, dtype, st), Constant(1 / 3, dtype, st.from_shape((1,)).expand((8,))))
    )
    data = np.arange(8, dtype=np.float16)
    got = Oracle((Store(0, dtype, st, value),), {1: data}).exact(0)
    assert got.dtype == np.float16
    assert np.array_equal(got, (data.astype(np.float32) * np.float32(1 / 3)).astype(np.float16))


def test_bfloat16_rounds_each_sum_and_is_stored_as_bits() -> None:
    data = np.full(300, 1.0, np.float32)
    ast = kernel(buffer(1, (300,), BFLOAT16).sum(0))
    got = Oracle(ast, {1: semantics.encode(data, BFLOAT16)}).exact(0)
    assert got.tolist() == [256.0]


def test_undefined_points_are_counted() -> None:
    st = ShapeTracker.from_shape((3,))
    quotient = Alu(Op.IDIV, (Load(1, INT8, st), Load(2, INT8, st)))
    oracle = Oracle(
        (Store(0, INT8, st, quotient),),
        {1: np.array([7, -7, 5], np.int8), 2: np.array([2, 2, 0], np.int8)},
    )
    assert oracle.exact(0).tolist() == [3, -3, 0]
    assert oracle.undefined == {"IDIV of char": 1}


def test_a_scalar_kernel() -> None:
    ast = (Store(0, UINT8, ShapeTracker.from_shape(()), constant(300, (), UINT8).node),)
    assert Oracle(ast, {}).exact(0).tolist() == [44]
    assert Oracle(ast, {}).addresses(0)[0].tolist() == [0]
    assert Oracle(ast, {}).exact(0, np.array([0, 0])).tolist() == [44, 44]


def test_a_sum_over_bool_is_or() -> None:
    load = Load(1, BOOL, ShapeTracker.from_shape((2, 3)))
    ast = (Store(0, BOOL, ShapeTracker.from_shape((2, 1)), Reduce(ReduceOp.SUM, load, (1,))),)
    data = np.array([0, 1, 1, 0, 0, 0], bool)
    assert Oracle(ast, {1: data}).exact(0).tolist() == [True, False]


def test_half_rounds_in_order() -> None:
    data = np.array([2048, 1, 1, 1], np.float16)
    ast = kernel(buffer(1, (4,), HALF).sum(0))
    assert Oracle(ast, {1: data}).exact(0).tolist() == [2048.0]
    assert Oracle(ast, {1: data[::-1].copy()}).exact(0).tolist() == [2052.0]
