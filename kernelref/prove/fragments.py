"""Which element of its tile each thread of a tensor core holds in each register.

D(M, N) = A(M, K) * B(K, N) + C(M, N). A tile's axis N or M is cut as the TC opt cuts it: first the
part that is upcast, then one part a thread entry, each the inner part of what is left. A table of
aliases says what an operand's fragment reads on each of these parts: a thread axis, a digit of the
register number, or nothing; several make one number, the first the fastest.

Source: tinygrad 0.9.1 codegen/linearizer.py, calc_tc_idxs (how aliases are read) and kernel.py,
_apply_tc_opt (in which order the parts are cut).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kernelref.opt.tensor_core import TensorCore
from kernelref.prove.claim import Lift, OneToOne, Point

OPERANDS = "ABD"
N, M, K = range(3)
_DIMS = {"A": (M, K), "B": (K, N), "D": (M, N)}


@dataclass(frozen=True, slots=True)
class Fragment:
    """The map of one operand: (threads, registers) -> an element of the tile.

    Shapes: `box` holds the extents of the thread axes, then of the digits of the register number,
    the fastest first. `aliases` are those of the thread entries in their order, then of the
    unrolled and the upcast axes. `repeats` are the thread axes along which every element is held
    again.
    """

    core: TensorCore
    operand: str
    box: tuple[int, ...]
    aliases: tuple[tuple[int, ...], ...]
    repeats: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, int]:
        """The extents of the operand's tile."""
        first, second = _DIMS[self.operand]
        return self.core.dims[first], self.core.dims[second]

    @property
    def multiplicity(self) -> int:
        """How many (thread, register) pairs hold each element."""
        return math.prod(self.box[axis] for axis in self.repeats)

    def element(self, point: Point) -> tuple[Any, Any]:
        """The (row, column) that a register of a thread holds; ints, arrays or Terms."""
        parts = self._parts(point)
        threads = self.core.threads
        unrolled, *upcast = parts[len(threads) :]
        coordinates: list[Any] = [0, 0, unrolled]
        weights = [1, 1]
        for dim in (N, M):
            beyond = self.core.dims[dim] // self.core.threads_along(dim)
            if beyond != 1:
                coordinates[dim] = coordinates[dim] + upcast.pop(0)
                weights[dim] = beyond
        for (dim, amount), part in zip(threads, parts, strict=False):
            coordinates[dim] = coordinates[dim] + part * weights[dim]
            weights[dim] *= amount
        first, second = _DIMS[self.operand]
        return coordinates[first], coordinates[second]

    def _parts(self, point: Point) -> list[Any]:
        """The number that each alias makes of thread axes and register digits."""
        count = len(self.core.threads)
        threads, digits = point[:count], point[count:]
        parts: list[Any] = []
        for alias in self.aliases:
            value: Any = 0
            weight = 1
            for source in alias:
                if source > 0:
                    value = value + threads[source - 1] * weight
                    weight *= self.box[source - 1]
                elif source < 0:
                    value = value + digits[-source - 1] * weight
                    weight *= self.box[count - source - 1]
            parts.append(value)
        return parts

    def claim(self) -> OneToOne:
        """Every element of the tile is held once, threads that repeat others left out."""
        box = tuple(1 if axis in self.repeats else n for axis, n in enumerate(self.box))
        rows, columns = self.shape

        def key(point: Point, _: Lift) -> tuple[Any, Any]:
            row, column = self.element(point)
            inside = (row >= 0) & (row < rows) & (column >= 0) & (column < columns)
            return True, row * columns + column + (1 - 1 * inside) * rows * columns

        subject = f"{self.operand} of {self.core}"
        return OneToOne(subject, box, (), 1 << 20, key, rows * columns)


def fragments(core: TensorCore, *, is_last_first: bool = False) -> Iterator[Fragment]:
    """The three operands' fragments.

    `is_last_first`: the table lists the thread axes as 0.8.0's LASTLOCAL leaves them, the last
    entry first.
    """
    count = len(core.threads)
    for number, operand in enumerate(OPERANDS):
        box = (*(amount for _, amount in core.threads), *core.sizes[number])
        aliases = core.aliases[number]
        if is_last_first:
            aliases = (*reversed(aliases[:count]), *aliases[count:])
        used = {source for alias in aliases for source in alias}
        repeats = tuple(axis for axis in range(count) if axis + 1 not in used)
        yield Fragment(core, operand, box, aliases, repeats)
