"""Case files: an exact round trip, and every damage named by file and field."""

from __future__ import annotations

import json
import math
import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelref.cases.case import (
    Case,
    Expect,
    Inputs,
    dump_case,
    parse_case,
    read_case,
    symbols_of,
    to_json,
    write_case,
)
from kernelref.cases.schema import OUTCOMES, RULE_SET_NAMES
from kernelref.cases.seeds import cases
from kernelref.errors import InvalidInput
from kernelref.ir.ast import Op, ReduceOp, postorder
from kernelref.ir.builder import buffer, constant, kernel
from kernelref.ir.dtype import BOOL, DOUBLE, FLOAT, IMAGE_HALF, INT32, SCALARS, image
from kernelref.ir.index import Var
from kernelref.ir.shapetracker import ShapeTracker
from kernelref.ir.view import View, ViewAlgebra
from kernelref.opt.limits import PRESETS
from kernelref.opt.opt import Opt, OptOps
from kernelref.opt.rules.sets import RULE_SETS
from kernelref.run.outcome import Outcome
from tests.shared_bugs import KERNEL_FILES, kernel_bugs, kernel_file

PLAIN = Case(kernel(buffer(1, (4, 6)) + 1.0), title="plain", origin="a test")


def same(case: Case) -> None:
    """The text reads back as the same case, nodes included, and writes as the same text."""
    text = dump_case(case)
    again = parse_case(text)
    assert again == case
    assert all(a is b for a, b in zip(again.ast, case.ast, strict=True))
    assert dump_case(again) == text


def test_seeds_round_trip() -> None:
    for _, case in cases():
        same(case)


def test_real_bugs_round_trip() -> None:
    for bug in kernel_bugs():
        assert bug.ast
        same(Case(bug.ast, title=bug.title, opts=bug.opts, expect=Expect(legal=None)))


@pytest.mark.parametrize("name", KERNEL_FILES)
def test_real_kernels_round_trip(name: str) -> None:
    from kernelref.cases.sources import KernelSource, kernels

    for source in kernels([str(kernel_file(name))], 60, 3):
        assert isinstance(source, KernelSource)
        same(Case(source.ast))


@pytest.mark.parametrize(
    "value", [0.0, -0.0, 1e-45, 1 / 3, 1.7e308, math.inf, -math.inf, math.nan, 0, 1, True, False]
)
def test_constants_keep_type_sign_and_every_bit(value) -> None:
    case = Case(kernel(constant(value, (3,), DOUBLE)))
    same(case)
    (read,) = parse_case(dump_case(case)).ast
    assert type(read.value.value) is type(value)
    assert repr(read.value.value) == repr(value)


@pytest.mark.parametrize("value", [(1 << 64) - 1, -(1 << 63)])
def test_wide_integers(value: int) -> None:
    same(Case(kernel(constant(value, (3,), INT32))))


def test_dtypes() -> None:
    for dtype in (*SCALARS, image(IMAGE_HALF, (3, 5, 4))):
        same(Case(kernel(buffer(1, (3, 5, 4), dtype))))


def test_every_op() -> None:
    for op in Op:
        first = buffer(1, (2,), BOOL if op is Op.WHERE else INT32)
        is_of_floats = op in (Op.EXP2, Op.LOG2, Op.SIN, Op.SQRT, Op.RECIP)
        sources = [buffer(i + 2, (2,), INT32) for i in range(op.arity - 1)]
        value = buffer(1, (2,)).apply(op) if is_of_floats else first.apply(op, *sources)
        same(Case(kernel(value)))
    assert {op.name for op in ReduceOp} == {"SUM", "MAX"}
    same(Case(kernel(buffer(1, (2, 3)).sum(1))))
    same(Case(kernel(buffer(1, (2, 3)).max(0, 1))))
    same(Case(kernel(buffer(1, (2,)).bitcast(INT32))))


