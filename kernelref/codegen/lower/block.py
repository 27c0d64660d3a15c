"""Blocks of statements under construction, and where an axis is known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import TypeAlias

from kernelref.codegen.program import Statement
from kernelref.errors import Unsupported
from kernelref.ir.index import Sint
from kernelref.opt.kernel import Kernel


@dataclass(slots=True, eq=False)
class Block:
    """The statements of a loop or guard so far; `depth` counts the blocks around it."""

    depth: int
    statements: list[Statement] = field(default_factory=list)

    def inner(self) -> Block:
        """A new block in this one; whoever asks adds the statement that holds it."""
        return Block(self.depth + 1)

    def add(self, statement: Statement) -> None:
        """One more statement at the end."""
        self.statements.append(statement)


@dataclass(frozen=True, slots=True)
class Place:
    """The coordinate on one axis, and the innermost block from which on it is known."""

    coordinate: Sint
    block: Block


Env: TypeAlias = Mapping[int, Place]
"""Where each axis stands. Blocks in one Env lie in each other."""


def deepest(env: Env, axes: Iterable[int], outermost: Block) -> Block:
    """The outermost block that knows all of `axes`."""
    block = outermost
    for axis in axes:
        if env[axis].block.depth > block.depth:
            block = env[axis].block
    return block


def register_points(kernel: Kernel, axes: Iterable[int], env: Env) -> Iterator[Env]:
    """Every combination of coordinates on those of `axes` that are registers, the last fastest."""
    registers = [axis for axis in sorted(axes) if isinstance(env[axis].coordinate, int)]
    for point in product(*(range(extent_of(kernel, axis)) for axis in registers)):
        yield {axis: Place(i, env[axis].block) for axis, i in zip(registers, point, strict=True)}


def extent_of(kernel: Kernel, axis: int) -> int:
    """The extent of an axis of work-items or registers, which is never symbolic.

    Raises: Unsupported when it is.
    """
    extent = kernel.axes[axis].extent
    if not isinstance(extent, int):
        raise Unsupported("symbolic-group", f"work-items or registers along {extent}")
    return extent
