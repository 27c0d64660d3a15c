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

from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import TypeAlias

from kernelref.codegen.lower.block import Block, Env, Place, deepest
from kernelref.codegen.lower.indices import Indices
from kernelref.codegen.program import (
    Apply,
    Assign,
    BufferArgument,
    Combine,
    Convert,
    Define,
    Literal,
    LoadGlobal,
    Loop,
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
    ReduceOp,
    Store,
    Value,
    children,
    postorder,
)
from kernelref.ir.dtype import BOOL, DType
from kernelref.ir.index import Sint, Var, add, as_expr
from kernelref.opt.axis import AxisType
from kernelref.opt.kernel import Kernel

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
                free[node] = indices.free(node)
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


class Values:
    """Emits the statements that compute AST nodes, each once per place."""

    def __init__(self, kernel: Kernel, arguments: dict[int, BufferArgument], root: Block) -> None:
        self.kernel = kernel
        self.arguments = arguments
        self.outermost = root
        self.indices = Indices(kernel)
        self.free = free_axes(kernel, self.indices)
        self.iterates = dict(zip(kernel.reduces, kernel.iterates, strict=True))
        self.names = Names()
        self.known: dict[tuple[Value, tuple[Sint, ...]], Operand] = {}

    def operand(self, node: Value, env: Env) -> Operand:
        """The value of `node` where the axes stand as `env` says; emits what is missing.

        It keeps its own stack, so that no depth of AST meets Python's recursion limit.
        """
        stack: list[Steps] = []
        wanted: tuple[Value, Env] | None = (node, env)
        result: Operand | None = None
        while wanted is not None or stack:
            if wanted is not None:
                result = self.known.get(self._key(*wanted))
                if result is None:
                    stack.append(self._steps(*wanted))
                wanted = None
            if stack:
                try:
                    wanted = next(stack[-1]) if result is None else stack[-1].send(result)
                except StopIteration as done:
                    stack.pop()
                    result = done.value
                else:
                    result = None
        assert result is not None
        return result

    def _key(self, node: Value, env: Env) -> tuple[Value, tuple[Sint, ...]]:
        return node, tuple(env[axis].coordinate for axis in sorted(self.free[node]))

    def _steps(self, node: Value, env: Env) -> Steps:
        key = self._key(node, env)
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
                yield from self._reduce(node, env)
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
        load = LoadGlobal(self.arguments[node.buffer].name, address, valid, dtype)
        return self._define("val", dtype, load, node, env)

    def _cast(self, node: Cast, inner: Operand, dtype: DType, bitcast: bool, env: Env) -> Operand:
        if node.value.dtype.value == dtype:
            return inner
        return self._define("cast", dtype, Convert(inner, dtype, bitcast), node, env)

    def _reduce(self, node: Reduce, env: Env) -> Steps:
        free = self.free[node]
        outer = {axis: env[axis] for axis in free}
        block = deepest(env, free, self.outermost)
        dtype = node.dtype.value
        points = list(self.register_points(free, env))
        sums = [Register(self.names.fresh("acc"), dtype) for _ in points]
        for register in sums:
            block.add(Define(register, Literal(identity(node.op, dtype), dtype)))
        loops = [
            (Var(self.names.fresh("r"), 0, add(extent, -1)), extent, axis)
            for axis in self._summed(node, AxisType.REDUCE)
            for extent in (self.kernel.axes[axis].extent,)
        ]
        bodies = [block]
        for variable, _, axis in loops:
            bodies.append(bodies[-1].inner())
            outer[axis] = Place(variable, bodies[-1])
        unrolled = self._summed(node, AxisType.UNROLL)
        for steps in self._grid(unrolled, self.outermost):
            for register, point in zip(sums, points, strict=True):
                term = yield node.value, {**outer, **point, **steps}
                bodies[-1].add(Assign(register, Combine(node.op, register, term, dtype)))
        for (variable, extent, _), outside, body in reversed(
            list(zip(loops, bodies, bodies[1:], strict=False))
        ):
            outside.add(Loop(variable, extent, tuple(body.statements)))
        for register, point in zip(sums, points, strict=True):
            self.known[self._key(node, {**env, **point})] = register
        return sums[0]

    def _summed(self, node: Reduce, kind: AxisType) -> list[int]:
        return [
            axis
            for axis, is_summed in enumerate(self.iterates[node])
            if is_summed and self.kernel.axes[axis].type is kind
        ]

    def register_points(self, axes: Iterable[int], env: Env) -> Iterator[dict[int, Place]]:
        """Every combination of coordinates on those of `axes` that are registers in `env`."""
        registers = [axis for axis in sorted(axes) if isinstance(env[axis].coordinate, int)]
        block = deepest(env, registers, self.outermost)
        return self._grid(registers, block)

    def _grid(self, axes: Sequence[int], block: Block) -> Iterator[dict[int, Place]]:
        ranges = [range(self._int(axis)) for axis in axes]
        for point in product(*ranges):
            yield {axis: Place(i, block) for axis, i in zip(axes, point, strict=True)}

    def _int(self, axis: int) -> int:
        extent = self.kernel.axes[axis].extent
        assert isinstance(extent, int), f"symbolic register axis {axis}"
        return extent


def identity(op: ReduceOp, dtype: DType) -> bool | int | float:
    """What a reduction starts from: 0, or the dtype's lowest value for MAX."""
    return dtype.lowest if op is ReduceOp.MAX else (dtype.kind.value == "bool" and False) or 0