@pytest.mark.parametrize("algebra", list(ViewAlgebra))
def test_views_and_their_algebra(algebra: ViewAlgebra) -> None:
    views = (View((5, 6), (6, 1), -3, ((1, 5), (0, 0))), View((30,), (-1,), 29))
    tracker = ShapeTracker(views, algebra)
    (store,) = kernel(buffer(1, (30,)))
    case = Case((replace(store, st=tracker),))
    same(case)
    assert parse_case(dump_case(case)).ast[0].st.algebra is algebra


def test_symbolic_expressions() -> None:
    n, m = Var("n", 1, 10), Var("m", 0, 4)
    offset = (n * 3 + m) // 2 + n % 3 + n * m - 1
    (store,) = kernel(buffer(1, (n + 1, 4)))
    case = Case((replace(store, st=ShapeTracker((View((n + 1, 4), (4, 1), offset),))),))
    same(replace(case, vars=(("n", 3),)))
    assert symbols_of(case.ast) == {n, m}


def test_a_bound_may_depend_on_another_variable() -> None:
    n = Var("n", 1, 10)
    inner = Var("a", 0, n - 1)
    row = buffer(1, (n, 4)).shrink([(inner, inner + 1), (0, 4)])
    same(Case(kernel(row)))


def test_everything_else_round_trips() -> None:
    opts = (Opt(OptOps.UPCAST, 0, 4), Opt(OptOps.NOLOCALS), Opt(OptOps.UNROLL, -1, 0))
    for rules in RULE_SET_NAMES:
        for limits in PRESETS.values():
            same(replace(PLAIN, rules=rules, limits=limits, opts=opts))
    changed = replace(PRESETS["cuda"], shared_max=1024, local_max=None, group_max=256, tc=2)
    same(replace(PLAIN, limits=changed))
    same(replace(PLAIN, inputs=Inputs(12345, "negative")))
    same(replace(PLAIN, expect=Expect(False, "REFUSED", "amount-divides")))
    same(replace(PLAIN, title='quotes " and é and \n and \\ and \u2028'))


@given(
    st.text(max_size=30),
    st.lists(
        st.builds(
            Opt,
            st.sampled_from(OptOps),
            st.none() | st.integers(-9, 99),
            st.none() | st.integers(-9, 99),
        ),
        max_size=6,
    ),
    st.floats(width=64) | st.integers(-(1 << 63), 1 << 63) | st.booleans(),
    st.integers(0, 1 << 70),
)
@settings(max_examples=60, deadline=None, derandomize=True)
def test_any_text_opts_constant_and_seed(title, opts, value, seed) -> None:
    same(
        Case(
            kernel(constant(value, (2,), FLOAT)),
            title=title,
            opts=tuple(opts),
            inputs=Inputs(seed),
        )
    )


def test_the_names_are_those_of_the_enums() -> None:
    assert set(OUTCOMES) == {outcome.value for outcome in Outcome}
    assert set(RULE_SET_NAMES) == set(RULE_SETS)


def test_keys_stand_in_schema_order_and_lines_are_short() -> None:
    text = dump_case(PLAIN)
    assert list(json.loads(text)) == [
        "schema", "title", "origin", "ast", "opts", "rules", "limits", "vars", "inputs", "expect",
    ]  # fmt: skip
    assert max(map(len, text.splitlines())) <= 100


def test_nodes_stand_after_their_sources_and_once() -> None:
    x = buffer(1, (4, 6)) * 2.0
    case = Case(kernel(x + x * x))
    nodes = to_json(case)["ast"]
    assert len(nodes) == len(postorder(case.ast)) == 6
    assert all(source < i for i, node in enumerate(nodes) for source in node.get("src", ()))


def damaged(path: str, value: object) -> str:
    """The plain case's text with one field set (or removed, for `...`)."""
    document = to_json(PLAIN)
    *outer, last = [int(step) if step.isdigit() else step for step in path.split("/")]
    place = document
    for step in outer:
        place = place[step]
    if value is ...:
        del place[last]
    else:
        place[last] = value
    return json.dumps(document)


