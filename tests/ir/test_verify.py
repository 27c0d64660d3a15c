"""verify: each rule is seen refusing, names the node, and lets its neighbour pass."""

from __future__ import annotations

import math

import pytest

from kernelref.errors import InvalidInput
from kernelref.ir.ast import Alu, Ast, Cast, Constant, Load, Op, Reduce, ReduceOp, Store, Value
from kernelref.ir.builder import buffer, kernel
from kernelref.ir.dtype import (
    BOOL,
    DOUBLE,
    FLOAT,
    HALF,
    IMAGE_HALF,
    INT32,
    SCALARS,
    UINT32,
    DType,
    image,
)
from kernelref.ir.index import Var
from kernelref.ir.shapetracker import ShapeTracker
from kernelref.ir.verify import MAX_DEPTH, MAX_DIMS, MAX_NUMBER, check_view, verify
from kernelref.ir.view import View
from tests.shared_bugs import kernel_bugs


def load(shape=(4, 6), dtype: DType = FLOAT, number: int = 1) -> Load:
    return Load(number, dtype, ShapeTracker.from_shape(shape))


def stored(value: Value, dtype: DType | None = None, number: int = 0) -> Store:
    return Store(number, dtype or value.dtype, ShapeTracker.from_shape(value.shape), value)


def fault(*stores: Store) -> str:
    with pytest.raises(InvalidInput) as caught:
        verify(tuple(stores))
    return str(caught.value)


def test_a_good_ast_comes_back_itself() -> None:
    ast = kernel(buffer(1, (4, 6)) @ buffer(2, (6, 3)))
    assert verify(ast) is ast


def test_real_bugs_are_well_formed() -> None:
    assert len(kernel_bugs()) == 45


@pytest.mark.parametrize("ast", [(), (load(),)])
def test_outputs_are_stores(ast: Ast) -> None:
    with pytest.raises(InvalidInput, match="one or more STOREs"):
        verify(ast)


def test_outputs_are_numbered_in_order() -> None:
    assert verify((stored(load()), stored(load(number=2), number=1)))
    assert "output 0 stores to buffer 1" in fault(stored(load(), number=1))
    swapped = (stored(load(number=5), number=1), stored(load(number=5)))
    assert fault(*swapped).startswith("STORE 1: output 0")


def test_outputs_have_one_shape() -> None:
    other = stored(load((6, 4), number=2), number=1)
    assert fault(stored(load()), other) == "STORE 1: shape (6, 4), not output 0's (4, 6)"


def test_a_store_takes_the_shape_it_has_room_for() -> None:
    room = ShapeTracker.from_shape((24,))
    message = fault(Store(0, FLOAT, room, load()))
    assert message == "STORE 0: stores shape (4, 6) into (24)"


def test_a_store_takes_its_own_dtype() -> None:
    assert "stores float into half" in fault(stored(load(), HALF))
    picture = image(IMAGE_HALF, (4, 6, 4))
    assert verify((stored(load(), picture),))
    assert "stores half into imageh" in fault(stored(load(dtype=HALF), picture))


def test_sources_have_one_shape() -> None:
    value = Alu(Op.ADD, (load(), load((6, 4), number=2)))
    assert fault(Store(0, FLOAT, load().st, value)) == (
        "STORE 0 > ADD: sources of shapes (4, 6) and (6, 4)"
    )


def test_arity() -> None:
    value = Alu(Op.ADD, (load(),))
    assert "1 sources, not 2" in fault(stored(value))


def test_reduced_axes() -> None:
    for axes in ((), (0,), (1,), (1, 0)):
        assert verify((stored(Reduce(ReduceOp.SUM, load(), axes)),))
    for axes in ((2,), (-1,), (0, 0)):
        value = Reduce(ReduceOp.SUM, load(), axes)
        assert "are not axes of 2 dims" in fault(stored(value))


def test_dependent_and_sibling_reduces_are_well_formed() -> None:
    x = buffer(1, (4, 5, 6))
    assert kernel(x.sum(2).max(1) + buffer(2, (4, 1, 6)).sum(2))


@pytest.mark.parametrize("op", [Op.EXP2, Op.LOG2, Op.SIN, Op.SQRT, Op.RECIP])
def test_functions_of_floats(op: Op) -> None:
    for dtype in SCALARS:
        store = stored(Alu(op, (load(dtype=dtype),)))
        if dtype.is_float:
            assert verify((store,))
        else:
            assert f"{dtype} is no float" in fault(store)


