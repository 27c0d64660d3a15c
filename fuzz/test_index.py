"""Index arithmetic against brute force: every point of small ranges."""

from __future__ import annotations

from typing import Any

import numpy as np

from fuzz.harness import fuzzed
from kernelref.fuzzing.choose import Chooser
from kernelref.fuzzing.generate import generate_kernel
from kernelref.fuzzing.generate_index import generate_index, generate_variables
from kernelref.fuzzing.generate_opts import OptSequence, generate_sequence
from kernelref.ir.ast import Ast
from kernelref.ir.index import Expr, Sint, Var, bounds, evaluate, simplify, substitute
from kernelref.opt.kernel import Kernel

MOST_POINTS = 1 << 16


def generate_case(chooser: Chooser) -> tuple[tuple[Var, ...], Expr]:
    variables = generate_variables(chooser)
    return variables, generate_index(chooser, variables, chooser.integer(1, 5))


def _values(expr: Sint, variables: tuple[Var, ...]) -> Any:
    """At every point."""
    axes = np.ogrid[tuple(slice(v.low, int(evaluate(v.high, {})) + 1) for v in variables)]
    names = [variable.name for variable in variables]
    shape = np.broadcast_shapes(*(axis.shape for axis in axes))
    return np.broadcast_to(evaluate(expr, dict(zip(names, axes, strict=True))), shape)


@fuzzed(generate_case, share=5, seeds=20)
def test_simplified_indices_have_the_same_values(case: tuple[tuple[Var, ...], Expr]) -> None:
    variables, expr = case
    values = _values(expr, variables)
    assert np.array_equal(_values(simplify(expr), variables), values), simplify(expr)
    low, high = bounds(expr)
    assert low <= values.min(), f"bounds say {low}"
    assert values.max() <= high, f"bounds say {high}"
    first = variables[0]
    fixed = substitute(expr, {first.name: first.low})
    assert np.array_equal(_values(fixed, variables)[0], values[0]), fixed


@fuzzed(generate_kernel, generate_sequence, seeds=6)
def test_the_indices_of_optimised_kernels_are_their_views(ast: Ast, sequence: OptSequence) -> None:
    kernel = sequence.on(Kernel.open(ast)).kernel
    for st in kernel.sts:
        extents = [extent for extent in st.shape if isinstance(extent, int)]
        if any(view.is_symbolic for view in st.views) or np.prod(extents) > MOST_POINTS:
            continue
        grid = np.ogrid[tuple(slice(extent) for extent in extents)]
        values = {f"idx{i}": axis for i, axis in enumerate(grid)}
        wanted, wanted_valid = st.address(grid)
        address, valid = (evaluate(part, values) for part in st.index())
        shape = tuple(extents)
        inside = np.broadcast_to(wanted_valid, shape)
        assert np.array_equal(np.broadcast_to(np.asarray(valid) != 0, shape), inside), st
        differs = np.broadcast_to(address, shape) != np.broadcast_to(wanted, shape)
        assert not (differs & inside).any(), st
