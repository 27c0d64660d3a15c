"""Index expressions as JSON: any canonical expression comes back the same object."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelref.cases.expressions import (
    expression_from_json,
    expression_to_json,
    variables_from_json,
    variables_to_json,
)
from kernelref.errors import InvalidInput
from kernelref.ir.index import Var, and_, cdiv, cmod, lt, variables

SYMBOLS = {"a": Var("a", 0, 9), "b": Var("b", -5, 5), "c": Var("c", 1, 1)}

leaves = st.integers(-20, 20) | st.sampled_from(list(SYMBOLS.values()))


def _nodes(inner):
    positive = st.integers(1, 9)
    return st.one_of(
        st.tuples(inner, inner).map(lambda pair: pair[0] + pair[1]),
        st.tuples(inner, inner).map(lambda pair: pair[0] * pair[1]),
        st.tuples(inner, positive).map(lambda pair: pair[0] // pair[1]),
        st.tuples(inner, positive).map(lambda pair: pair[0] % pair[1]),
        st.tuples(inner, positive).map(lambda pair: cdiv(*pair)),
        st.tuples(inner, positive).map(lambda pair: cmod(*pair)),
        st.tuples(inner, inner).map(lambda pair: lt(*pair)),
        st.tuples(inner, inner).map(lambda pair: and_(lt(pair[0], 3), lt(2, pair[1]))),
    )


@given(st.recursive(leaves, _nodes, max_leaves=8))
@settings(max_examples=300, deadline=None, derandomize=True)
def test_round_trip(expression) -> None:
    document = json.loads(json.dumps(expression_to_json(expression)))
    again = expression_from_json(document, SYMBOLS, "x")
    assert again is expression or (again == expression and type(again) is int)


def test_what_a_person_writes_becomes_canonical() -> None:
    a = SYMBOLS["a"]
    written = ["*", ["+", 1, "a", 2], 64]
    assert expression_from_json(written, SYMBOLS, "x") is (a + 3) * 64


@pytest.mark.parametrize(
    "document",
    [
        None, True, 1.5, {}, [], ["+"], ["+", 1], [1, 2, 3], ["plus", 1, 2], "z", ["//", 4, 0],
        ["%", "a", -1], ["%", "a", "a"], ["cdiv", 1, 2, 3], ["<", 1, 2, 3], ["+", 1, None],
        ["+", *range(100)], ["and", [], []],
    ],
)  # fmt: skip
def test_malformed(document) -> None:
    with pytest.raises(InvalidInput) as caught:
        expression_from_json(document, SYMBOLS, "here")
    assert caught.value.where == "here"


def test_depth_is_bounded() -> None:
    document: object = "a"
    for _ in range(200):
        document = ["//", document, 2]
    with pytest.raises(InvalidInput, match="too large"):
        expression_from_json(document, SYMBOLS, "x")


def test_products_of_sums_are_bounded() -> None:
    symbols = {f"v{i}": Var(f"v{i}", 0, 9) for i in range(64)}
    sums = [["+", f"v{2 * i}", f"v{2 * i + 1}"] for i in range(32)]
    assert expression_from_json(["*", *sums[:8]], symbols, "x")
    with pytest.raises(InvalidInput, match="256 terms"):
        expression_from_json(["*", *sums], symbols, "x")


def test_a_bound_is_written_before_what_refers_to_it() -> None:
    z = Var("z", 1, 10)
    a = Var("a", 0, z - 1)
    document = variables_to_json({a}, {"z": 4})
    assert list(document) == ["z", "a"]
    symbols, values = variables_from_json(document)
    assert symbols == {"a": a, "z": z}
    assert variables(symbols["a"]) == {a, z}
    assert values == {"z": 4}
