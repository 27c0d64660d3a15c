"""The layout of JSON: the same value, in short lines, packed where nothing is nested."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelref.cases.layout import WIDTH, dumps

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=40),
    lambda inner: st.lists(inner, max_size=12) | st.dictionaries(st.text(max_size=12), inner),
    max_leaves=40,
)  # fmt: skip


@given(values)
@settings(max_examples=200, deadline=None, derandomize=True)
def test_it_reads_back(value) -> None:
    text = dumps(value)
    assert json.loads(text) == value
    assert list(json.loads(text)) == list(value) if isinstance(value, dict) else True


def test_short_values_stay_on_a_line() -> None:
    assert dumps([1, {"a": [2, 3]}]) == '[1, {"a": [2, 3]}]\n'


def test_long_lists_break_and_lines_stay_short() -> None:
    entries = [{"name": "n" * 30, "size": i, "inner": list(range(30))} for i in range(3)]
    text = dumps({"outer": entries})
    assert max(map(len, text.splitlines())) <= WIDTH
    assert f'"name": "{"n" * 30}", "size": 0,\n' in text


def test_nan_is_refused() -> None:
    with pytest.raises(ValueError, match="JSON"):
        dumps([float("nan")])
