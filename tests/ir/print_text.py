"""An AST back as the text of a release, to compare with what was read."""

from __future__ import annotations

from kernelref.ir.ast import (
    Alu,
    Ast,
    Cast,
    Constant,
    Load,
    Node,
    Reduce,
    Store,
    children,
    postorder,
)
from kernelref.ir.dtype import DType
from kernelref.ir.shapetracker import ShapeTracker
from kernelref.ir.tinygrad_repr import Dialect

_FAMILY = {1: "UnaryOps", 2: "BinaryOps", 3: "TernaryOps"}


def text_of(ast: Ast, dialect: Dialect) -> str:
    """The line, with every `contiguous=` as this package derives it; no symbolic parts."""
    old = dialect is Dialect.V0_8_0
    texts: dict[Node, str] = {}
    for node in postorder(ast):
        src = "".join(f"{texts[source]}, " for source in children(node))
        src = src.removesuffix(" ") if len(children(node)) == 1 else src.removesuffix(", ")
        op, arg = _op_and_argument(node, old=old)
        texts[node] = f"LazyOp(op={op}, src=({src}), arg={arg})"
    if old:
        return texts[ast[0]]
    return repr(tuple(_Verbatim(texts[store]) for store in ast))


class _Verbatim(str):
    def __repr__(self) -> str:
        return str(self)


def _op_and_argument(node: Node, *, old: bool) -> tuple[str, str]:
    match node:
        case Load(buffer, dtype, st):
            return "BufferOps.LOAD", f"MemBuffer(idx={buffer}, dtype={_dtype(dtype)}, st={_st(st)})"
        case Store(buffer, dtype, st):
            return (
                "BufferOps.STORE",
                f"MemBuffer(idx={buffer}, dtype={_dtype(dtype)}, st={_st(st)})",
            )
        case Constant(value, dtype, st):
            return (
                "BufferOps.CONST",
                f"ConstBuffer(val={value}, dtype={_dtype(dtype)}, st={_st(st)})",
            )
        case Reduce(op, _, axes):
            return f"ReduceOps.{op.name}", repr(node.shape if old else axes)
        case Cast(_, dtype, bitcast):
            if old:
                return "UnaryOps.CAST", f"({_dtype(dtype)}, {bitcast})"
            return f"UnaryOps.{'BITCAST' if bitcast else 'CAST'}", _dtype(dtype)
        case Alu(op):
            return f"{_FAMILY[op.arity]}.{op.name}", "None"


def _dtype(dtype: DType) -> str:
    return f"dtypes.{dtype.name}" + (f"({dtype.image})" if dtype.image else "")


def _st(st: ShapeTracker) -> str:
    views = tuple(
        _Verbatim(
            f"View(shape={view.shape}, strides={view.strides}, offset={view.offset}, "
            f"mask={view.mask}, contiguous={view.contiguous})"
        )
        for view in st.views
    )
    return f"ShapeTracker(views={views!r})"
