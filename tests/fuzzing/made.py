"""Kernels that the tests of the generator count."""

from __future__ import annotations

from kernelref.fuzzing.choose import SeededChooser
from kernelref.fuzzing.generate import generate_kernel
from kernelref.ir.ast import Ast
from kernelref.ir.index import bounds
from kernelref.run.points import symbols

MADE = tuple(generate_kernel(SeededChooser(seed)) for seed in range(1200))


def most(ast: Ast) -> dict[str, int]:
    """The largest value of each symbolic variable."""
    return {symbol.name: bounds(symbol)[1] for symbol in symbols(ast)}
