"""Plain JSON values <-> a release's own objects: extents, views, dtypes, LazyOps, opts.

The wire format is documented in `kernelref/optimizers/wire`. Works for every release of the
families: what differs between them is asked of the family object. Runs in the worker process only.
"""

from __future__ import annotations

import importlib
from typing import Any

symbolic: Any = importlib.import_module("tinygrad.shape.symbolic")
views: Any = importlib.import_module("tinygrad.shape.view")
trackers: Any = importlib.import_module("tinygrad.shape.shapetracker")
ops: Any = importlib.import_module("tinygrad.ops")
dtypes: Any = importlib.import_module("tinygrad.dtype").dtypes
ImageDType: Any = importlib.import_module("tinygrad.dtype").ImageDType

# Wire names of dtypes whose attribute in the release's `dtypes` is another word.
SCALARS = {name: getattr(dtypes, name) for name in (
    "bool", "char", "uchar", "short", "ushort", "int", "uint", "long", "ulong",
    "half", "bfloat16", "float", "double")}  # fmt: skip


def read_sint(value: Any) -> Any:
    """An extent, stride or offset: an int, or a symbolic Node."""
    if isinstance(value, int):
        return value
    match value:
        case ["var", name, low, high]:
            return symbolic.Variable(name, low, read_sint(high))
        case ["+", left, right]:
            return read_sint(left) + read_sint(right)
        case ["*", left, right]:
            return read_sint(left) * read_sint(right)
        case ["//", left, right]:
            return read_sint(left) // read_sint(right)
        case ["%", left, right]:
            return read_sint(left) % read_sint(right)
    raise ValueError(f"not an extent: {value!r}")


def write_sint(value: Any) -> Any:
    """The reverse; None stays None (an unknown stride)."""
    if value is None or isinstance(value, int):
        return value
    match type(value).__name__:
        case "NumNode":
            return value.b
        case "Variable":
            return ["var", value.expr, value.min, write_sint(value.max)]
        case "MulNode":
            return ["*", write_sint(value.a), write_sint(value.b)]
        case "DivNode":
            return ["//", write_sint(value.a), write_sint(value.b)]
        case "ModNode":
            return ["%", write_sint(value.a), write_sint(value.b)]
        case "LtNode":
            return ["<", write_sint(value.a), write_sint(value.b)]
        case "SumNode" | "AndNode" as kind:
            terms = [write_sint(node) for node in value.nodes]
            total = terms[0]
            for term in terms[1:]:
                total = ["+" if kind == "SumNode" else "and", total, term]
            return total
    raise ValueError(f"not an index expression: {value!r}")


def write_sints(values: Any) -> list[Any]:
    """Each of them."""
    return [write_sint(value) for value in values]


def read_view(value: list[Any]) -> Any:
    """A View, exactly as given: nothing is made canonical."""
    shape, strides = tuple(map(read_sint, value[0])), tuple(map(read_sint, value[1]))
    offset = read_sint(value[2])
    mask = tuple((read_sint(a), read_sint(b)) for a, b in value[3]) if value[3] else None
    plain = offset == 0 and mask is None and strides == views.strides_for_shape(shape)
    return views.View(shape, strides, offset, mask, plain or 0 in shape)


def write_view(view: Any) -> list[Any]:
    """[shape, strides, offset, mask]."""
    mask = None if view.mask is None else [write_sints(ends) for ends in view.mask]
    return [write_sints(view.shape), write_sints(view.strides), write_sint(view.offset), mask]


def read_st(value: list[Any]) -> Any:
    """A ShapeTracker from its views."""
    return trackers.ShapeTracker(tuple(map(read_view, value)))


def write_st(st: Any) -> list[Any]:
    """Its views."""
    return [write_view(view) for view in st.views]


def read_dtype(value: Any) -> Any:
    """A scalar by name; an image as [name, shape]."""
    if isinstance(value, str):
        return SCALARS[value]
    return getattr(dtypes, value[0])(tuple(value[1]))


def write_dtype(dtype: Any) -> Any:
    """The reverse."""
    if isinstance(dtype, ImageDType):
        return [dtype.name, list(dtype.shape)]
    return next(name for name, scalar in SCALARS.items() if scalar == dtype)


def read_ast(family: Any, ast: dict[str, Any]) -> tuple[Any, ...]:
    """LazyOps from a node list; a node used twice is one object."""
    built: list[Any] = []
    for node in ast["nodes"]:
        built.append(read_node(family, node, built))
    return tuple(built[index] for index in ast["stores"])


def read_node(family: Any, node: dict[str, Any], built: list[Any]) -> Any:
    """One LazyOp whose sources are built already."""
    src = tuple(built[index] for index in node.get("src", ()))
    kind = node["op"]
    if kind in ("LOAD", "STORE"):
        arg = ops.MemBuffer(node["buffer"], read_dtype(node["dtype"]), read_st(node["st"]))
        return ops.LazyOp(getattr(ops.BufferOps, kind), src, arg)
    if kind == "CONST":
        value = node["value"]
        if isinstance(value, list):
            value = family.constant_variable(read_sint(value))
        arg = ops.ConstBuffer(value, read_dtype(node["dtype"]), read_st(node["st"]))
        return ops.LazyOp(ops.BufferOps.CONST, src, arg)
    if kind == "CAST":
        return family.cast(src[0], read_dtype(node["dtype"]), node["bitcast"])
    if kind == "REDUCE":
        shape = tuple(map(read_sint, node["shape"]))
        op = getattr(ops.ReduceOps, node["reduce"])
        return ops.LazyOp(op, src, family.reduce_arg(node["axes"], shape))
    for group in (ops.UnaryOps, ops.BinaryOps, ops.TernaryOps):
        if kind in group.__members__:
            return ops.LazyOp(group[kind], src)
    raise ValueError(f"this release has no op {kind}")


def op_names() -> list[str]:
    """The element-wise ops that the release has."""
    groups = (ops.UnaryOps, ops.BinaryOps, ops.TernaryOps)
    return sorted(name for group in groups for name in group.__members__)
