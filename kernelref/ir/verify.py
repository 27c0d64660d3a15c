"""Whether an AST is one: the shape and dtype rules that everything downstream relies on.

`verify` is called once, where an AST comes from outside (a reader, a case file, a builder). What it
accepts is finite in every direction: depth, dims, extents and addresses, so that no later pass
meets Python's recursion limit or an integer wider than 64 bits.

Source: tinygrad 0.9.1 ops.py, verify_lazyop. *differs:* dependent and sibling reduces over
different axes are accepted, all outputs have one shape (not only one size), dtypes are checked.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache

import numpy as np

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
    Store,
    children,
    postorder,
)
from kernelref.ir.dtype import BOOL, DType
from kernelref.ir.index import Expr, Sint, Var, bounds, evaluate, variables
from kernelref.ir.shapetracker import ShapeTracker
from kernelref.ir.view import View, valid_reach

MAX_DEPTH = 256
MAX_NODES = 100_000
MAX_DIMS = 32
MAX_VIEWS = 32
MAX_BUFFER = 4096
MAX_NUMBER = 1 << 62
MOST_ASKED = 1 << 18
"""Points of a stack of views that are asked one by one for their addresses."""

_FLOAT_ONLY = frozenset({Op.EXP2, Op.LOG2, Op.SIN, Op.SQRT, Op.RECIP})
_INT_ONLY = frozenset({Op.IDIV, Op.MOD, Op.SHL, Op.SHR})


def verify(ast: Ast) -> Ast:
    """`ast`, when it is well-formed.

    Law: outputs are STOREs numbered 0.. of one shape; a Reduce makes extents of its axes 1; every
    other node has the shape of its sources.
    Raises: InvalidInput whose `where` is the path to the node.
    """
    if not ast or not all(isinstance(store, Store) for store in ast):
        raise InvalidInput("an AST is one or more STOREs")
    order = postorder(ast)
    if len(order) > MAX_NODES:
        raise InvalidInput(f"{len(order)} nodes; at most {MAX_NODES}")
    dtypes: dict[int, DType] = {}
    symbols: dict[str, Var] = {}
    depths: dict[Node, int] = {}
    for node in order:
        depths[node] = 1 + max((depths[source] for source in children(node)), default=0)
        message = _fault(node) or _buffer_fault(node, dtypes) or _symbol_fault(node, symbols)
        if depths[node] > MAX_DEPTH:
            message = f"more than {MAX_DEPTH} nodes deep"
        if message:
            raise InvalidInput(message, where=_path(ast, node))
    for i, store in enumerate(ast):
        if store.buffer != i:
            raise InvalidInput(f"output {i} stores to buffer {store.buffer}", where=_label(store))
        if store.shape != ast[0].shape:
            message = f"shape {_shown(store.shape)}, not output 0's {_shown(ast[0].shape)}"
            raise InvalidInput(message, where=_label(store))
    return ast


def check_view(view: View) -> None:
    """Check one View by itself: lengths, extents, masks inside the shape, addresses in 63 bits.

    Raises: InvalidInput naming the field.
    """
    dims = len(view.shape)
    if dims > MAX_DIMS:
        raise InvalidInput(f"{dims} dims; at most {MAX_DIMS}", where="shape")
    if len(view.strides) != dims:
        raise InvalidInput(f"{len(view.strides)} strides for {dims} dims", where="strides")
    for extent in view.shape:
        if bounds(extent)[0] < 1:
            raise InvalidInput(f"extent {extent} is less than 1", where="shape")
    highest = [bounds(extent)[1] for extent in view.shape]
    if math.prod(highest) > MAX_NUMBER:
        raise InvalidInput("more than 2**62 points", where="shape")
    reach = _magnitude(view.offset) + sum(
        (extent - 1) * _magnitude(stride)
        for extent, stride in zip(highest, view.strides, strict=True)
    )
    if reach > MAX_NUMBER or max(map(_magnitude, view.strides), default=0) > MAX_NUMBER:
        raise InvalidInput("addresses beyond 2**62", where="strides")
    if view.mask is not None:
        if len(view.mask) != dims:
            raise InvalidInput(f"{len(view.mask)} ranges for {dims} dims", where="mask")
        for (begin, end), extent in zip(view.mask, view.shape, strict=True):
            if not (_can_be_le(0, begin) and _can_be_le(begin, end) and _can_be_le(end, extent)):
                raise InvalidInput(f"({begin}, {end}) is no range of {extent}", where="mask")


def _can_be_le(left: Sint, right: Sint) -> bool:
    return bounds(right - left)[1] >= 0


def _magnitude(value: Sint) -> int:
    low, high = bounds(value)
    return max(abs(low), abs(high))


@lru_cache(maxsize=8192)
def _variables(st: ShapeTracker) -> frozenset[Var]:
    """The symbols of a ShapeTracker whose views are each well-formed."""
    if not 1 <= len(st.views) <= MAX_VIEWS:
        raise InvalidInput(f"{len(st.views)} views; 1 to {MAX_VIEWS}")
    for view in st.views:
        check_view(view)
    return st.variables()


def _fault(node: Node) -> str | None:
    """What is wrong with `node` by itself, given sources that are right."""
    match node:
        case Load(st=st, dtype=dtype):
            return _shapetracker_fault(st) or _address_fault(st, dtype)
        case Constant(value, dtype, st):
            return _shapetracker_fault(st) or _constant_fault(value, dtype)
        case Store(dtype=dtype, st=st, value=value):
            if value.shape != st.shape:
                return f"stores shape {_shown(value.shape)} into {_shown(st.shape)}"
            if value.dtype.value != dtype.value:
                return f"stores {value.dtype} into {dtype}"
            return _shapetracker_fault(st) or _address_fault(st, dtype)
        case Reduce(value=value, axes=axes):
            dims = len(value.shape)
            if len(set(axes)) != len(axes) or not all(0 <= axis < dims for axis in axes):
                return f"{axes} are not axes of {dims} dims"
        case Cast(value, dtype, bitcast):
            if bitcast and value.dtype.value.itemsize != dtype.value.itemsize:
                return f"bitcast from {value.dtype} to {dtype}, which is of another size"
        case Alu():
            return _alu_fault(node)
    return None


def _alu_fault(node: Alu) -> str | None:
    if len(node.src) != node.op.arity:
        return f"{len(node.src)} sources, not {node.op.arity}"
    for source in node.src[1:]:
        if source.shape != node.src[0].shape:
            return f"sources of shapes {_shown(node.src[0].shape)} and {_shown(source.shape)}"
    operands = [source.dtype.value for source in node.src]
    if node.op is Op.WHERE and operands.pop(0) != BOOL:
        return f"the condition is {node.src[0].dtype}, not bool"
    if any(dtype != operands[0] for dtype in operands):
        return f"sources of dtypes {', '.join(map(str, operands))}"
    if node.op in _FLOAT_ONLY and not operands[0].is_float:
        return f"{operands[0]} is no float"
    if node.op in _INT_ONLY and not operands[0].is_int:
        return f"{operands[0]} is no integer"
    if node.op is Op.XOR and operands[0].is_float:
        return f"{operands[0]} has no bits to combine"
    return None


def _constant_fault(value: bool | int | float | Expr, dtype: DType) -> str | None:
    match value:
        case Expr():
            if _magnitude(value) > MAX_NUMBER:
                return "a symbolic value beyond 2**62"
            return None if dtype.is_int else f"a symbolic value of dtype {dtype}"
        case bool():
            return None
        case int():
            return "a value beyond 64 bits" if abs(value) >= 1 << 64 else None
        case float():
            if not dtype.is_float and not math.isfinite(value):
                return f"{value} of dtype {dtype}"
    return None


def _buffer_fault(node: Node, dtypes: dict[int, DType]) -> str | None:
    """Whether the buffer number is sane and every node sees the buffer with one dtype."""
    if not isinstance(node, Load | Store):
        return None
    if not 0 <= node.buffer < MAX_BUFFER:
        return f"buffer {node.buffer} is not in 0..{MAX_BUFFER - 1}"
    known = dtypes.setdefault(node.buffer, node.dtype)
    return None if known == node.dtype else f"buffer {node.buffer} is {known} elsewhere"


def _symbol_fault(node: Node, symbols: dict[str, Var]) -> str | None:
    """Whether every node means the same variable by the same name."""
    if not isinstance(node, Load | Constant | Store):
        return None
    found = _variables(node.st)
    if isinstance(node, Constant) and isinstance(node.value, Expr):
        found = found | variables(node.value)
    for variable in found:
        if symbols.setdefault(variable.name, variable) is not variable:
            return f"variable {variable.name} has other bounds elsewhere"
    return None


def _shapetracker_fault(st: ShapeTracker) -> str | None:
    try:
        _variables(st)
    except InvalidInput as error:
        return str(error)
    return None


@lru_cache(maxsize=8192)
def _address_fault(st: ShapeTracker, dtype: DType) -> str | None:
    """Whether a valid point lies before its buffer, or behind an image, which says how large it is.

    Symbols are looked at where all of them are least, and where all are greatest.
    """
    for bound in _extremes(st):
        found = _reached(bound)
        if found is None:
            continue
        lowest, highest = found
        if lowest < 0:
            return f"reaches element {lowest} of its buffer"
        if dtype.image and highest >= math.prod(dtype.image):
            return f"reaches element {highest} of an image of {math.prod(dtype.image)}"
    return None


def _extremes(st: ShapeTracker) -> Iterator[ShapeTracker]:
    symbols = st.variables()
    if not symbols:
        yield st
        return
    yield st.bind({symbol.name: symbol.low for symbol in symbols})
    yield st.bind({symbol.name: bounds(symbol)[1] for symbol in symbols})


def _reached(st: ShapeTracker) -> tuple[int, int] | None:
    """The least and the greatest valid address of a bound ShapeTracker; None where there is none.

    Of several views all points are asked where there are few; where there are many, a view that the
    others may keep inside its range is taken to be kept there.
    """
    within = _range_of(st.views[0])
    if len(st.views) == 1 or within is None or within[0] >= 0:
        return within
    extents = [int(evaluate(extent, {})) for extent in st.shape]
    if math.prod(extents) > MOST_ASKED:
        return None
    address, valid = st.address(list(np.indices(extents)))
    reached = np.broadcast_to(address, extents)[np.broadcast_to(valid, extents)]
    return (int(reached.min()), int(reached.max())) if reached.size else None


def _range_of(view: View) -> tuple[int, int] | None:
    """The least and the greatest address at which a bound view is valid."""
    ranges = view.mask or [(0, n) for n in view.shape]
    is_empty = any(int(evaluate(begin, {})) >= int(evaluate(end, {})) for begin, end in ranges)
    return None if is_empty else valid_reach(view)


def _path(ast: Ast, target: Node) -> str:
    """Where `target` hangs: the labels from a STORE down to it, the middle left out when long."""
    reader: dict[Node, tuple[Node, int]] = {}
    for node in reversed(postorder(ast)):
        for i, source in enumerate(children(node)):
            reader.setdefault(source, (node, i))
    labels = [_label(target)]
    node = target
    while node in reader:
        node, i = reader[node]
        labels.append(f"{_label(node)}[{i}]" if len(children(node)) > 1 else _label(node))
    labels.reverse()
    if len(labels) > 12:
        labels[3:-8] = [f"... {len(labels) - 11} more ..."]
    return " > ".join(labels)


def _label(node: Node) -> str:
    match node:
        case Store(buffer=buffer):
            return f"STORE {buffer}"
        case Load(buffer=buffer):
            return f"LOAD {buffer}"
        case Constant(value=value):
            return f"CONST {value}"
        case Reduce(op=op):
            return f"reduce {op.name}"
        case Cast(dtype=dtype, bitcast=bitcast):
            return f"{'BITCAST' if bitcast else 'CAST'} {dtype}"
        case Alu(op=op):
            return op.name


def _shown(shape: tuple[Sint, ...]) -> str:
    return f"({', '.join(map(str, shape))})"
