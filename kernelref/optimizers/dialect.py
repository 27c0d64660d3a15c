"""Dialects: which nodes each release has, and an equal spelling for those that it lacks.

`translate` gives an AST in one release's words that computes the same, bit for bit, or raises
`Unsupported` with the reason under which such an AST is counted. One table of rewrites serves all
releases; a rewrite is used where a release lacks the op.

Source: tinygrad 0.8.0, 0.9.0 and 0.9.1 ops.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from kernelref.errors import Unsupported
from kernelref.ir.ast import (
    Alu,
    Ast,
    Cast,
    Constant,
    Load,
    Node,
    Op,
    Reduce,
    Store,
    Value,
    postorder,
)
from kernelref.ir.dtype import DType, Kind
from kernelref.ir.index import Binary, Expr, IndexOp, Sint, Var
from kernelref.ir.shapetracker import ShapeTracker
from kernelref.ir.view import View


@dataclass(frozen=True, slots=True)
class Dialect:
    """What the ASTs of one release may hold."""

    version: str
    ops: frozenset[Op]
    several_outputs: bool = True
    several_reduces: bool = True
    symbolic_constants: bool = True


_COMMON = frozenset({
    Op.ADD, Op.MUL, Op.NEG, Op.XOR, Op.MAX, Op.MOD, Op.CMPLT, Op.MULACC, Op.WHERE,
    Op.EXP2, Op.LOG2, Op.SIN, Op.SQRT,
})  # fmt: skip
_BEFORE_0_9_1 = _COMMON | {Op.SUB, Op.DIV, Op.CMPEQ}
# 0.8.0 has the word MULACC, but its construction counts operations and falls over on this one.
_OLDEST = _BEFORE_0_9_1 - {Op.MULACC}

DIALECTS: dict[str, Dialect] = {
    "0.8.0": Dialect(
        "0.8.0", _OLDEST,
        several_outputs=False, several_reduces=False, symbolic_constants=False,
    ),
    "0.9.0": Dialect("0.9.0", _BEFORE_0_9_1, several_reduces=False),
    "0.9.1": Dialect("0.9.1", _COMMON | {Op.RECIP, Op.IDIV, Op.CMPNE, Op.SHL, Op.SHR}),
}  # fmt: skip


def translate(ast: Ast, dialect: Dialect) -> Ast:
    """The same computation in the dialect's words. Raises: Unsupported."""
    order = postorder(ast)
    if len(ast) > 1 and not dialect.several_outputs:
        raise Unsupported("several-outputs", f"{dialect.version} stores one")
    reduces = sum(isinstance(node, Reduce) for node in order)
    if reduces > 1 and not dialect.several_reduces:
        raise Unsupported("several-reduces", f"{dialect.version} takes one")
    if any(_truncates(part) for node in order for part in _parts(node)):
        raise Unsupported("truncating-index", "the release's index divisions round down")
    said: dict[Node, Value] = {}
    stores: dict[Node, Store] = {}
    for node in order:
        if isinstance(node, Store):
            stores[node] = replace(node, value=said[node.value])
        else:
            said[node] = _say(node, said, dialect)
    return tuple(stores[store] for store in ast)


def _parts(node: Node) -> Iterator[Sint]:
    """The integers of a node's views, and the value of a constant that is an index."""
    if isinstance(node, Load | Store | Constant):
        for view in node.st.views:
            yield from view.parts()
    if isinstance(node, Constant) and isinstance(node.value, Expr):
        yield node.value


def _truncates(part: Sint) -> bool:
    """Whether it divides as C does."""
    match part:
        case Binary(IndexOp.CDIV | IndexOp.CMOD):
            return True
        case Binary(_, left, right):
            return _truncates(left) or _truncates(right)
        case Var(_, _, high):
            return _truncates(high)
    return False


