"""The AST: what a kernel computes, with no schedule in it.

One or more `Store` nodes over loads, constants, element-wise operations and reductions. Every
Load, Constant and Store carries a ShapeTracker that says where the value of each point lies in
its buffer. Nodes are interned: shared subtrees are one object. What each op does to values is in
`semantics`, what a whole AST means in `run/oracle`.
"""

from __future__ import annotations

import enum
import struct
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

from kernelref.ir.dtype import BOOL, DType
from kernelref.ir.index import Expr, Sint
from kernelref.ir.interned import Interned
from kernelref.ir.shapetracker import ShapeTracker


class Op(enum.Enum):
    """Element-wise operations of the three dialects, with their number of sources.

    DIV divides floats exactly-rounded and integers towards zero (0.8.0, 0.9.0); IDIV is integer
    division and MOD its remainder, both towards zero. MULACC is a * b + c.
    """

    EXP2 = ("EXP2", 1)
    LOG2 = ("LOG2", 1)
    SIN = ("SIN", 1)
    SQRT = ("SQRT", 1)
    NEG = ("NEG", 1)
    RECIP = ("RECIP", 1)
    ADD = ("ADD", 2)
    SUB = ("SUB", 2)
    MUL = ("MUL", 2)
    DIV = ("DIV", 2)
    IDIV = ("IDIV", 2)
    MOD = ("MOD", 2)
    MAX = ("MAX", 2)
    XOR = ("XOR", 2)
    SHL = ("SHL", 2)
    SHR = ("SHR", 2)
    CMPLT = ("CMPLT", 2)
    CMPEQ = ("CMPEQ", 2)
    CMPNE = ("CMPNE", 2)
    WHERE = ("WHERE", 3)
    MULACC = ("MULACC", 3)

    # A member is one object, so its identity tells it; Enum's own hash runs Python code.
    __hash__ = object.__hash__

    @property
    def arity(self) -> int:
        """How many sources the op takes."""
        return self.value[1]


COMPARES = frozenset({Op.CMPLT, Op.CMPEQ, Op.CMPNE})


class ReduceOp(enum.Enum):
    """Reductions. SUM starts at 0 (over bool it is OR), MAX at the dtype's lowest value."""

    SUM = "SUM"
    MAX = "MAX"

    # A member is one object, so its identity tells it; Enum's own hash runs Python code.
    __hash__ = object.__hash__


@dataclass(frozen=True, slots=True, eq=False)
class Load(Interned):
    """The elements of buffer `buffer` as `st` arranges them; 0 where `st` is masked."""

    buffer: int
    dtype: DType
    st: ShapeTracker

    @property
    def shape(self) -> tuple[Sint, ...]:
        """The extents of the points it has a value for."""
        return self.st.shape


@dataclass(frozen=True, slots=True, eq=False)
class Constant(Interned):
    """One value at every point where `st` is valid, 0 elsewhere; an Expr value is symbolic."""

    value: bool | int | float | Expr
    dtype: DType
    st: ShapeTracker

    @property
    def shape(self) -> tuple[Sint, ...]:
        """The extents of the points it has a value for."""
        return self.st.shape

    def intern_key(self) -> tuple[object, ...]:
        """0, 0.0, -0.0 and False are different values, and every NaN is one."""
        value: object = self.value
        if isinstance(value, float):
            value = struct.pack("<d", value) if value == value else "nan"
        return type(self.value), value, self.dtype, self.st


@dataclass(frozen=True, slots=True, eq=False)
class Alu(Interned):
    """An element-wise operation; all sources have one shape."""

    op: Op
    src: tuple[Value, ...]
    dtype: DType = field(init=False, repr=False)
    shape: tuple[Sint, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        model = self.src[1] if self.op is Op.WHERE else self.src[0]
        object.__setattr__(self, "dtype", BOOL if self.op in COMPARES else model.dtype)
        object.__setattr__(self, "shape", self.src[0].shape)


@dataclass(frozen=True, slots=True, eq=False)
class Cast(Interned):
    """A conversion to `dtype`; with `bitcast` the bits stay and the dtype changes."""

    value: Value
    dtype: DType
    bitcast: bool = False
    shape: tuple[Sint, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", self.value.shape)


@dataclass(frozen=True, slots=True, eq=False)
class Reduce(Interned):
    """`op` over `axes`, whose extents become 1."""

    op: ReduceOp
    value: Value
    axes: tuple[int, ...]
    dtype: DType = field(init=False, repr=False)
    shape: tuple[Sint, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        shape = tuple(1 if i in self.axes else n for i, n in enumerate(self.value.shape))
        object.__setattr__(self, "dtype", self.value.dtype)
        object.__setattr__(self, "shape", shape)


@dataclass(frozen=True, slots=True, eq=False)
class Store(Interned):
    """Write `value` to buffer `buffer` where `st` puts each point."""

    buffer: int
    dtype: DType
    st: ShapeTracker
    value: Value

    @property
    def shape(self) -> tuple[Sint, ...]:
        """The extents of the points it writes."""
        return self.st.shape


Value: TypeAlias = Load | Constant | Alu | Cast | Reduce
Node: TypeAlias = Value | Store
Ast: TypeAlias = tuple[Store, ...]


def children(node: Node) -> tuple[Value, ...]:
    """The nodes that `node` reads."""
    match node:
        case Load() | Constant():
            return ()
        case Alu(src=src):
            return src
        case Cast(value=value) | Reduce(value=value) | Store(value=value):
            return (value,)
    raise AssertionError(f"not an AST node: {node!r}")


def postorder(roots: Iterable[Node]) -> list[Node]:
    """Every node under `roots` once, sources before their readers, in reading order.

    It keeps its own stack, so that no depth of AST meets Python's recursion limit.
    """
    order: dict[Node, None] = {}
    for root in roots:
        stack: list[tuple[Node, bool]] = [(root, False)]
        while stack:
            node, is_open = stack.pop()
            if is_open:
                order[node] = None
            elif node not in order:
                stack.append((node, True))
                stack.extend((source, False) for source in reversed(children(node)))
    return list(order)