FIELDS = [
    ("schema", 2, "schema"),
    ("title", ..., ""),
    ("title", 7, "title"),
    ("extra", 1, ""),
    ("rules", "tinygrad-1.0", "rules"),
    ("limits", "toaster", "limits"),
    ("limits", {"preset": "toaster"}, "limits.preset"),
    ("limits", {"shared_max": -1}, "limits.shared_max"),
    ("limits", {"shared_max": 1.0}, "limits.shared_max"),
    ("limits", {"local_max": [1, 2]}, "limits.local_max"),
    ("opts", [["SWIZZLE", 0, 4]], "opts[0][0]"),
    ("opts", [["UPCAST", 0]], "opts[0]"),
    ("opts", [["UPCAST", 0, 4.0]], "opts[0][2]"),
    ("opts", [["UPCAST", True, 4]], "opts[0][1]"),
    ("inputs", {"seed": 0}, "inputs"),
    ("inputs/seed", -1, "inputs.seed"),
    ("inputs/domain", "secret", "inputs.domain"),
    ("expect/outcome", "FINE", "expect.outcome"),
    ("expect/legal", "yes", "expect.legal"),
    ("vars", {"1st": {"low": 0, "high": 1}}, "vars"),
    ("vars", {"n": {"low": 0}}, "vars.n"),
    ("vars", {"n": {"low": 2, "high": 1}}, "vars.n"),
    ("vars", {"n": {"low": 0, "high": 1, "value": 2}}, "vars.n"),
    ("vars", {"n": {"low": 0, "high": "m"}}, "vars.n.high"),
    ("vars", {"n": {"low": 0, "high": 1}}, "vars"),
    ("ast", [], "ast"),
    ("ast", {}, "ast"),
    ("ast/0/op", "JUMP", "ast[0].op"),
    ("ast/0/op", ..., "ast[0]"),
    ("ast/0/buffer", 1.0, "ast[0].buffer"),
    ("ast/0/buffer", -1, "ast[0].buffer"),
    ("ast/0/buffer", 5000, "STORE 0 > ADD[0] > LOAD 5000"),
    ("ast/0/dtype", "floaty", "ast[0].dtype"),
    ("ast/0/dtype", "imageh(0, 2, 4)", "ast[0].dtype"),
    ("ast/0/dtype", "half", "STORE 0 > ADD"),
    ("ast/0/algebra", "linear", "ast[0].algebra"),
    ("ast/0/views", [], "ast[0].views"),
    ("ast/0/views/0/shape", [4, True], "ast[0].views[0].shape[1]"),
    ("ast/0/views/0/shape", [4, 6.0], "ast[0].views[0].shape[1]"),
    ("ast/0/views/0/shape", [4, "n"], "ast[0].views[0].shape[1]"),
    ("ast/0/views/0/shape", [4, ["^", 1, 2]], "ast[0].views[0].shape[1]"),
    ("ast/0/views/0/shape", [4, ["%", 1, 0]], "ast[0].views[0].shape[1]"),
    ("ast/0/views/0/shape", [4, ["//", 1, 2, 3]], "ast[0].views[0].shape[1]"),
    ("ast/0/views/0/shape", [4, []], "ast[0].views[0].shape[1]"),
    ("ast/0/views/0/shape", [4], "STORE 0 > ADD[0] > LOAD 1"),
    ("ast/0/views/0/shape", [4, 0], "STORE 0 > ADD[0] > LOAD 1"),
    ("ast/0/views/0/mask", [[0, 4]], "STORE 0 > ADD[0] > LOAD 1"),
    ("ast/0/views/0/mask", [[0, 4, 1], [0, 6]], "ast[0].views[0].mask[0]"),
    ("ast/0/views/0/offset", 1.5, "ast[0].views[0].offset"),
    ("ast/0/views/0/extra", 1, "ast[0].views[0]"),
    ("ast/0/src", [], "ast[0]"),
    ("ast/1/value", "nan", "ast[1].value"),
    ("ast/1/value", None, "ast[1].value"),
    ("ast/1/value", {"float": "1.0"}, "ast[1].value.float"),
    ("ast/1/value", {"index": "n"}, "ast[1].value"),
    ("ast/2/src", [0, 2], "ast[2].src[1]"),
    ("ast/2/src", [0, 9], "ast[2].src[1]"),
    ("ast/2/src", [0, -1], "ast[2].src[1]"),
    ("ast/2/src", [0], "ast[2].src"),
    ("ast/2/arg", 1, "ast[2]"),
    ("ast/3/src", [0, 1], "ast[3].src"),
    ("ast/3/buffer", 1, "STORE 1"),
    ("ast/3/op", "LOAD", "ast[3]"),
]


