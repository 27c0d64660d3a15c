"""Windows: of a huge buffer only the part that a kernel can reach is kept in memory.

Real kernels read some weights out of a file of many gigabytes. The text stays as it is, 64-bit
addresses and all, and is given a pointer to where the whole buffer would begin; inputs and oracle
work on the AST with addresses that count from the window.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from kernelref.codegen.program import Program
from kernelref.ir.ast import Alu, Ast, Cast, Constant, Load, Node, Reduce, Store, Value, postorder
from kernelref.ir.index import add, evaluate
from kernelref.ir.shapetracker import ShapeTracker
from kernelref.ir.view import View

FROM_ELEMENTS = 1 << 22
"""Less than this before the window is not worth one."""

ALIGNED = 1 << 10
"""A window begins at a multiple of this many elements, so that alignment stays as it was."""


def windows_of(ast: Ast, variables: Mapping[str, int]) -> dict[int, int]:
    """Where the window of each buffer that has one begins.

    Units: elements. Law: no load or store of the AST is valid at a lower address.
    """
    lowest: dict[int, int] = {}
    for node in postorder(ast):
        if isinstance(node, Load | Store):
            low = 0 if node.dtype.is_image else _lowest(node.st.bind(variables).views[0])
            lowest[node.buffer] = min(low, lowest.get(node.buffer, low))
    begins = {number: low - low % ALIGNED for number, low in lowest.items()}
    return {number: begin for number, begin in begins.items() if begin >= FROM_ELEMENTS}


def _lowest(view: View) -> int:
    """The lowest address at which a view without symbols is valid; 0 when it is nowhere."""
    address = int(evaluate(view.offset, {}))
    ranges = view.mask or tuple((0, extent) for extent in view.shape)
    for stride, bounds in zip(view.strides, ranges, strict=True):
        begin, end = (int(evaluate(bound, {})) for bound in bounds)
        if begin >= end:
            return 0
        step = int(evaluate(stride, {}))
        address += min(begin * step, (end - 1) * step)
    return max(address, 0)


def _moved(st: ShapeTracker, begin: int) -> ShapeTracker:
    """The view on the buffer's side decides where in the buffer a point lies."""
    if begin == 0:
        return st
    first = replace(st.views[0], offset=add(st.views[0].offset, -begin))
    return replace(st, views=(first, *st.views[1:]))


def shifted(ast: Ast, windows: Mapping[int, int]) -> Ast:
    """The AST with addresses that count from the windows."""
    if not windows:
        return ast
    made: dict[Node, Value] = {}
    stores = []
    for node in postorder(ast):
        match node:
            case Load(buffer=buffer, st=st):
                made[node] = replace(node, st=_moved(st, windows.get(buffer, 0)))
            case Constant():
                made[node] = node
            case Alu(src=src):
                made[node] = replace(node, src=tuple(made[source] for source in src))
            case Cast(value=value) | Reduce(value=value):
                made[node] = replace(node, value=made[value])
            case Store(buffer=buffer, st=st, value=value):
                moved = _moved(st, windows.get(buffer, 0))
                stores.append(replace(node, st=moved, value=made[value]))
    return tuple(stores)


def pointed(text: str, program: Program, windows: Mapping[int, int]) -> str:
    """The text with pointers to where the whole buffers would begin."""
    shifts = [
        f"  {buffer.name} -= {windows[buffer.number]}L;\n"
        for buffer in program.buffers
        if buffer.number in windows
    ]
    kernel = text.rindex("__kernel void ")
    body = text.index(") {\n", kernel) + len(") {\n")
    return text[:body] + "".join(shifts) + text[body:]
