"""A Program: a lowered Kernel as loop IR, with launch sizes and buffers.

What a Program means is what `run/interp` does with it; a renderer prints it and decides nothing.

Two expression languages meet here. Addresses, guards and extents are index expressions
(`ir/index`) over the launch ids (`GROUP_IDS`, `LOCAL_IDS`), the variables of enclosing `Loop`s and
of `DefineIndex`, and the symbolic variables that the Program takes as arguments. They are computed
in 32-bit integers, but those in `Program.wide` in 64-bit ones. Everything with a dtype is a
`ProgramValue`; a `Define` names one, so that the text stays flat and shared subtrees are computed
once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from kernelref.ir.ast import Op, ReduceOp
from kernelref.ir.dtype import DType
from kernelref.ir.index import Expr, Sint, Var, variables

GROUP_IDS = ("gidx0", "gidx1", "gidx2")
LOCAL_IDS = ("lidx0", "lidx1", "lidx2")


@dataclass(frozen=True, slots=True)
class BufferArgument:
    """A pointer or image argument. Units: `elements` counts elements of `dtype.storage`.

    An image dtype means an image2d_t of (rows, columns) texels of 4 channels, only read or only
    written. An image of the AST that lowering places in plain memory has its storage dtype here.
    """

    name: str
    number: int
    dtype: DType
    elements: Sint
    is_output: bool


@dataclass(frozen=True, slots=True)
class SharedArray:
    """On-chip memory of one work-group. Units: `elements` counts elements of `dtype`."""

    name: str
    dtype: DType
    elements: int

    @property
    def nbytes(self) -> int:
        """Bytes of on-chip memory."""
        return self.elements * self.dtype.itemsize


@dataclass(frozen=True, slots=True)
class Register:
    """A private variable of one work-item: `lanes` values of `dtype` (1, 2 or 4)."""

    name: str
    dtype: DType
    lanes: int = 1


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant value; an Expr is a symbolic variable's value converted to `dtype`."""

    value: bool | int | float | Expr
    dtype: DType


@dataclass(frozen=True, slots=True)
class Masked:
    """`operand` where `guard` is not 0, else 0: a constant outside its mask."""

    guard: Expr
    operand: Operand
    dtype: DType


@dataclass(frozen=True, slots=True)
class LoadGlobal:
    """`lanes` consecutive elements from `address` on; 0, without access, where `guard` is 0.

    `dtype` is that of the value: the buffer's, or float for half elements of what the AST calls an
    image. A load of more than one lane is aligned to `lanes` elements. For an image, `address`
    counts elements in row-major order over (rows, columns, 4), and lanes is 4 or 1.
    """

    buffer: str
    address: Sint
    guard: Sint
    dtype: DType
    lanes: int = 1


@dataclass(frozen=True, slots=True)
class LoadShared:
    """`lanes` consecutive elements of a shared array."""

    array: str
    address: Sint
    dtype: DType
    lanes: int = 1


@dataclass(frozen=True, slots=True)
class Lane:
    """One lane of a register with several."""

    register: Register
    index: int


@dataclass(frozen=True, slots=True)
class Pack:
    """Several scalars as one value of that many lanes."""

    parts: tuple[Operand, ...]
    dtype: DType


@dataclass(frozen=True, slots=True)
class Apply:
    """An element-wise op on scalars (`ir/semantics` says what it does).

    `dtype` is that of the operands (of the last two for WHERE); comparisons give bool.
    """

    op: Op
    operands: tuple[Operand, ...]
    dtype: DType


@dataclass(frozen=True, slots=True)
class Convert:
    """A cast, or with `bitcast` the same bits under another dtype."""

    operand: Operand
    dtype: DType
    bitcast: bool = False


@dataclass(frozen=True, slots=True)
class Combine:
    """One step of a reduction: the accumulator and one more value (SUM over bool is OR)."""

    op: ReduceOp
    left: Operand
    right: Operand
    dtype: DType


Operand: TypeAlias = Register | Lane | Literal
ProgramValue: TypeAlias = (
    Operand | Masked | LoadGlobal | LoadShared | Pack | Apply | Convert | Combine
)


@dataclass(frozen=True, slots=True)
class Define:
    """A new register with its value; it lives until the enclosing block ends."""

    register: Register
    value: ProgramValue


