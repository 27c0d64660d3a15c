"""Each dialect's spelling of each op computes the same bits, or is Unsupported for its reason."""

from __future__ import annotations

import gzip
import os
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from kernelref.errors import Unsupported
from kernelref.ir.ast import Alu, Ast, Cast, Constant, Load, Op, Reduce, ReduceOp, Store, postorder
from kernelref.ir.dtype import BOOL, FLOAT, HALF, INT8, INT32, SCALARS, UINT8, UINT32, DType
from kernelref.ir.index import Var
from kernelref.ir.semantics import is_defined
from kernelref.ir.shapetracker import ShapeTracker
from kernelref.ir.tinygrad_repr import Reader
from kernelref.ir.view import View
from kernelref.optimizers.dialect import DIALECTS, Dialect, translate
from kernelref.run.oracle import Oracle

N = 64
WHOLE = ShapeTracker((View.create((N,)),))
EVERYWHERE = ShapeTracker((View.create((N,), (0,)),))
SHARED = Path(os.environ.get("KERNELREF_SHARED", Path(__file__).parents[3] / "shared"))


def edges(dtype: DType, seed: int) -> np.ndarray:
    """Values of a dtype with its extremes among them."""
    rng = np.random.default_rng(seed)
    if dtype.is_float:
        special = [0.0, -0.0, 1.0, -1.0, 3.0, 0.1, np.inf, -np.inf, np.nan]
        values = np.concatenate([special, rng.normal(size=N - len(special))])
    elif dtype == BOOL:
        values = rng.integers(0, 2, N)
    else:
        ends = np.array([dtype.lowest, dtype.highest, 0, 1, 2, 3], dtype.numpy)
        values = np.concatenate([ends, rng.integers(1, 100, N - len(ends)).astype(dtype.numpy)])
    return rng.permutation(values).astype(dtype.numpy)


def stored(values: np.ndarray, dtype: DType) -> np.ndarray:
    if dtype.name == "bfloat16":
        return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return values


def store(value: Alu | Cast | Reduce | Load) -> Ast:
    return (Store(0, value.dtype, WHOLE, value),)


def bits(ast: Ast, inputs: dict[int, np.ndarray]) -> np.ndarray:
    return Oracle(ast, inputs).exact(0)


def words_of(ast: Ast) -> set[Op]:
    return {node.op for node in postorder(ast) if isinstance(node, Alu)}


NOT_ON_BOOL = frozenset({Op.DIV, Op.IDIV, Op.MOD, Op.RECIP, Op.SHL, Op.SHR})


def has_meaning(op: Op, dtype: DType) -> bool:
    if dtype == BOOL and op in NOT_ON_BOOL:
        return False
    return is_defined(op, dtype) and not (dtype.is_int and op is Op.RECIP)


def reason_against(op: Op, dtype: DType, dialect: Dialect) -> str | None:
    """Why a dialect has no equal for an op on a dtype, if it has none."""
    if op is Op.DIV and dtype.is_float and dialect.version == "0.9.1":
        return "float-division"
    if op is Op.SHR and dtype.kind.value == "signed" and dialect.version != "0.9.1":
        return "arithmetic-shift"
    return None


def one_op(op: Op, dtype: DType) -> tuple[Ast, dict[int, np.ndarray]]:
    loads: list[Load | Constant] = [Load(1 + i, dtype, WHOLE) for i in range(op.arity)]
    inputs = {1 + i: stored(edges(dtype, i), dtype) for i in range(op.arity)}
    if op is Op.WHERE:
        loads[0], inputs[1] = Load(1, BOOL, WHOLE), edges(BOOL, 0)
    if op in (Op.SHL, Op.SHR):
        loads[1] = Constant(dtype.bits - 1, dtype, EVERYWHERE)
    return store(Alu(op, tuple(loads))), inputs


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=list(DIALECTS))
@pytest.mark.parametrize("op", list(Op), ids=lambda op: op.name)
def test_every_op_on_every_dtype(dialect: Dialect, op: Op) -> None:
    for dtype in SCALARS:
        if not has_meaning(op, dtype):
            continue
        ast, inputs = one_op(op, dtype)
        reason = reason_against(op, dtype, dialect)
        if reason is not None:
            with pytest.raises(Unsupported, match=reason):
                translate(ast, dialect)
            continue
        spelled = translate(ast, dialect)
        assert words_of(spelled) <= dialect.ops
        np.testing.assert_array_equal(bits(ast, inputs), bits(spelled, inputs), strict=True)


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=list(DIALECTS))
def test_what_a_dialect_has_is_left_alone(dialect: Dialect) -> None:
    value = Alu(Op.MUL, (Load(1, FLOAT, WHOLE), Load(2, FLOAT, WHOLE)))
    ast = store(Cast(value, HALF))
    assert translate(ast, dialect)[0] is ast[0]