def _say(node: Value, said: dict[Node, Value], dialect: Dialect) -> Value:
    """One node whose sources are said already."""
    match node:
        case Load():
            return node
        case Constant(value=value):
            if isinstance(value, Expr) and not dialect.symbolic_constants:
                raise Unsupported("symbolic-constant", f"{dialect.version} has none")
            return node
        case Cast(value, dtype, bitcast):
            return Cast(said[value], dtype, bitcast)
        case Reduce(op, value, axes):
            return Reduce(op, said[value], axes)
        case Alu(op, src):
            spelled = Alu(op, tuple(said[source] for source in src))
            return spelled if op in dialect.ops else _REWRITES[op](spelled)
    raise AssertionError(f"not a value node: {node!r}")


def _subtract(node: Alu) -> Value:
    """a - b = a + (-b), in floats too; on bool it is exclusive or."""
    left, right = node.src
    if left.dtype.kind is Kind.BOOL:
        return Alu(Op.XOR, (left, right))
    return Alu(Op.ADD, (left, Alu(Op.NEG, (right,))))


def _divide(node: Alu) -> Value:
    """Integers: IDIV. Floats: 1 / b is RECIP; a * RECIP(b) would round twice."""
    left, right = node.src
    if left.dtype.is_int:
        return Alu(Op.IDIV, (left, right))
    if left.dtype.is_float and _plain_constant(left) == 1:
        return Alu(Op.RECIP, (right,))
    raise Unsupported("float-division", "no op rounds the quotient once")


def _reciprocal(node: Alu) -> Value:
    """1 / a."""
    (source,) = node.src
    return Alu(Op.DIV, (_constant(1.0, source.dtype.value, source.shape), source))


def _integer_divide(node: Alu) -> Value:
    """DIV divides integers towards zero as well."""
    return Alu(Op.DIV, node.src)


def _equal(node: Alu) -> Value:
    """not (a != b): NEG of a bool is not; a NaN differs from itself in both spellings."""
    return Alu(Op.NEG, (Alu(Op.CMPNE, node.src),))


def _not_equal(node: Alu) -> Value:
    """not (a == b)."""
    return Alu(Op.NEG, (Alu(Op.CMPEQ, node.src),))


def _multiply_accumulate(node: Alu) -> Value:
    """a * b + c, each rounded."""
    left, right, addend = node.src
    return Alu(Op.ADD, (Alu(Op.MUL, (left, right)), addend))


def _shift_left(node: Alu) -> Value:
    """a << n = a * 2**n, wrapped."""
    return Alu(Op.MUL, (node.src[0], _power_of_two(node, "shift-left")))


def _shift_right(node: Alu) -> Value:
    """a >> n = a / 2**n where a is unsigned; a signed quotient rounds the other way."""
    if node.src[0].dtype.kind is not Kind.UNSIGNED:
        raise Unsupported("arithmetic-shift", "DIV rounds towards zero")
    return Alu(Op.DIV, (node.src[0], _power_of_two(node, "shift-right")))


def _power_of_two(node: Alu, reason: str) -> Constant:
    value, count = node.src
    amount = _plain_constant(count)
    dtype = value.dtype
    if not isinstance(amount, int) or not dtype.is_int or not 0 <= amount < dtype.bits:
        raise Unsupported(reason, "by something else than a constant in range")
    power = 1 << amount
    return _constant(power - (1 << dtype.bits) if power > dtype.highest else power, dtype,
                     value.shape)  # fmt: skip


def _plain_constant(node: Value) -> bool | int | float | None:
    """The one number that the node is at every point, if it is."""
    if not isinstance(node, Constant) or isinstance(node.value, Expr):
        return None
    return node.value if all(view.mask is None for view in node.st.views) else None


def _constant(value: int | float, dtype: DType, shape: tuple[Sint, ...]) -> Constant:
    return Constant(value, dtype, ShapeTracker((View(shape, (0,) * len(shape)),)))


_REWRITES: Mapping[Op, Callable[[Alu], Value]] = {
    Op.SUB: _subtract, Op.DIV: _divide, Op.CMPEQ: _equal, Op.RECIP: _reciprocal,
    Op.IDIV: _integer_divide, Op.CMPNE: _not_equal, Op.SHL: _shift_left, Op.SHR: _shift_right,
    Op.MULACC: _multiply_accumulate,
}  # fmt: skip