@pytest.mark.parametrize(("path", "value", "where"), FIELDS)
def test_a_damaged_field_is_named(path: str, value: object, where: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_case(damaged(path, value), name="c.json")
    assert caught.value.where == (f"c.json: {where}" if where else "c.json")


def test_a_store_has_no_value() -> None:
    document = to_json(PLAIN)
    document["ast"].append({"op": "NEG", "src": [3]})
    with pytest.raises(InvalidInput, match=r"ast\[4\].src\[0\]: a STORE"):
        parse_case(json.dumps(document))


def test_a_reduce_over_no_axis() -> None:
    document = to_json(Case(kernel(buffer(1, (4, 6)).sum(1))))
    document["ast"][1]["axes"] = [2]
    with pytest.raises(InvalidInput, match=r"ast\[1\].axes: not axes of 2 dims"):
        parse_case(json.dumps(document))


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("", "c.json:1:1"),
        ("{", "c.json:1:2"),
        ('{\n "schema": 1,\n}', "c.json:"),
        ("[" * 100_000, "c.json"),
        ('{"schema": 1, "schema": 1}', "c.json"),
        ('{"schema": NaN}', "c.json"),
        ('{"schema": 1e999}', "c.json"),
        ('{"schema": ' + "9" * 5000 + "}", "c.json"),
        ("null", "c.json"),
        ("[]", "c.json"),
    ],
)
def test_malformed_json(text: str, where: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_case(text, name="c.json")
    assert caught.value.where.startswith(where)


def test_a_key_twice_is_refused() -> None:
    text = dump_case(PLAIN).replace('"rules": "sound"', '"rules": "sound",\n "rules": "sound"')
    with pytest.raises(InvalidInput, match="key 'rules' stands twice"):
        parse_case(text)


def test_damaged_text_is_read_or_refused() -> None:
    from kernelref.jobs.benchmarks.mutations import mutated

    rng = random.Random(11)
    texts = [dump_case(case) for name, case in cases() if name < "c"]
    refused = 0
    for _ in range(400):
        try:
            parse_case(mutated(rng.choice(texts), rng))
        except InvalidInput:
            refused += 1
    assert refused > 200


def test_files(tmp_path) -> None:
    path = tmp_path / "case.json"
    write_case(PLAIN, path)
    assert read_case(path) == PLAIN
    assert [file.name for file in tmp_path.iterdir()] == ["case.json"]
    path.write_bytes(b'{"title": "\xff"}')
    with pytest.raises(InvalidInput, match=r"case.json: byte 11 is no UTF-8"):
        read_case(path)
    with pytest.raises(InvalidInput, match=r"none.json: No such file"):
        read_case(tmp_path / "none.json")
    with pytest.raises(InvalidInput, match="directory"):
        read_case(tmp_path)
    path.write_bytes(b" " * ((16 << 20) + 1))
    with pytest.raises(InvalidInput, match="larger than"):
        read_case(path)
