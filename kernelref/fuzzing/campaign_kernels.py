"""The kernels that a campaign takes from files, and what became of the others there."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import lru_cache

from kernelref.cases.sources import KernelSource, Unreadable, list_kernels, read_kernels, sample
from kernelref.errors import Unsupported
from kernelref.ir.ast import Ast
from kernelref.ir.index import bounds
from kernelref.run.points import iteration_points, symbols

SAMPLED = 256
"""How many kernels of its files a campaign takes unless told otherwise."""
MOST_POINTS = 200_000
"""Kernels of a file with more iteration points than this are left out."""

LARGE = "large"
"""The reason under which those are counted."""


@dataclass(frozen=True, slots=True)
class Taken:
    """What is taken of files: all that are `listed` there, those `looked_at`, those to be used.

    `unreadable` has a message for each that is malformed, `left_out` a reason for each that is not
    modelled or too large; with the kernels they add up to `looked_at`.
    """

    listed: int
    looked_at: int
    kernels: tuple[Ast, ...]
    unreadable: tuple[str, ...]
    left_out: tuple[str, ...]

    def counted(self) -> dict[str, int]:
        """Reason -> kernels left out."""
        return dict(sorted(Counter(self.left_out).items()))


NOTHING = Taken(0, 0, (), (), ())
"""What is taken of no files."""


@lru_cache(maxsize=4)
def taken_of(files: tuple[str, ...], count: int, seed: int) -> Taken:
    """What a campaign takes of these files. Raises: InvalidInput where they name nothing."""
    if not files:
        return NOTHING
    listed = list_kernels(files)
    chosen = sample(listed, count, seed)
    kernels: list[Ast] = []
    unreadable: list[str] = []
    left_out: list[str] = []
    for item in read_kernels(chosen):
        match item:
            case KernelSource(ast=ast) if _is_small(ast):
                kernels.append(ast)
            case KernelSource():
                left_out.append(LARGE)
            case Unreadable(error=Unsupported(reason=reason)):
                left_out.append(reason)
            case Unreadable(error=error):
                unreadable.append(str(error))
    return Taken(len(listed), len(chosen), tuple(kernels), tuple(unreadable), tuple(left_out))


def _is_small(ast: Ast) -> bool:
    most = {symbol.name: bounds(symbol)[1] for symbol in symbols(ast)}
    return iteration_points(ast, most) <= MOST_POINTS
