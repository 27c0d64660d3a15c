"""Which index expressions need 64-bit arithmetic: those of which some part may leave 32 bits."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from kernelref.codegen.program import DefineIndex, Loop, Statement, indices, nested
from kernelref.ir.index import Binary, Expr, bounds

_LARGEST = 2**31 - 1


def wide_expressions(body: Sequence[Statement]) -> frozenset[Expr]:
    """The index expressions of `body`, and loop and index variables, that int cannot hold.

    Law: every part of every other index expression lies in [-(2**31 - 1), 2**31 - 1].
    """
    found: set[Expr] = set()
    for statement in nested(body):
        for index in indices(statement):
            if isinstance(index, Expr) and leaves_int32(index):
                found.add(index)
        match statement:
            case Loop(variable, extent) if bounds(extent)[1] > _LARGEST:
                found.add(variable)
            case DefineIndex(variable) if leaves_int32(variable):
                found.add(variable)
    return frozenset(found)


@lru_cache(maxsize=1 << 16)
def leaves_int32(expr: Expr) -> bool:
    """Whether the value of `expr`, or of a part of it, may lie beyond 32 bits."""
    low, high = bounds(expr)
    if low < -_LARGEST or high > _LARGEST:
        return True
    return isinstance(expr, Binary) and (leaves_int32(expr.left) or leaves_int32(expr.right))