def test_one_over_x_is_reciprocal() -> None:
    one, x = Constant(1.0, FLOAT, EVERYWHERE), Load(1, FLOAT, WHOLE)
    ast = store(Alu(Op.DIV, (one, x)))
    spelled = translate(ast, DIALECTS["0.9.1"])
    assert words_of(spelled) == {Op.RECIP}
    inputs = {1: edges(FLOAT, 5)}
    np.testing.assert_array_equal(bits(ast, inputs), bits(spelled, inputs))


def test_a_masked_one_is_not_one() -> None:
    masked = ShapeTracker((View.create((N,), (0,), 0, ((0, N // 2),)),))
    ast = store(Alu(Op.DIV, (Constant(1.0, FLOAT, masked), Load(1, FLOAT, WHOLE))))
    with pytest.raises(Unsupported, match="float-division"):
        translate(ast, DIALECTS["0.9.1"])


@pytest.mark.parametrize("amount", [0, 1, 7, 31])
def test_shifts_by_constants(amount: int) -> None:
    for dtype, op in ((INT32, Op.SHL), (UINT32, Op.SHL), (UINT32, Op.SHR)):
        ast = store(Alu(op, (Load(1, dtype, WHOLE), Constant(amount, dtype, EVERYWHERE))))
        spelled = translate(ast, DIALECTS["0.8.0"])
        inputs = {1: edges(dtype, amount)}
        np.testing.assert_array_equal(bits(ast, inputs), bits(spelled, inputs))


@pytest.mark.parametrize(
    "count", [Load(2, INT8, WHOLE), Constant(8, INT8, EVERYWHERE), Constant(-1, INT8, EVERYWHERE)]
)
def test_shifts_by_anything_else_have_no_equal(count: Load | Constant) -> None:
    ast = store(Alu(Op.SHL, (Load(1, INT8, WHOLE), count)))
    with pytest.raises(Unsupported, match="shift-left"):
        translate(ast, DIALECTS["0.9.0"])


def test_outputs_reduces_and_symbols() -> None:
    column = ShapeTracker((View.create((1,)),))
    total = Reduce(ReduceOp.SUM, Load(1, UINT8, WHOLE), (0,))
    most = Reduce(ReduceOp.MAX, Load(1, UINT8, WHOLE), (0,))
    two_outputs = tuple(Store(i, UINT8, column, total) for i in range(2))
    two_reduces: Ast = (Store(0, UINT8, column, Alu(Op.ADD, (total, most))),)
    symbolic = store(
        Alu(Op.ADD, (Load(1, INT32, WHOLE), Constant(Var("i", 1, 5), INT32, EVERYWHERE)))
    )
    expected = {
        "0.8.0": ["several-outputs", "several-reduces", "symbolic-constant"],
        "0.9.0": [None, "several-reduces", None],
        "0.9.1": [None, None, None],
    }
    for version, reasons in expected.items():
        for ast, reason in zip((two_outputs, two_reduces, symbolic), reasons, strict=True):
            if reason is None:
                assert translate(ast, DIALECTS[version])
            else:
                with pytest.raises(Unsupported, match=reason):
                    translate(ast, DIALECTS[version])


def test_real_kernels_of_one_release_in_the_words_of_the_others() -> None:
    file = SHARED / "kernels" / "tinygrad-0.8.0.txt.gz"
    if not file.is_file():
        pytest.skip(f"no real kernels in {file.parent}")
    reader, compared, unsupported = Reader(), 0, Counter[str]()
    with gzip.open(file, "rt") as lines:
        for number, line in enumerate(lines):
            if number % 101 or len(line) > 20_000 or "Variable" in line or "image" in line:
                continue
            ast = reader.read(line).ast
            loads = {node.buffer: node for node in postorder(ast) if isinstance(node, Load)}
            size = max(int(np.prod(ast[0].shape)), *(n.st.real_size() for n in loads.values()), 1)
            try:
                spelled = translate(ast, DIALECTS["0.9.1"])
            except Unsupported as error:
                unsupported[error.reason] += 1
                continue
            if size > 20_000:
                continue
            rng = np.random.default_rng(number)
            inputs = {
                b: rng.integers(0, 9, node.st.real_size()).astype(node.dtype.numpy)
                for b, node in loads.items()
            }
            np.testing.assert_array_equal(bits(ast, inputs), bits(spelled, inputs))
            compared += 1
    assert compared >= 20
    assert set(unsupported) <= {"float-division"}
