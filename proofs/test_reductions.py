"""A grouped reduction is the reduction: the parts are taken from all terms, each once.

For an associative and commutative op it is then equal, whatever the grouping (modulo
reassociation). Z3 confirms on four terms that both properties are needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import z3  # type: ignore[import-untyped]  # z3 ships without types

from kernelref.opt.axismap import AxisMap, LinearSum
from kernelref.prove import obligations as o
from kernelref.prove.verdict import Part
from proofs.sizes import side, size, step
from proofs.theorem import Theorem, settle

Q, M, L = size("q"), size("m"), size("l")
Record = Callable[[str, object], None]


def parts(*, inner: bool) -> Iterator[Part]:
    """(group, loop): terms of a group lie m apart (GROUP) or in one run (GROUPTOP)."""
    terms = ((0, 1), (1, M)) if inner else ((0, Q), (1, 1))
    law = AxisMap((M, Q), (Q * M,), (LinearSum(terms),))
    return o.bijection(step("group", side((M, Q)), side((Q * M,)), law))


def parts_that_overlap() -> Iterator[Part]:
    """Groups that start one too early read a term twice and leave one out."""
    law = AxisMap((M, Q), (Q * M,), (LinearSum(((0, Q - 1), (1, 1))),))
    return o.bijection(step("group", side((M, Q)), side((Q * M,)), law))


def unrolled_parts() -> Iterator[Part]:
    """(group, loop, unroll) of q*l*m terms."""
    law = AxisMap((M, Q, L), (Q * L * M,), (LinearSum(((0, 1), (1, L * M), (2, M))),))
    return o.bijection(step("group", side((M, Q, L)), side((Q * L * M,)), law))


def unrolled_with_a_wrong_step() -> Iterator[Part]:
    law = AxisMap((M, Q, L), (Q * L * M,), (LinearSum(((0, 1), (1, L * M), (2, 1))),))
    return o.bijection(step("group", side((M, Q, L)), side((Q * L * M,)), law))


THEOREMS = (
    Theorem("GROUP takes every term once", lambda: parts(inner=True), parts_that_overlap),
    Theorem("GROUPTOP takes every term once", lambda: parts(inner=False), parts_that_overlap),
    Theorem(
        "a grouped and unrolled reduction takes every term once",
        unrolled_parts,
        unrolled_with_a_wrong_step,
    ),
)


@pytest.mark.parametrize("theorem", THEOREMS, ids=lambda t: t.name)
def test_grouping(theorem: Theorem, record_property: Record) -> None:
    settle(theorem, record_property)


def regrouped(*, is_associative: bool, is_commutative: bool) -> str:
    """Whether (a op c) op (b op d) can differ from ((a op b) op c) op d: Z3's answer."""
    context = z3.Context()
    sort = z3.DeclareSort("value", context)
    op = z3.Function("op", sort, sort, sort)
    a, b, c = z3.Consts("a b c", sort)
    solver = z3.Solver(ctx=context)
    solver.set("rlimit", 500_000)
    if is_associative:
        solver.add(z3.ForAll([a, b, c], op(op(a, b), c) == op(a, op(b, c))))
    if is_commutative:
        solver.add(z3.ForAll([a, b], op(a, b) == op(b, a)))
    w, x, y, z = z3.Consts("w x y z", sort)
    solver.add(op(op(w, y), op(x, z)) != op(op(op(w, x), y), z))
    return str(solver.check())


def test_a_reduction_in_groups_needs_both_laws() -> None:
    assert regrouped(is_associative=True, is_commutative=True) == "unsat"
    assert regrouped(is_associative=True, is_commutative=False) != "unsat"
    assert regrouped(is_associative=False, is_commutative=True) != "unsat"