@pytest.mark.parametrize("op", [Op.IDIV, Op.MOD, Op.SHL, Op.SHR])
def test_functions_of_integers(op: Op) -> None:
    for dtype in SCALARS:
        store = stored(Alu(op, (load(dtype=dtype), load(dtype=dtype, number=2))))
        if dtype.is_int:
            assert verify((store,))
        else:
            assert f"{dtype} is no integer" in fault(store)


def test_exclusive_or_needs_bits() -> None:
    assert verify((stored(Alu(Op.XOR, (load(dtype=BOOL), load(dtype=BOOL)))),))
    assert "has no bits" in fault(stored(Alu(Op.XOR, (load(), load()))))


def test_operands_have_one_dtype() -> None:
    assert "float, half" in fault(stored(Alu(Op.MUL, (load(), load(dtype=HALF, number=2)))))
    chosen = Alu(Op.WHERE, (load(dtype=BOOL), load(number=2), load(dtype=HALF, number=3)))
    assert "float, half" in fault(stored(chosen))
    picture = image(IMAGE_HALF, (4, 6, 4))
    assert verify((stored(Alu(Op.ADD, (load(dtype=picture), load(number=2)))),))


def test_a_choice_needs_a_bool() -> None:
    value = Alu(Op.WHERE, (load(dtype=INT32), load(number=2), load(number=3)))
    assert "the condition is int, not bool" in fault(stored(value))


def test_a_bitcast_keeps_the_size() -> None:
    assert verify((stored(Cast(load(), UINT32, bitcast=True)),))
    assert verify((stored(Cast(load(), DOUBLE)),))
    assert "of another size" in fault(stored(Cast(load(), DOUBLE, bitcast=True)))


@pytest.mark.parametrize(
    ("value", "dtype", "message"),
    [
        (math.nan, FLOAT, None),
        (math.inf, HALF, None),
        (0.0, INT32, None),
        (True, FLOAT, None),
        ((1 << 64) - 1, UINT32, None),
        (math.nan, INT32, "nan of dtype int"),
        (-math.inf, BOOL, "-inf of dtype bool"),
        (1 << 64, UINT32, "beyond 64 bits"),
        (-(1 << 64), INT32, "beyond 64 bits"),
        (Var("i", 1, 9), INT32, None),
        (Var("i", 1, 9), FLOAT, "symbolic value of dtype float"),
        (Var("i", 1, 1 << 63), INT32, "beyond 2**62"),
    ],
)
def test_constants(value, dtype: DType, message: str | None) -> None:
    store = stored(Constant(value, dtype, ShapeTracker.from_shape((4,))))
    if message is None:
        assert verify((store,))
    else:
        assert message in fault(store)


def test_a_buffer_has_one_dtype() -> None:
    both = Alu(Op.ADD, (Cast(load(), HALF), load(dtype=HALF)))
    assert "buffer 1 is float elsewhere" in fault(stored(both))
    in_place = Cast(load(dtype=HALF, number=0), FLOAT)
    assert "buffer 0 is half elsewhere" in fault(stored(in_place))
    one, other = (image(IMAGE_HALF, shape) for shape in ((4, 6, 4), (6, 4, 4)))
    assert "elsewhere" in fault(stored(Alu(Op.ADD, (load(dtype=one), load(dtype=other)))))


@pytest.mark.parametrize("number", [-1, 4096])
def test_buffer_numbers(number: int) -> None:
    assert "is not in 0..4095" in fault(stored(load(number=number)))
    assert verify((stored(load(number=4095)),))


def reading(*views: View, dtype: DType = FLOAT) -> Store:
    return stored(Load(1, dtype, ShapeTracker(views)), FLOAT)


N = Var("n", 1, 8)
BEFORE = View.create((5,), (1,), -2)


@pytest.mark.parametrize(
    ("views", "element"),
    [
        ((BEFORE,), -2),
        ((View.create((5,), (-1,), 3),), -1),
        ((View.create((5,), (1,), -2, ((1, 5),)),), -1),
        ((View.create((5,), (1,), -2, ((2, 5),)),), None),
        ((View((5,), (1,), -9, ((2, 2),)),), None),
        ((View.create((5,), (-1,), 4),), None),
        # The second view shows the points from the third on, or one more.
        ((BEFORE, View.create((3,), (1,), 2)), None),
        ((BEFORE, View.create((4,), (1,), 1)), -1),
        ((BEFORE, View.create((5,), (1,), 0, ((2, 5),))), None),
        ((BEFORE, View.create((5,), (1,), 0, ((1, 5),))), -1),
        # A stack of too many points to be asked is taken to be kept inside.
        ((BEFORE, View.create((5, 1 << 20), (1, 0), 0)), None),
        ((View.create((8,), (1,), N - 1),), None),
        ((View.create((8,), (1,), N - 2),), -1),
        ((View.create((8,), (1,), 7 - N),), -1),
        ((View.create((8,), (-1,), N - 1, ((0, N),)),), None),
    ],
)
def test_no_point_lies_before_its_buffer(views: tuple[View, ...], element: int | None) -> None:
    if element is None:
        verify((reading(*views),))
    else:
        said = fault(reading(*views))
        assert said == f"STORE 0 > LOAD 1: reaches element {element} of its buffer"
    st = ShapeTracker(views)
    constant = Constant(1.0, FLOAT, ShapeTracker.from_shape(st.shape))
    store = Store(0, FLOAT, st, constant)
    if element is None:
        verify((store,))
    else:
        assert fault(store) == f"STORE 0: reaches element {element} of its buffer"


