"""The public strategies: the example of the docs runs, and failures shrink."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, find, given, settings

from kernelref.fuzzing import strategies
from kernelref.fuzzing.generate_opts import OptSequence
from kernelref.fuzzing.generate_taste import Taste
from kernelref.fuzzing.strategies import kernels, opt_sequences
from kernelref.ir.ast import Reduce, postorder
from kernelref.ir.dtype import HALF
from kernelref.ir.verify import verify
from kernelref.opt.kernel import Kernel

QUICK = settings(
    max_examples=25, deadline=None, database=None, derandomize=True,
    suppress_health_check=list(HealthCheck),
)  # fmt: skip


def test_the_example_of_the_docstring_runs():
    text = strategies.__doc__ or ""
    lines = [line[4:] for line in text.splitlines() if line.startswith("    ") or not line]
    example = "\n".join(lines)
    names: dict[str, object] = {}
    exec(example, names)
    test = names["test_opts_keep_the_buffers"]
    QUICK(test)()


@QUICK
@given(kernels(), opt_sequences())
def test_they_give_kernels_and_sequences(ast, sequence):
    assert verify(ast) == ast
    assert isinstance(sequence, OptSequence)
    sequence.on(Kernel.open(ast))


@QUICK
@given(kernels(Taste(dtypes={HALF: 1}, matmul=0, images=0)))
def test_a_taste_is_heard(ast):
    assert ast[0].dtype.name in ("half", "bool")


def test_a_failing_kernel_shrinks():
    smallest = find(
        kernels(),
        lambda ast: any(isinstance(node, Reduce) for node in postorder(ast)),
        settings=settings(max_examples=300, deadline=None, database=None, derandomize=True),
    )
    assert len(postorder(smallest)) <= 4


@pytest.mark.parametrize("count", [1, 3])
def test_no_sequence_is_longer_than_asked(count):
    @QUICK
    @given(opt_sequences(count))
    def holds(sequence):
        assert 1 <= len(sequence.steps) <= count

    holds()
