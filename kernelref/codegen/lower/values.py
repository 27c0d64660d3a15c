"""What is computed where: each AST node once per place where its axes stand.

A node varies along its *free* axes: those on which an address or mask below it depends, without
those that a reduction below it sums. It is computed in the outermost block that knows them all, so
what does not vary along a loop stands before it, and sibling readers share it. A reduction opens
its loops there; a reduction inside another one that varies along the outer one's axis therefore
stands inside that loop.

UPCAST, UNROLL and (after the late reduction) GROUP_UPCAST axes are coordinates that are plain
ints: registers. Each gets its own copy of what varies along it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar, cast

from kernelref.codegen.lower.block import Block, Env, Place, deepest
from kernelref.codegen.lower.indices import Indices
from kernelref.codegen.lower.vectors import Vector, vector_at, widths_of
from kernelref.codegen.program import (
    Apply,
    BufferArgument,
    Convert,
    Define,
    Lane,
    Literal,
    LoadGlobal,
    Masked,
    Operand,
    ProgramValue,
    Register,
)
from kernelref.ir.ast import (
    COMPARES,
    Alu,
    Cast,
    Constant,
    Load,
    Op,
    Reduce,
    Store,
    Value,
    children,
    postorder,
)
from kernelref.ir.dtype import BOOL, DType
from kernelref.ir.index import Sint, as_expr
from kernelref.opt.kernel import Kernel

T = TypeVar("T")
Steps: TypeAlias = Generator[tuple[Value, Env], Operand, Operand]
"""A computation that asks for operands: it yields (node, env) and is sent the operand."""


def free_axes(kernel: Kernel, indices: Indices) -> dict[Value, frozenset[int]]:
    """The axes along which each value varies."""
    free: dict[Value, frozenset[int]] = {}
    iterates = dict(zip(kernel.reduces, kernel.iterates, strict=True))
    for node in postorder(kernel.ast):
        match node:
            case Store():
                continue
            case Load() | Constant():
                free[node] = frozenset(indices.free(node))
            case _:
                axes = frozenset[int]().union(*(free[source] for source in children(node)))
                summed = iterates[node] if isinstance(node, Reduce) else ()
                free[node] = axes - {axis for axis, is_summed in enumerate(summed) if is_summed}
    return free


@dataclass(slots=True)
class Names:
    """Fresh names, numbered by prefix, so that the same kernel always gets the same text."""

    counts: dict[str, int] = field(default_factory=dict)

    def fresh(self, prefix: str) -> str:
        """The next name of this prefix."""
        number = self.counts.get(prefix, 0)
        self.counts[prefix] = number + 1
        return f"{prefix}{number}"


Reducer: TypeAlias = "Callable[[Values, Reduce, Env], Steps]"


class Values:
    """Emits the statements that compute AST nodes, each once per place.

    `outermost` is where values go that vary along no axis. `reduce` computes a reduction: it makes
    every register combination of it known (`lower/reductions`).
    """

    def __init__(
        self,
        kernel: Kernel,
        indices: Indices,
        arguments: Mapping[int, BufferArgument],
        root: Block,
        reduce: Reducer,
    ) -> None:
        self.kernel = kernel
        self.indices = indices
        self.arguments = arguments
        self.outermost = root
        self.reduce = reduce
        self.free = free_axes(kernel, self.indices)
        self.names = Names()
        self.known: dict[tuple[Value, tuple[Sint, ...]], Operand] = {}

    def operand(self, node: Value, env: Env) -> Operand:
        """The value of `node` where the axes stand as `env` says; emits what is missing."""
        known = self.known.get(self.key(node, env))
        return self.run(self._steps(node, env)) if known is None else known

    def run(self, steps: Generator[tuple[Value, Env], Operand, T]) -> T:
        """Run a computation and those that it asks for.

        It keeps its own stack, so that no depth of AST meets Python's recursion limit.
        """
        stack: list[Generator[tuple[Value, Env], Operand, Any]] = [steps]
        answer: Any = None
        while True:
            try:
                wanted = stack[-1].send(answer)
            except StopIteration as done:
                answer = done.value
                stack.pop()
                if not stack:
                    return cast(T, answer)
            else:
                answer = self.known.get(self.key(*wanted))
                if answer is None:
                    stack.append(self._steps(*wanted))

    def key(self, node: Value, env: Env) -> tuple[Value, tuple[Sint, ...]]:
        """What tells a place from the others, as far as `node` varies."""
        return node, tuple(env[axis].coordinate for axis in sorted(self.free[node]))

    def _steps(self, node: Value, env: Env) -> Steps:
        key = self.key(node, env)
        match node:
            case Constant():
                self.known[key] = self._constant(node, env)
            case Load():
                self.known[key] = self._load(node, env)
            case Alu(op, sources):
                operands = []
                for source in sources:
                    operands.append((yield source, env))
                model = sources[1] if op is Op.WHERE else sources[0]
                result = BOOL if op in COMPARES else model.dtype.value
                value = Apply(op, tuple(operands), model.dtype.value)
                self.known[key] = self._define("alu", result, value, node, env)
            case Cast(source, dtype, bitcast):
                inner = yield source, env
                self.known[key] = self._cast(node, inner, dtype.value, bitcast, env)
            case Reduce():
                yield from self.reduce(self, node, env)
        return self.known[key]

    def _define(
        self, prefix: str, dtype: DType, value: ProgramValue, node: Value, env: Env
    ) -> Register:
        register = Register(self.names.fresh(prefix), dtype)
        deepest(env, self.free[node], self.outermost).add(Define(register, value))
        return register

    def _constant(self, node: Constant, env: Env) -> Operand:
        dtype = node.dtype.value
        literal = Literal(node.value, dtype)
        valid = self.indices.at(node, env)[1]
        if valid == 1 or str(node.value) in ("0", "0.0", "False"):
            return literal
        if valid == 0:
            return Literal(0, dtype)
        return self._define("const", dtype, Masked(as_expr(valid), literal, dtype), node, env)

    def _load(self, node: Load, env: Env) -> Operand:
        dtype = node.dtype.value
        address, valid = self.indices.at(node, env)
        if valid == 0:
            return Literal(0, dtype)
        buffer = self.arguments[node.buffer]
        widths = widths_of(buffer.dtype, supports_float4=self.kernel.limits.supports_float4)
        is_image = buffer.dtype.is_image
        if vector := vector_at(self.indices, node, env, widths, may_be_masked=is_image):
            return self._load_vector(node, vector, env)
        load = LoadGlobal(buffer.name, address, valid, dtype)
        return self._define("val", dtype, load, node, env)

    def _load_vector(self, node: Load, vector: Vector, env: Env) -> Operand:
        """One load for all lanes, each of which is then known."""
        dtype, lanes = node.dtype.value, vector.lanes
        name = self.arguments[node.buffer].name
        load = LoadGlobal(name, vector.address, vector.valid, dtype, lanes)
        register = Register(self.names.fresh("vec"), dtype, lanes)
        deepest(env, self.free[node], self.outermost).add(Define(register, load))
        block = env[vector.axis].block
        for lane in range(lanes):
            place = {**env, vector.axis: Place(vector.first + lane, block)}
            self.known[self.key(node, place)] = Lane(register, lane)
        return self.known[self.key(node, env)]

    def _cast(self, node: Cast, inner: Operand, dtype: DType, bitcast: bool, env: Env) -> Operand:
        if node.value.dtype.value == dtype:
            return inner
        return self._define("cast", dtype, Convert(inner, dtype, bitcast), node, env)
