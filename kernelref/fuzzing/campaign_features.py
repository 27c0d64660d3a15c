"""Features: what a kernel exercises, in small parts that can be counted.

A feature is one node's (op, dtype, masked, views, place): `masked` and `views` (1, 2, 3 for more)
say how a LOAD, CONST or STORE is arranged and are empty for other nodes; `place` is where the node
stands: before a reduction (a reduction reads it), after one, between two, beside one (in a kernel
with reductions, on no path with one), or `none` in a kernel without. A pair is a node's feature
with that of one of its sources. Images count as imageh and imagef, whatever their shape.
"""

from __future__ import annotations

from collections.abc import Iterator

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

MANY_VIEWS = 3


def features_of(ast: Ast) -> tuple[str, ...]:
    """The features and pairs of a kernel, in reading order: `ADD float before` and `a < b`."""
    names = dict(_named(ast))
    found: dict[str, None] = dict.fromkeys(names.values())
    for node, name in names.items():
        found.update(dict.fromkeys(f"{name} < {names[source]}" for source in children(node)))
    return tuple(found)


def is_pair(feature: str) -> bool:
    """Whether it is a pair."""
    return " < " in feature


def _named(ast: Ast) -> Iterator[tuple[Node, str]]:
    order = postorder(ast)
    reads_reduce: set[Node] = set()
    for node in order:
        if isinstance(node, Reduce) or any(source in reads_reduce for source in children(node)):
            reads_reduce.add(node)
    below_reduce: set[Node] = set()
    for node in reversed(order):
        if isinstance(node, Reduce) or node in below_reduce:
            below_reduce.update(children(node))
    for node in order:
        before, after = node in below_reduce, node in reads_reduce
        place = "between" if before and after else "before" if before else "after"
        if not before and not after:
            place = "beside" if reads_reduce else "none"
        yield node, f"{_op(node)} {node.dtype.name}{_arranged(node)} {place}"


def _op(node: Node) -> str:
    match node:
        case Alu(op=op) | Reduce(op=op):
            return op.name if isinstance(node, Alu) else f"reduce-{op.name}"
        case Cast(bitcast=bitcast):
            return "BITCAST" if bitcast else "CAST"
        case Load():
            return "LOAD"
        case Constant():
            return "CONST"
    return "STORE"


def _arranged(node: Node) -> str:
    if not isinstance(node, Load | Constant | Store):
        return ""
    masked = " masked" if any(view.mask is not None for view in node.st.views) else ""
    return f"{masked} v{min(len(node.st.views), MANY_VIEWS)}"
