"""The oracle against itself: the first rung of the ladder.

The same AST with its axes in another order, and the same AST in much less memory, must give what
the AST gives. A mistake in how the oracle cuts, orders or broadcasts shows here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from kernelref.ir import semantics
from kernelref.ir.ast import Alu, Ast, Cast, Constant, Load, Node, Reduce, Store, Value, postorder
from kernelref.ir.semantics import Array
from kernelref.run.inputs import InputPlan
from kernelref.run.oracle import Oracle
from kernelref.run.tolerance import Mismatch, Rung, judge

SMALL_NBYTES = 1 << 16


def permuted(ast: Ast, order: Sequence[int]) -> Ast:
    """The same kernel with axis i what was axis order[i]. Law: every stored element is the same."""
    order = tuple(order)
    turned: dict[Node, Value] = {}
    stores: list[Store] = []
    for node in postorder(ast):
        match node:
            case Load() | Constant():
                turned[node] = replace(node, st=node.st.permute(order))
            case Alu(op=op, src=src):
                turned[node] = Alu(op, tuple(turned[source] for source in src))
            case Cast(value=value, dtype=dtype, bitcast=bitcast):
                turned[node] = Cast(turned[value], dtype, bitcast)
            case Reduce(op=op, value=value, axes=axes):
                moved = tuple(sorted(order.index(axis) for axis in axes))
                turned[node] = Reduce(op, turned[value], moved)
            case Store(value=value):
                st = node.st.permute(order)
                stores.append(Store(node.buffer, node.dtype, st, turned[value]))
    return tuple(stores)


def self_check(
    ast: Ast,
    plan: InputPlan,
    inputs: Mapping[int, Array],
    variables: Mapping[str, int],
    points: Array | None = None,
) -> Mismatch | None:
    """The first output at which the oracle contradicts itself, under the contract of `plan`."""
    oracle = Oracle(ast, inputs, variables)
    order = tuple(reversed(range(len(ast[0].shape))))
    turned = Oracle(permuted(ast, order), inputs, variables)
    small = Oracle(ast, inputs, variables, budget_nbytes=SMALL_NBYTES)
    for output, store in enumerate(ast):
        if plan.rung is Rung.BOUNDED:
            values = oracle.values(output, points)
        else:
            values = oracle.values(output, points, bounds=None)
        shape = oracle.shape(output)
        all_points = np.arange(len(values.value)) if points is None else points
        place = np.unravel_index(all_points, shape) if shape else ()
        other = np.ravel_multi_index(place[::-1], shape[::-1]) if shape else all_points
        for again in (small.exact(output, points), turned.exact(output, other)):
            wrong = judge(semantics.encode(again, store.dtype), values, plan.rung, store.dtype)
            if wrong is not None:
                return wrong
    return None
