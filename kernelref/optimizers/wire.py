"""The wire format between kernelref and a worker: ASTs, limits, opts and states as JSON values.

An extent is an int or ["var", name, low, high] or [op, left, right] with op of + * // %. A view is
[shape, strides, offset, mask]. A node is {"op", "src": [indices], ...}; sources come first. The
worker's side is `tinygrad/plain`.
"""

from __future__ import annotations

from typing import Any

from kernelref.errors import InvalidInput, Unsupported
from kernelref.ir.ast import Alu, Ast, Cast, Constant, Load, Node, Reduce, Store, children
from kernelref.ir.dtype import DType
from kernelref.ir.index import Binary, Expr, IndexOp, Int, Sint, Var, and_, lt
from kernelref.ir.shapetracker import ShapeTracker
from kernelref.ir.view import View
from kernelref.opt.limits import Limits
from kernelref.opt.tensor_core import AMD, CUDA, HIP_0_8_0, METAL, METAL_0_8_0, PTX, TensorCore


def write_ast(ast: Ast) -> dict[str, Any]:
    """All nodes, sources first, each once; and which of them are the stores."""
    number: dict[Node, int] = {}
    nodes: list[dict[str, Any]] = []
    for root in ast:
        pending: list[tuple[Node, bool]] = [(root, False)]
        while pending:
            node, ready = pending.pop()
            if node in number:
                continue
            if not ready:
                pending.append((node, True))
                pending.extend((child, False) for child in reversed(children(node)))
                continue
            number[node] = len(nodes)
            nodes.append(write_node(node, [number[child] for child in children(node)]))
    return {"nodes": nodes, "stores": [number[root] for root in ast]}


def write_node(node: Node, src: list[int]) -> dict[str, Any]:
    """One node whose sources have numbers."""
    match node:
        case Load(buffer, dtype, st):
            return {"op": "LOAD", "buffer": buffer, "dtype": write_dtype(dtype), "st": write_st(st)}
        case Store(buffer, dtype, st):
            return {
                "op": "STORE", "src": src, "buffer": buffer,
                "dtype": write_dtype(dtype), "st": write_st(st),
            }  # fmt: skip
        case Constant(value, dtype, st):
            plain = write_sint(value) if isinstance(value, Expr) else value
            return {"op": "CONST", "value": plain, "dtype": write_dtype(dtype), "st": write_st(st)}
        case Alu(op):
            return {"op": op.value[0], "src": src}
        case Cast(_, dtype, bitcast):
            return {"op": "CAST", "src": src, "dtype": write_dtype(dtype), "bitcast": bitcast}
        case Reduce(op, _, axes):
            shape = [write_sint(extent) for extent in node.shape]
            return {
                "op": "REDUCE", "src": src, "reduce": op.value, "axes": list(axes), "shape": shape
            }  # fmt: skip
    raise AssertionError(f"not an AST node: {node!r}")


def write_sint(value: Sint) -> Any:
    """An extent, stride or offset. Raises: Unsupported for what no release can say."""
    match value:
        case int():
            return value
        case Int(number):
            return number
        case Var(name, low, high):
            return ["var", name, low, write_sint(high)]
        case Binary(IndexOp.CDIV | IndexOp.CMOD as op):
            raise Unsupported("c-division-in-index", f"{op.value}: a release has none")
        case Binary(op, left, right):
            return [op.value, write_sint(left), write_sint(right)]
    raise AssertionError(f"not an index expression: {value!r}")


def write_dtype(dtype: DType) -> Any:
    """A name; an image as [name, shape]."""
    return dtype.name if dtype.image is None else [dtype.name, list(dtype.image)]


def write_st(st: ShapeTracker) -> list[Any]:
    """Its views."""
    return [
        [
            [write_sint(extent) for extent in view.shape],
            [write_sint(stride) for stride in view.strides],
            write_sint(view.offset),
            None if view.mask is None
            else [[write_sint(begin), write_sint(end)] for begin, end in view.mask],
        ]
        for view in st.views
    ]  # fmt: skip


def write_limits(limits: Limits) -> dict[str, Any]:
    """All fields; a tensor core by the table it comes from, its tile and its dtypes."""
    return {
        "has_local": limits.has_local,
        "has_shared": limits.has_shared,
        "shared_max": limits.shared_max,
        "global_max": None if limits.global_max is None else list(limits.global_max),
        "local_max": None if limits.local_max is None else list(limits.local_max),
        "supports_float4": limits.supports_float4,
        "tensor_cores": [write_tensor_core(core) for core in limits.tensor_cores],
        "tc": limits.tc,
    }


_TABLES: tuple[tuple[str, tuple[TensorCore, ...]], ...] = (
    ("metal", METAL), ("metal", METAL_0_8_0), ("cuda", CUDA), ("ptx", PTX),
    ("amd", AMD), ("amd", HIP_0_8_0),
)  # fmt: skip


def write_tensor_core(core: TensorCore) -> dict[str, Any]:
    """Raises: InvalidInput for a core that no release has."""
    for table, cores in _TABLES:
        if core in cores:
            return {
                "table": table, "dims": list(core.dims),
                "input": core.dtype_in.name, "output": core.dtype_out.name,
            }  # fmt: skip
    raise InvalidInput(f"no release has the tensor core {core}", where="limits.tensor_cores")


def read_sint(value: Any) -> Sint:
    """The reverse of `write_sint`. Raises: InvalidInput."""
    match value:
        case bool():
            pass
        case int():
            return value
        case ["var", str(name), int(low), high]:
            return Var(name, low, read_sint(high))
        case ["+", left, right]:
            return read_sint(left) + read_sint(right)
        case ["*", left, right]:
            return read_sint(left) * read_sint(right)
        case ["//", left, right]:
            return read_sint(left) // read_sint(right)
        case ["%", left, right]:
            return read_sint(left) % read_sint(right)
        case ["<", left, right]:
            return lt(read_sint(left), read_sint(right))
        case ["and", left, right]:
            return and_(read_sint(left), read_sint(right))
    raise InvalidInput(f"not an extent: {value!r}", where="worker")


def read_view(value: Any) -> View:
    """A view exactly as it is: nothing is made canonical. Raises: InvalidInput."""
    match value:
        case [list(shape), list(strides), offset, mask]:
            ranges = None
            if mask is not None:
                ranges = tuple((read_sint(begin), read_sint(end)) for begin, end in mask)
            return View(
                tuple(map(read_sint, shape)), tuple(map(read_sint, strides)),
                read_sint(offset), ranges,
            )  # fmt: skip
    raise InvalidInput(f"not a view: {value!r}", where="worker")


def read_st(value: Any) -> ShapeTracker:
    """A ShapeTracker from its views."""
    return ShapeTracker(tuple(map(read_view, value)))
