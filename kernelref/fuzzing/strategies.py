"""Hypothesis strategies: random kernels and opt sequences for anyone's property tests.

    from hypothesis import given
    from kernelref.fuzzing.strategies import kernels, opt_sequences
    from kernelref.opt.kernel import Kernel

    @given(kernels(), opt_sequences())
    def test_opts_keep_the_buffers(ast, sequence):
        kernel = Kernel.open(ast)
        walk = sequence.on(kernel)
        assert walk.kernel.buffers == kernel.buffers

A sequence is not a list of opts but a way to choose them: `on` asks for opts that make sense on the
kernel at hand, of which most are accepted, and deleting a step of it takes one opt away, so that
failures shrink. The same generators, seeded, make the cases of `kernelref fuzz`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from hypothesis import strategies as st

from kernelref.fuzzing.choose import Chooser
from kernelref.fuzzing.generate import generate_kernel
from kernelref.fuzzing.generate_opts import OptSequence, generate_sequence
from kernelref.fuzzing.generate_taste import DEFAULT, Taste
from kernelref.ir.ast import Ast

T = TypeVar("T")


class DrawnChooser(Chooser):
    """Answers that Hypothesis draws, and shrinks when a test fails."""

    def __init__(self, draw: st.DrawFn) -> None:
        self._draw = draw

    def integer(self, low: int, high: int) -> int:
        """An integer from `low` to `high`; a failing one is moved towards `low`."""
        return low if low == high else self._draw(st.integers(low, high))


def drawn(make: Callable[[Chooser], T]) -> st.SearchStrategy[T]:
    """What any generator makes, as a strategy."""

    @st.composite
    def strategy(draw: st.DrawFn) -> T:
        return make(DrawnChooser(draw))

    return strategy()


def kernels(taste: Taste = DEFAULT) -> st.SearchStrategy[Ast]:
    """Random kernels: ASTs that pass `verify` and are defined for the inputs that are drawn."""
    return drawn(lambda chooser: generate_kernel(chooser, taste))


def opt_sequences(longest: int = 6) -> st.SearchStrategy[OptSequence]:
    """Ways to choose up to `longest` opts for a kernel; apply one with `sequence.on(kernel)`."""
    return drawn(lambda chooser: generate_sequence(chooser, longest))
