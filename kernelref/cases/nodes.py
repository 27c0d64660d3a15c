"""ASTs as JSON: a list of nodes, sources before their readers and named by index.

Every distinct node stands once, so that the size of a file is the size of the DAG. What equals its
default is left out: offset 0, no mask, the sound view algebra.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, TypeAlias, assert_never

from kernelref.cases.expressions import expression_from_json, expression_to_json
from kernelref.errors import InvalidInput
from kernelref.ir.ast import (
    Alu,
    Ast,
    Cast,
    Constant,
    Load,
    Node,
    Op,
    Reduce,
    ReduceOp,
    Store,
    Value,
    children,
    postorder,
)
from kernelref.ir.dtype import BY_NAME, IMAGE_FLOAT, IMAGE_HALF, DType, image
from kernelref.ir.index import Expr, Sint, Var
from kernelref.ir.shapetracker import ShapeTracker
from kernelref.ir.view import View, ViewAlgebra

Json: TypeAlias = Any

_REDUCES = {f"REDUCE_{op.name}": op for op in ReduceOp}
NODE_OPS = ("STORE", "LOAD", "CONST", "CAST", "BITCAST", *_REDUCES, *(op.name for op in Op))


def ast_to_json(ast: Ast) -> Json:
    """The nodes of `ast` as JSON."""
    order = postorder(ast)
    index = {node: i for i, node in enumerate(order)}
    return [_node_to_json(node, [index[source] for source in children(node)]) for node in order]


def _node_to_json(node: Node, sources: list[int]) -> Json:
    match node:
        case Load(buffer, dtype, st):
            return {"op": "LOAD", "buffer": buffer, "dtype": str(dtype), **_st_to_json(st)}
        case Constant(value, dtype, st):
            number = constant_to_json(value)
            return {"op": "CONST", "value": number, "dtype": str(dtype), **_st_to_json(st)}
        case Store(buffer, dtype, st):
            head = {"op": "STORE", "buffer": buffer, "dtype": str(dtype), **_st_to_json(st)}
            return {**head, "src": sources}
        case Cast(_, dtype, bitcast):
            return {"op": "BITCAST" if bitcast else "CAST", "dtype": str(dtype), "src": sources}
        case Reduce(op, _, axes):
            return {"op": f"REDUCE_{op.name}", "axes": list(axes), "src": sources}
        case Alu(op):
            return {"op": op.name, "src": sources}
        case _:
            assert_never(node)


def constant_to_json(value: bool | int | float | Expr) -> Json:
    """A number; a float that JSON cannot hold is {"float": "nan"}, an expression {"index": ...}."""
    if isinstance(value, Expr):
        return {"index": expression_to_json(value)}
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": "nan" if math.isnan(value) else str(value)}
    return value


def _st_to_json(st: ShapeTracker) -> Json:
    algebra = {} if st.algebra is ViewAlgebra.SOUND else {"algebra": st.algebra.value}
    return {**algebra, "views": [_view_to_json(view) for view in st.views]}


def _view_to_json(view: View) -> Json:
    document: dict[str, Json] = {
        "shape": [expression_to_json(n) for n in view.shape],
        "strides": [expression_to_json(n) for n in view.strides],
    }
    if view.offset != 0:
        document["offset"] = expression_to_json(view.offset)
    if view.mask is not None:
        document["mask"] = [[expression_to_json(n) for n in pair] for pair in view.mask]
    return document


def ast_from_json(document: Json, symbols: Mapping[str, Var]) -> Ast:
    """The AST of a document that has the schema's form; its outputs are its STOREs, in order.

    Raises: InvalidInput naming the field.
    """
    nodes: list[Node] = []
    for i, entry in enumerate(document):
        where = f"ast[{i}]"
        sources: list[Value] = []
        for j, source in enumerate(entry.get("src", ())):
            if source >= i:
                message = f"source {source} does not stand before node {i}"
                raise InvalidInput(message, where=f"{where}.src[{j}]")
            value = nodes[source]
            if isinstance(value, Store):
                raise InvalidInput("a STORE has no value to read", where=f"{where}.src[{j}]")
            sources.append(value)
        nodes.append(_node_from_json(entry, tuple(sources), symbols, where))
    return tuple(node for node in nodes if isinstance(node, Store))


def _node_from_json(
    entry: Json, sources: tuple[Value, ...], symbols: Mapping[str, Var], where: str
) -> Node:
    op = entry["op"]
    needed = 0 if op in ("LOAD", "CONST") else Op[op].arity if op in Op.__members__ else 1
    if len(sources) != needed:
        raise InvalidInput(f"{op} has {len(sources)} sources, not {needed}", where=f"{where}.src")
    match op:
        case "LOAD" | "STORE":
            st, dtype = _st_from_json(entry, symbols, where), _dtype_of(entry, where)
            if op == "LOAD":
                return Load(entry["buffer"], dtype, st)
            return Store(entry["buffer"], dtype, st, sources[0])
        case "CONST":
            value = constant_from_json(entry["value"], symbols, f"{where}.value")
            return Constant(value, _dtype_of(entry, where), _st_from_json(entry, symbols, where))
        case "CAST" | "BITCAST":
            return Cast(sources[0], _dtype_of(entry, where), bitcast=op == "BITCAST")
        case _ if op in _REDUCES:
            dims = len(sources[0].shape)
            if any(axis >= dims for axis in entry["axes"]):
                raise InvalidInput(f"not axes of {dims} dims", where=f"{where}.axes")
            return Reduce(_REDUCES[op], sources[0], tuple(entry["axes"]))
    return Alu(Op[op], sources)


def constant_from_json(
    document: Json, symbols: Mapping[str, Var], where: str
) -> bool | int | float | Expr:
    """The value that `constant_to_json` wrote."""
    match document:
        case {"index": index}:
            return expression_from_json(index, symbols, where)
        case {"float": str(name)}:
            return float(name)
        case bool() | int() | float():
            return document
    raise InvalidInput(f"{str(document)[:40]} is no constant", where=where)


_IMAGE = re.compile(r"(imageh|imagef)\(([1-9][0-9]{0,8}), ([1-9][0-9]{0,8}), 4\)")


def _dtype_of(entry: Json, where: str) -> DType:
    return dtype_from_name(entry["dtype"], f"{where}.dtype")


def dtype_from_name(name: str, where: str) -> DType:
    """The dtype that is spelled `name`, as `str(dtype)` spells it.

    Raises: InvalidInput naming `where`.
    """
    if name in BY_NAME:
        return BY_NAME[name]
    match = _IMAGE.fullmatch(name)
    if match is None:
        raise InvalidInput(f"unknown dtype {name[:40]}", where=where)
    base = IMAGE_HALF if match[1] == "imageh" else IMAGE_FLOAT
    return image(base, (int(match[2]), int(match[3]), 4))


def _st_from_json(entry: Json, symbols: Mapping[str, Var], where: str) -> ShapeTracker:
    views = []
    for i, view in enumerate(entry["views"]):
        place = f"{where}.views[{i}]"

        def each(items: Json, field: str, place: str = place) -> tuple[Sint, ...]:
            return tuple(
                expression_from_json(n, symbols, f"{place}.{field}[{j}]")
                for j, n in enumerate(items)
            )

        mask = view.get("mask")
        ranges = None
        if mask is not None:
            ends = [each(pair, f"mask[{j}]") for j, pair in enumerate(mask)]
            ranges = tuple((begin, end) for begin, end in ends)
        offset = expression_from_json(view.get("offset", 0), symbols, f"{place}.offset")
        shape, strides = each(view["shape"], "shape"), each(view["strides"], "strides")
        views.append(View(shape, strides, offset, ranges))
    return ShapeTracker(tuple(views), ViewAlgebra(entry.get("algebra", "sound")))