@dataclass(frozen=True, slots=True)
class DefineIndex:
    """A name for the value of an index expression; it lives until the enclosing block ends."""

    variable: Var
    value: Expr


@dataclass(frozen=True, slots=True)
class Assign:
    """A new value for an existing register."""

    register: Register
    value: ProgramValue


@dataclass(frozen=True, slots=True)
class StoreGlobal:
    """Write the lanes of `value` from `address` on, where `guard` is not 0.

    A value of another dtype than the buffer's elements (float into half, for what the AST calls an
    image) is rounded to nearest even.
    """

    buffer: str
    address: Sint
    guard: Sint
    value: Operand
    lanes: int = 1


@dataclass(frozen=True, slots=True)
class StoreShared:
    """Write the lanes of `value` to a shared array from `address` on."""

    array: str
    address: Sint
    value: Operand
    lanes: int = 1


@dataclass(frozen=True, slots=True)
class Loop:
    """Run `body` for variable = 0 .. extent-1, in order."""

    variable: Var
    extent: Sint
    body: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Guarded:
    """Run `body` where `condition` is not 0."""

    condition: Expr
    body: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Barrier:
    """All work-items of a group meet; shared and global writes before it are visible after it."""


Statement: TypeAlias = (
    Define | DefineIndex | Assign | StoreGlobal | StoreShared | Loop | Guarded | Barrier
)


@dataclass(frozen=True, slots=True)
class Program:
    """A lowered Kernel.

    Units: `groups` counts work-groups, `local` work-items in a group (x, y, z); a group count of 0
    means that nothing runs. `variables` are the symbolic variables, passed as int arguments after
    the buffers. `wide` holds the index expressions whose arithmetic is done in 64 bits.
    """

    name: str
    buffers: tuple[BufferArgument, ...]
    variables: tuple[Var, ...]
    groups: tuple[Sint, Sint, Sint]
    local: tuple[int, int, int]
    body: tuple[Statement, ...]
    shared: tuple[SharedArray, ...] = ()
    wide: frozenset[Expr] = frozenset()

    @property
    def is_ungrouped(self) -> bool:
        """Whether work-items are independent, so that a device may pick any group size."""
        return self.local == (1, 1, 1) and not self.shared

    @property
    def shared_nbytes(self) -> int:
        """Bytes of on-chip memory that one work-group takes."""
        return sum(array.nbytes for array in self.shared)


def nested(body: Iterable[Statement]) -> Iterator[Statement]:
    """Every statement of `body`, and of the bodies in it, in the order of the text."""
    for statement in body:
        yield statement
        if isinstance(statement, Loop | Guarded):
            yield from nested(statement.body)


def indices(statement: Statement) -> tuple[Sint, ...]:
    """The index expressions that `statement` computes, those of statements in it left out."""
    match statement:
        case Define(_, value) | Assign(_, value):
            return _indices_of_value(value)
        case DefineIndex(_, value):
            return (value,)
        case StoreGlobal(_, address, guard, value):
            return (address, guard, *_indices_of_value(value))
        case StoreShared(_, address, value):
            return (address, *_indices_of_value(value))
        case Loop(extent=extent):
            return (extent,)
        case Guarded(condition):
            return (condition,)
        case Barrier():
            return ()
        case _:
            assert_never(statement)


def _indices_of_value(value: ProgramValue) -> tuple[Sint, ...]:
    match value:
        case Literal(Expr() as number):
            return (number,)
        case Masked(guard, operand):
            return (guard, *_indices_of_value(operand))
        case LoadGlobal(_, address, guard):
            return (address, guard)
        case LoadShared(_, address):
            return (address,)
        case Pack(operands) | Apply(_, operands):
            return tuple(index for operand in operands for index in _indices_of_value(operand))
        case Convert(operand):
            return _indices_of_value(operand)
        case Combine(_, left, right):
            return (*_indices_of_value(left), *_indices_of_value(right))
        case Register() | Lane() | Literal():
            return ()
        case _:
            assert_never(value)


def index_names(program: Program) -> frozenset[str]:
    """The names of all index variables that the program reads or defines."""
    found: set[Var] = set()
    for statement in nested(program.body):
        for index in indices(statement):
            found |= variables(index)
        if isinstance(statement, Loop | DefineIndex):
            found.add(statement.variable)
    return frozenset(var.name for var in found)
