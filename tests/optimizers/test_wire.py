"""What goes to a worker comes back the same: extents, views, ASTs as the release prints them."""

from __future__ import annotations

import json

import pytest

from kernelref.errors import InvalidInput
from kernelref.ir.ast import Alu, Constant, Load, Op, Store
from kernelref.ir.dtype import FLOAT, HALF, IMAGE_HALF, image
from kernelref.ir.index import Sint, Var, lt
from kernelref.ir.shapetracker import ShapeTracker
from kernelref.ir.view import View
from kernelref.opt.limits import PRESETS
from kernelref.opt.tensor_core import TensorCore
from kernelref.optimizers.installed import InstalledOptimizer, read_opt
from kernelref.optimizers.wire import (
    read_sint,
    read_st,
    write_ast,
    write_dtype,
    write_limits,
    write_sint,
    write_st,
)

N, M = Var("n", 1, 10), Var("m", 2, 5)
EXTENTS: list[Sint] = [
    0, -7, 1 << 40, N, N + 1, N * 3 + M, (N + 1) * M, (N * 5) // 4, (N + M) % 3, lt(N, 4),
]  # fmt: skip


@pytest.mark.parametrize("value", EXTENTS, ids=str)
def test_extents(value: Sint) -> None:
    assert read_sint(json.loads(json.dumps(write_sint(value)))) == value


@pytest.mark.parametrize("value", [None, True, "4", ["var", "n"], ["^", 1, 2], [1, 2, 3], {}])
def test_what_is_no_extent_is_refused(value: object) -> None:
    with pytest.raises(InvalidInput):
        read_sint(value)


@pytest.mark.parametrize("value", [[1, 2], [["UPCAST"], 0, 1], ["UPCAST", "0", 1], ["X", 0, 1]])
def test_what_is_no_opt_is_refused(value: list[object]) -> None:
    with pytest.raises((InvalidInput, ValueError)):
        read_opt(value)


def test_views() -> None:
    st = ShapeTracker(
        (View((4, N), (N, 1), N * 2, ((0, 3), (0, N))), View((2, 6), (6, 1), -1, ((0, 2), (1, 6))))
    )
    assert read_st(json.loads(json.dumps(write_st(st)))) == st


def test_shared_nodes_are_written_once() -> None:
    st = ShapeTracker((View.create((4,)),))
    value: Load | Alu = Load(1, FLOAT, st)
    for _ in range(60):
        value = Alu(Op.ADD, (value, value))
    wire = write_ast((Store(0, FLOAT, st, value), Store(1, FLOAT, st, value)))
    assert len(wire["nodes"]) == 63
    assert wire["stores"] == [61, 62]


def test_constants_keep_their_kind() -> None:
    st = ShapeTracker((View.create((1,)),))
    values = [True, 1, 1.0, float("inf"), -0.0]
    texts = [
        json.dumps(write_ast((Store(0, FLOAT, st, Constant(value, FLOAT, st)),))["nodes"][0])
        for value in values
    ]
    assert len(set(texts)) == len(values)


def test_images_have_a_shape() -> None:
    assert write_dtype(HALF) == "half"
    assert write_dtype(image(IMAGE_HALF, (2, 3, 4))) == ["imageh", [2, 3, 4]]


def test_limits_name_the_table_of_each_tensor_core() -> None:
    tables = {
        name: {core["table"] for core in write_limits(limits)["tensor_cores"]}
        for name, limits in PRESETS.items()
    }
    assert tables["metal"] == {"metal"}
    assert tables["amd"] == {"amd"}
    assert tables["opencl"] == set()
    assert tables["cuda"] == {"cuda"}
    strange = TensorCore((4, 4, 4), FLOAT, FLOAT, ((0, 4),))
    with pytest.raises(InvalidInput, match=r"limits\.tensor_cores"):
        write_limits(type(PRESETS["opencl"])(tensor_cores=(strange,)))


def test_the_release_sees_views_as_they_are(installed: InstalledOptimizer) -> None:
    """Movement in the release, from views that went there and came back."""
    st = ShapeTracker((View.create((6, 4)), View.create((4, 6), (1, 4))))
    facts = installed.worker.call(
        "movement", start=write_st(st), ops=[["pad", [[0, 2], [1, 0]]], ["permute", [1, 0]]]
    )
    assert read_st(facts[0]["views"]) == st
    assert facts[0]["real_strides"] == [1, 4]
    assert facts[1]["masked"] == [0, 1]
    assert facts[1]["real_strides"] == [None, None]
    start = ShapeTracker((View.create((4, 6)),))
    facts = installed.worker.call(
        "movement", start=write_st(start), ops=[["pad", [[0, 2], [1, 0]]], ["permute", [1, 0]]]
    )
    assert facts[1]["real_strides"] == [None, None]
    assert facts[1]["real_strides_ignoring_masks"] == [6, 1]
    assert facts[2]["unit_stride_axes_ignoring_masks"] == [0]
    assert facts[2]["unit_stride_axes"] == []
