"""Kernels that read far inside a huge buffer, moved to the buffer's part that they touch.

Real kernels read slices of a weights file that is mapped as one buffer of gigabytes. What they
compute does not depend on where in the buffer the slice lies, so they run on the slice alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from kernelref.ir.ast import Alu, Ast, Cast, Constant, Load, Node, Reduce, Store, Value, postorder
from kernelref.ir.index import evaluate
from kernelref.ir.shapetracker import ShapeTracker
from kernelref.ir.view import View
from kernelref.run.points import Variables

FAR = 1 << 22
"""Units: elements. Slices that begin before this are left where they are."""

STEP = 1 << 12
"""Units: elements. Slices move by multiples of this, so that vectors stay aligned."""


def distances(ast: Ast, variables: Variables) -> dict[int, int]:
    """Per buffer that is only touched far from its start, by how much it may move down."""
    lowest: dict[int, int] = {}
    for node in postorder(ast):
        if isinstance(node, Load | Store) and not node.dtype.is_image:
            first = _first(node.st.bind(variables).views[0])
            lowest[node.buffer] = min(first, lowest.get(node.buffer, first))
    return {b: first // STEP * STEP for b, first in lowest.items() if first >= FAR}


def rebased(ast: Ast, distance: Mapping[int, int]) -> Ast:
    """The kernel with each buffer's elements moved down by its distance.

    Law: it computes on buffer[distance:] what `ast` computes on buffer.
    """
    moved: dict[Node, Value] = {}
    stores: list[Store] = []
    for node in postorder(ast):
        match node:
            case Load(buffer=buffer, st=st):
                moved[node] = replace(node, st=_lowered(st, distance.get(buffer, 0)))
            case Constant():
                moved[node] = node
            case Alu(op=op, src=src):
                moved[node] = Alu(op, tuple(moved[source] for source in src))
            case Cast(value=value, dtype=dtype, bitcast=bitcast):
                moved[node] = Cast(moved[value], dtype, bitcast)
            case Reduce(op=op, value=value, axes=axes):
                moved[node] = Reduce(op, moved[value], axes)
            case Store(buffer=buffer, st=st, value=value):
                lowered = _lowered(st, distance.get(buffer, 0))
                stores.append(Store(buffer, node.dtype, lowered, moved[value]))
    return tuple(stores)


def _lowered(st: ShapeTracker, distance: int) -> ShapeTracker:
    if not distance:
        return st
    first = replace(st.views[0], offset=st.views[0].offset - distance)
    return replace(st, views=(first, *st.views[1:]))


def _first(view: View) -> int:
    """The smallest address at which the view is valid; 0 when it is nowhere."""
    address = int(evaluate(view.offset, {}))
    ranges = view.mask or tuple((0, extent) for extent in view.shape)
    for stride, bounds in zip(view.strides, ranges, strict=True):
        begin, end = (int(evaluate(bound, {})) for bound in bounds)
        if begin >= end:
            return 0
        step = int(evaluate(stride, {}))
        address += min(begin * step, (end - 1) * step)
    return address
