"""How large an AST's buffers and spaces are, and which of its outputs to look at.

Every edge of a mask is looked at: masks are found by walking along each axis and watching validity
change, which needs nothing but `ShapeTracker.address`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TypeAlias

import numpy as np

from kernelref.ir.ast import Ast, Constant, Load, Store, postorder
from kernelref.ir.index import Expr, Sint, Var, evaluate
from kernelref.ir.index import variables as variables_of
from kernelref.ir.semantics import Array
from kernelref.ir.shapetracker import ShapeTracker
from kernelref.ir.view import View

Variables: TypeAlias = Mapping[str, int]

ALL_BELOW = 1_000_000
"""Iteration points up to which every output is checked."""

SAMPLE = 4096
"""Outputs checked at least, of a larger kernel."""

LINE = 1 << 16
"""The longest line along which mask edges are looked for; a longer axis shows the last view's."""


def extents(shape: tuple[Sint, ...], variables: Variables) -> tuple[int, ...]:
    """A shape with its symbols bound."""
    return tuple(int(evaluate(extent, variables)) for extent in shape)


def symbols(ast: Ast) -> frozenset[Var]:
    """The symbolic variables of the AST's views and constants; a run needs a value for each."""
    found: set[Var] = set()
    for node in postorder(ast):
        if isinstance(node, Load | Constant | Store):
            found |= node.st.variables()
        if isinstance(node, Constant) and isinstance(node.value, Expr):
            found |= variables_of(node.value)
    return frozenset(found)


def iteration_points(ast: Ast, variables: Variables) -> int:
    """Points of the largest space that any node of the AST computes over."""
    shapes = {node.shape for node in postorder(ast)}
    return max(math.prod(extents(shape, variables)) for shape in shapes)


def buffer_elements(ast: Ast, variables: Variables) -> dict[int, int]:
    """How many elements each buffer needs so that every valid address lies in it.

    Law: 1 + the largest address of the first view (the one on the buffer's side) over all uses, and
    at least 1; an image has as many as its shape says.
    """
    elements: dict[int, int] = {}
    for node in postorder(ast):
        if isinstance(node, Load | Store):
            needed = _reach(node.st.bind(variables).views[0])
            if node.dtype.image:
                needed = max(needed, math.prod(node.dtype.image))
            elements[node.buffer] = max(needed, elements.get(node.buffer, 1))
    return dict(sorted(elements.items()))


def _reach(view: View) -> int:
    """One more than the largest address at which the view is valid; 0 when it is nowhere."""
    address = int(evaluate(view.offset, {}))
    ranges = view.mask or tuple((0, extent) for extent in view.shape)
    for stride, bounds in zip(view.strides, ranges, strict=True):
        begin, end = (int(evaluate(bound, {})) for bound in bounds)
        if begin >= end:
            return 0
        step = int(evaluate(stride, {}))
        address += max(begin * step, (end - 1) * step)
    return address + 1


def sample_points(
    ast: Ast,
    output: int,
    variables: Variables,
    *,
    seed: int = 0,
    all_below: int = ALL_BELOW,
    sample: int = SAMPLE,
) -> Array | None:
    """Row-major points of an output's shape to check, ascending; None means all of them.

    All outputs up to `all_below` iteration points. Beyond, at least `sample` (or all, if there are
    fewer), among them the first, the last and both sides of every mask edge.
    """
    shape = extents(ast[output].shape, variables)
    total = math.prod(shape)
    if total <= sample or iteration_points(ast, variables) <= all_below:
        return None
    random = np.random.default_rng(seed)
    chosen = {0, total - 1} | _edge_points(ast, shape, variables, random)
    while len(chosen) < sample:
        chosen.update(random.integers(0, total, sample - len(chosen)).tolist())
    return np.array(sorted(chosen))


def _edge_points(
    ast: Ast, shape: tuple[int, ...], variables: Variables, random: np.random.Generator
) -> set[int]:
    """Output points where the validity of some load, constant or store changes along an axis."""
    found: set[int] = set()
    masked = dict.fromkeys(
        node.st
        for node in postorder(ast)
        if isinstance(node, Load | Constant | Store) and any(view.mask for view in node.st.views)
    )
    for symbolic in masked:
        st = symbolic.bind(variables)
        inside = [_inside(st.views[-1], dim) for dim in range(len(shape))]
        for axis, extent in enumerate(shape):
            if extent == 1:
                continue
            for _ in range(4):
                base = [int(random.integers(begin, end)) for begin, end in inside]
                for edge in _edges_along(st, base, axis):
                    place = [min(c, n - 1) for c, n in zip(base, shape, strict=True)]
                    place[axis] = edge
                    found.add(int(np.ravel_multi_index(place, shape)))
    return found


def _inside(view: View, axis: int) -> tuple[int, int]:
    """Where the last view is valid along an axis: a line elsewhere shows no edge."""
    begin, end = (0, view.shape[axis]) if view.mask is None else view.mask[axis]
    begin, end = int(evaluate(begin, {})), int(evaluate(end, {}))
    return (begin, end) if begin < end else (0, int(evaluate(view.shape[axis], {})))


def _edges_along(st: ShapeTracker, base: list[int], axis: int) -> list[int]:
    """Coordinates on both sides of each change of validity; at most 64 of them, spread out."""
    extent = int(evaluate(st.shape[axis], {}))
    if extent > LINE:
        begin, end = _inside(st.views[-1], axis)
        return sorted({0, max(begin - 1, 0), begin, end - 1, min(end, extent - 1), extent - 1})
    line: list[Array | int] = list(base)
    line[axis] = np.arange(extent)
    _, valid = st.address(line)
    changes = np.flatnonzero(np.diff(np.broadcast_to(valid, extent).astype(np.int8)))
    sides = np.unique(np.concatenate([changes, changes + 1]))
    return [int(side) for side in sides[:: max(1, len(sides) // 64)]]
