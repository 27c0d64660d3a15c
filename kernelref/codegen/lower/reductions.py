"""Reductions: accumulators, loops, and work-items that share one.

Not shared: accumulators at their start values, one loop an axis, one step a term.

    acc = 0; for r: acc += term(r)

Shared (an axis of it is GROUP_REDUCE): each work-item reduces its part and writes it to its own
place in shared memory; after a barrier the *late reduction* combines the parts of the group. A
GROUP_UPCAST axis is a work-item axis before that barrier and a register axis after it.

    part = 0; for r: part += term(r, local id); shared[local id] = part; barrier
    acc = 0; for g: acc += shared[g]

A reduction at the top is combined by the first work-item of the group alone, which then stores
(`lower`). One that another reduction reads is combined by every work-item; inside a loop a second
barrier keeps the next round's parts from overtaking it.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import TypeAlias

from kernelref.codegen.lower.block import Block, Env, Place, deepest, extent_of, register_points
from kernelref.codegen.lower.values import Steps, Values
from kernelref.codegen.program import (
    Assign,
    Barrier,
    Combine,
    Define,
    Literal,
    LoadShared,
    Loop,
    Operand,
    Register,
    SharedArray,
    StoreShared,
)
from kernelref.ir.ast import Reduce, ReduceOp, Value, postorder
from kernelref.ir.dtype import DType
from kernelref.ir.index import Sint, Var, add, mul, simplify
from kernelref.opt.axis import GROUPS, LOCALS, UPCASTS, AxisType
from kernelref.opt.kernel import Kernel

Points: TypeAlias = Sequence[Env]
"""Register coordinates, one accumulator each."""

_REGISTERS = UPCASTS | {AxisType.GROUP_UPCAST}


@dataclass(frozen=True, slots=True)
class Part:
    """Where each work-item has put its part of a reduction: `steps` elements along each axis."""

    array: SharedArray
    steps: Mapping[int, int]

    def address(self, env: Env) -> Sint:
        """The place of the point of `env`; an axis along which nothing varies counts as 0."""
        terms = (
            mul(env[axis].coordinate, step) for axis, step in self.steps.items() if axis in env
        )
        return simplify(add(0, *terms))


@dataclass(slots=True, eq=False)
class Loops:
    """Nested loops over some axes, around a body under construction."""

    outside: Block
    opened: list[tuple[Var, Sint, Block]] = field(default_factory=list)
    places: dict[int, Place] = field(default_factory=dict)

    @property
    def body(self) -> Block:
        """The innermost block."""
        return self.opened[-1][2] if self.opened else self.outside

    def open(self, name: str, axis: int, extent: Sint) -> None:
        """One more loop, inside the others."""
        variable, block = Var(name, 0, add(extent, -1)), self.body.inner()
        self.opened.append((variable, extent, block))
        self.places[axis] = Place(variable, block)

    def close(self) -> None:
        """Put the loops where they belong."""
        while self.opened:
            variable, extent, block = self.opened.pop()
            self.body.add(Loop(variable, extent, tuple(block.statements)))


@dataclass(slots=True, eq=False)
class Reductions:
    """Emits reductions. `work_items` says where this work-item stands on the axes of its group."""

    kernel: Kernel
    work_items: Env
    arrays: dict[Reduce, SharedArray] = field(default_factory=dict)
    parts: dict[tuple[Value, tuple[Sint, ...]], Part] = field(default_factory=dict)
    is_unseen: bool = False
    """Whether shared memory was written since the last barrier."""

    def is_shared(self, node: Reduce) -> bool:
        """Whether work-items share it."""
        return bool(self._axes(node, AxisType.GROUP_REDUCE))

    def holds_shared(self, node: Reduce) -> bool:
        """Whether it or a reduction below it is shared."""
        return any(isinstance(n, Reduce) and self.is_shared(n) for n in postorder((node,)))

    def steps(self, values: Values, node: Reduce, env: Env) -> Steps:
        """Make `node` known at every register combination of its axes."""
        free = values.free[node]
        block = deepest(env, free, values.outermost)
        points = list(register_points(self.kernel, free, env))
        if self.is_shared(node):
            part = yield from self.part(values, node, env)
            self.synchronise(block)
            sums = self._late(values, node, part, env, points, block)
            if block.depth > values.outermost.depth:
                block.add(Barrier())
        else:
            sums = yield from self._accumulate(values, node, env, points, block)
        for register, point in zip(sums, points, strict=True):
            values.known[values.key(node, {**env, **point})] = register
        return sums[0]

    def synchronise(self, block: Block) -> None:
        """A barrier, if shared memory was written since the last one."""
        if self.is_unseen:
            block.add(Barrier())
            self.is_unseen = False

    def part(
        self, values: Values, node: Reduce, env: Env
    ) -> Generator[tuple[Value, Env], Operand, Part]:
        """Reduce this work-item's part of a shared reduction into shared memory, once."""
        free = values.free[node]
        kinds = {axis: self.kernel.axes[axis].type for axis in free}
        loops = [axis for axis in sorted(free) if kinds[axis] not in _REGISTERS]
        key = node, tuple(env[axis].coordinate for axis in loops)
        if key not in self.parts:
            mine = {axis: env[axis] for axis in free}
            mine |= {a: self.work_items[a] for a in free if kinds[a] is AxisType.GROUP_UPCAST}
            mine |= {a: self.work_items[a] for a in self._axes(node, AxisType.GROUP_REDUCE)}
            block = deepest(mine, free, values.outermost)
            points = list(register_points(self.kernel, free, mine))
            sums = yield from self._accumulate(values, node, mine, points, block)
            part = self.parts[key] = self._new_part(node)
            for register, point in zip(sums, points, strict=True):
                address = part.address({**self.work_items, **mine, **point})
                block.add(StoreShared(part.array.name, address, register))
            self.is_unseen = True
        return self.parts[key]

    def _new_part(self, node: Reduce) -> Part:
        """A place for each work-item and register in the reduction's shared array.

        Two loops that both hold the reduction use one array: a barrier ends each round of a loop.
        """
        summed = self._axes(node, *UPCASTS)
        axes = [*self.kernel.axes_of(*LOCALS, *GROUPS)]
        axes += [axis for axis in self.kernel.axes_of(*UPCASTS) if axis not in summed]
        extents = [extent_of(self.kernel, axis) for axis in axes]
        name = f"shared{len(self.arrays)}"
        array = SharedArray(name, node.dtype.value, prod(extents))
        array = self.arrays.setdefault(node, array)
        return Part(array, {axis: prod(extents[i + 1 :]) for i, axis in enumerate(axes)})

    def _late(
        self, values: Values, node: Reduce, part: Part, env: Env, points: Points, block: Block
    ) -> list[Register]:
        dtype = node.dtype.value
        sums = self._start(values, node, points, block)
        loops = Loops(block)
        for axis in self._axes(node, AxisType.GROUP_REDUCE):
            loops.open(values.names.fresh("g"), axis, self.kernel.axes[axis].extent)
        for register, point in zip(sums, points, strict=True):
            address = part.address({**self.work_items, **env, **loops.places, **point})
            term = Register(values.names.fresh("part"), dtype)
            loops.body.add(Define(term, LoadShared(part.array.name, address, dtype)))
            loops.body.add(Assign(register, Combine(node.op, register, term, dtype)))
        loops.close()
        return sums

    def _accumulate(
        self, values: Values, node: Reduce, env: Env, points: Points, block: Block
    ) -> Generator[tuple[Value, Env], Operand, list[Register]]:
        """One accumulator a point; the loops stand in `block`."""
        dtype = node.dtype.value
        sums = self._start(values, node, points, block)
        loops = Loops(block)
        for axis in self._axes(node, AxisType.REDUCE):
            loops.open(values.names.fresh("r"), axis, self.kernel.axes[axis].extent)
        unroll = {a: Place(0, values.outermost) for a in self._axes(node, AxisType.UNROLL)}
        for unrolled in register_points(self.kernel, unroll, unroll):
            for register, point in zip(sums, points, strict=True):
                term = yield node.value, {**env, **loops.places, **point, **unrolled}
                loops.body.add(Assign(register, Combine(node.op, register, term, dtype)))
        loops.close()
        return sums

    def _start(self, values: Values, node: Reduce, points: Points, block: Block) -> list[Register]:
        dtype = node.dtype.value
        sums = [Register(values.names.fresh("acc"), dtype) for _ in points]
        for register in sums:
            block.add(Define(register, Literal(identity(node.op, dtype), dtype)))
        return sums

    def _axes(self, node: Reduce, *types: AxisType) -> list[int]:
        """The axes of these types that the reduction sums over."""
        summed = self.kernel.iterates[self.kernel.reduces.index(node)]
        return [axis for axis in self.kernel.axes_of(*types) if summed[axis]]


def identity(op: ReduceOp, dtype: DType) -> bool | int | float:
    """What a reduction starts from: 0, or the dtype's lowest value for MAX."""
    return dtype.lowest if op is ReduceOp.MAX else 0