def test_no_point_lies_behind_an_image() -> None:
    dtype = image(IMAGE_HALF, (2, 3, 4))
    verify((reading(View.create((24,)), dtype=dtype),))
    said = fault(reading(View.create((24,), (1,), 1), dtype=dtype))
    assert said == "STORE 0 > LOAD 1: reaches element 24 of an image of 24"


def test_a_variable_means_one_thing() -> None:
    def rows(high: int) -> Value:
        st = ShapeTracker.from_shape((4, 6)).shrink(
            ((Var("i", 0, high), Var("i", 0, high) + 1), (0, 6))
        )
        return Load(1, FLOAT, st)

    assert verify((stored(Alu(Op.ADD, (rows(2), rows(2)))),))
    assert "variable i has other bounds" in fault(stored(Alu(Op.ADD, (rows(2), rows(3)))))


def chain(length: int) -> Store:
    value: Value = load()
    for _ in range(length):
        value = Alu(Op.NEG, (value,))
    return stored(value)


def test_depth_is_bounded() -> None:
    assert verify((chain(MAX_DEPTH - 2),))
    assert f"more than {MAX_DEPTH} nodes deep" in fault(chain(MAX_DEPTH - 1))
    assert "... " in fault(chain(5_000))


def test_a_shared_dag_is_walked_once() -> None:
    value: Value = load()
    for _ in range(200):
        value = Alu(Op.ADD, (value, value))
    assert verify((stored(value),))


def test_the_path_names_the_operand() -> None:
    wrong = Reduce(ReduceOp.MAX, load(), (5,))
    right = Cast(load(number=2), HALF)
    message = fault(stored(Alu(Op.ADD, (right, Cast(wrong, HALF)))))
    assert message.startswith("STORE 0 > ADD[1] > CAST half > reduce MAX: ")


SYMBOL = Var("n", 1, 9)


@pytest.mark.parametrize(
    "view",
    [
        View((), ()),
        View((4,), (-1,), 3),
        View((4,), (1,), 0, ((2, 2),)),
        View((4,), (1,), 0, ((0, 4),)),
        View((SYMBOL, 4), (4, 1), SYMBOL * -2, ((0, SYMBOL), (0, 4))),
        View((SYMBOL + 1,), (1,), 0, ((SYMBOL, SYMBOL + 1),)),
        View((1,) * MAX_DIMS, (0,) * MAX_DIMS),
        View((2,), (MAX_NUMBER,)),
    ],
)
def test_good_views(view: View) -> None:
    check_view(view)


@pytest.mark.parametrize(
    ("view", "where"),
    [
        (View((0,), (1,)), "shape"),
        (View((-3,), (1,)), "shape"),
        (View((SYMBOL - 1,), (1,)), "shape"),
        (View((1,) * (MAX_DIMS + 1), (0,) * (MAX_DIMS + 1)), "shape"),
        (View((1 << 40, 1 << 40), (0, 0)), "shape"),
        (View((4,), ()), "strides"),
        (View((3,), (MAX_NUMBER,)), "strides"),
        (View((1,), (MAX_NUMBER + 1,)), "strides"),
        (View((1,), (1,), MAX_NUMBER + 1), "strides"),
        (View((4,), (1,), 0, ()), "mask"),
        (View((4,), (1,), 0, ((3, 2),)), "mask"),
        (View((4,), (1,), 0, ((-1, 2),)), "mask"),
        (View((4,), (1,), 0, ((0, 5),)), "mask"),
        (View((SYMBOL,), (1,), 0, ((0, SYMBOL + 1),)), "mask"),
    ],
)
def test_impossible_views(view: View, where: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        check_view(view)
    assert caught.value.where == where


def test_a_stack_of_views_is_bounded() -> None:
    def tracker(count: int) -> Ast:
        st = ShapeTracker((View((4,), (1,)),) * count)
        return (stored(Load(1, FLOAT, st)),)

    assert verify(tracker(32))
    assert "33 views" in fault(*tracker(33))
