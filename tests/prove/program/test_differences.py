"""Terms that differ are told in words."""

from __future__ import annotations

from typing import get_args

import pytest

from kernelref.ir.ast import Op, ReduceOp
from kernelref.ir.dtype import FLOAT, INT32
from kernelref.ir.index import Var, lt
from kernelref.prove.program.differences import Unlike, equations, spelled
from kernelref.prove.program.values import (
    Applied,
    Const,
    Converted,
    Guarded,
    Loaded,
    Node,
    Summed,
    Symbol,
    Table,
)

X = Var("x.0", 0, 7)
BELOW = lt(X, 4)
TERMS: dict[Node, str] = {
    Const("0.25", FLOAT): "0.25",
    Symbol(X + 1, INT32): "(x.0+1)",
    Loaded(1, FLOAT, X * 2, BELOW): "element (x.0*2) of buffer 1 where (x.0<4)",
    Guarded(BELOW, 0): "a term where (x.0<4)",
    Applied(Op.ADD, FLOAT, (0, 0)): "ADD",
    Converted(0, INT32, False): "CAST to int",
    Converted(0, INT32, True): "BITCAST to int",
    Summed(ReduceOp.SUM, FLOAT, frozenset({(frozenset({X}), 0, 2)})): (
        "SUM of 2 terms over x.0 <= 7"
    ),
    Summed(ReduceOp.SUM, FLOAT, frozenset({(frozenset(), 0, 1)})): "SUM of 1 term",
}


@pytest.mark.parametrize("node", TERMS, ids=lambda node: TERMS[node])
def test_a_term_is_told_in_a_few_words(node: Node) -> None:
    assert spelled(node) == TERMS[node]


def test_every_kind_of_term_has_words() -> None:
    assert {type(node) for node in TERMS} == set(get_args(Node))


def test_a_difference_is_told_in_words() -> None:
    table = Table()
    one, two = table.add(Const("0.25", FLOAT)), table.add(Guarded(BELOW, 0))
    with pytest.raises(Unlike, match=r"^0\.25 for a term where \(x\.0<4\)$"):
        list(equations(table, one, two))
