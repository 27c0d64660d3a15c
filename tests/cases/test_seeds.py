"""The seeds: stored as they are made, as many kinds as promised, and right by numpy."""

from __future__ import annotations

import math

import numpy as np
import pytest

from kernelref.cases.case import dump_case, symbols_of
from kernelref.cases.corpus import corpus_root
from kernelref.cases.seeds import cases
from kernelref.cases.seeds.__main__ import main
from kernelref.ir.ast import Constant, Load, Reduce, Store, children, postorder
from kernelref.ir.dtype import HALF
from kernelref.ir.index import bounds
from kernelref.run.oracle import Oracle

SEEDS = dict(cases())


def points(ast) -> int:
    """The iteration space: per axis the largest extent of any node."""
    shapes = [node.shape for node in postorder(ast)]
    return math.prod(max(bounds(n)[1] for n in axis) for axis in zip(*shapes, strict=True))


def test_stored_seeds_are_what_the_script_makes() -> None:
    folder = corpus_root() / "seeds"
    stored = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.json")}
    assert stored == {name: dump_case(case) for name, case in SEEDS.items()}


def test_the_script_writes_and_removes(tmp_path) -> None:
    (tmp_path / "old.json").write_text("{}")
    main(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == set(SEEDS)


def test_how_many_and_how_large() -> None:
    assert len(SEEDS) >= 60
    assert len({case.ast for case in SEEDS.values()}) == len(SEEDS)
    assert len({case.title for case in SEEDS.values()}) == len(SEEDS)
    sizes = [points(case.ast) for case in SEEDS.values()]
    assert max(sizes) <= 1_000_000
    assert sum(size >= 100 for size in sizes) > 0.9 * len(sizes)


def test_every_kind_is_there() -> None:
    asts = [case.ast for case in SEEDS.values()]
    nodes = [postorder(ast) for ast in asts]
    loads = [[node for node in order if isinstance(node, Load)] for order in nodes]
    outputs = [{store.buffer for store in ast} for ast in asts]
    reduces = [[node for node in order if isinstance(node, Reduce)] for order in nodes]
    assert sum(len(ast) > 1 for ast in asts) >= 4
    in_place = [
        any(load.buffer in own for load in seen) for seen, own in zip(loads, outputs, strict=True)
    ]
    assert sum(in_place) >= 4
    assert sum(len(found) > 1 for found in reduces) >= 8
    assert sum(any(_reads_a_reduce(node) for node in found) for found in reduces) >= 4
    assert sum(bool(symbols_of(ast)) for ast in asts) >= 5
    assert sum(any(load.dtype.is_image for load in seen) for seen in loads) >= 4
    dtypes = {node.dtype.name for order in nodes for node in order}
    assert dtypes >= {"bool", "char", "uchar", "short", "int", "uint", "long", "ulong", "half",
                      "bfloat16", "float", "double", "imageh", "imagef"}  # fmt: skip
    trackers = [n.st for order in nodes for n in order if isinstance(n, Load | Constant | Store)]
    assert sum(len(st.views) > 1 for st in trackers) >= 10
    assert sum(any(view.mask for view in st.views) for st in trackers) >= 20


def _reads_a_reduce(node: Reduce) -> bool:
    return any(
        isinstance(below, Reduce) for source in children(node) for below in postorder([source])
    )


def test_siblings_over_different_axes() -> None:
    """In one, each source has extent 1 on the axis that the other sums."""
    found = [
        n for n in postorder(SEEDS["siblings-over-two-axes.json"].ast) if isinstance(n, Reduce)
    ]
    (first, second) = found
    assert first.axes != second.axes
    assert [first.value.shape[axis] for axis in second.axes] == [1]
    assert [second.value.shape[axis] for axis in first.axes] == [1]


RNG = np.random.default_rng(3)


def inputs_of(ast, shapes) -> dict[int, np.ndarray]:
    """Small integers for every buffer that is read; `shapes` are those of buffers 1, 2, ..."""
    sizes = {i: math.prod(shape) for i, shape in enumerate(shapes, 1)}
    inputs: dict[int, np.ndarray] = {}
    for node in postorder(ast):
        if isinstance(node, Load) and node.buffer not in inputs:
            assert node.st.real_size() <= sizes[node.buffer]
            values = RNG.integers(-3, 4, sizes[node.buffer])
            inputs[node.buffer] = values.astype(node.dtype.numpy)
    assert set(inputs) == set(sizes)
    return inputs


def conv(x, w, step=1):
    seen = np.lib.stride_tricks.sliding_window_view(x, w.shape[2:], (2, 3))[:, :, ::step, ::step]
    return np.einsum("ncyxrs,ocrs->noyx", seen, w)


def pool(x, size, step):
    return np.lib.stride_tricks.sliding_window_view(x, (size, size), (2, 3))[:, :, ::step, ::step]


def pad2(x, by):
    return np.pad(x, [(0, 0), (0, 0), (by, by), (by, by)])


def weight_gradient(x, g):
    seen = np.lib.stride_tricks.sliding_window_view(x, (10, 10), (2, 3))
    return np.einsum("ncyxhw,nohw->ocyx", seen, g)


def transposed_conv(x, w):
    out = np.zeros((1, 6, 15, 15), np.float32)
    for y in range(7):
        for z in range(7):
            out[:, :, 2 * y : 2 * y + 3, 2 * z : 2 * z + 3] += np.einsum(
                "nc,cors->nors", x[:, :, y, z], w
            )
    return out


def input_gradient(g, w):
    out = np.zeros((2, 5, 11, 11), np.float32)
    for y in range(9):
        for z in range(9):
            out[:, :, y : y + 3, z : z + 3] += np.einsum("no,ocrs->ncrs", g[:, :, y, z], w)
    return out


def running_sums(x):
    return np.cumsum(x, axis=-1)


# Per seed: the shapes of its inputs and what numpy makes of them, without a kernel's detours.
BY_NUMPY = {
    "matmul": ([(96, 80), (80, 72)], np.matmul),
    "matmul-batched": ([(6, 20, 24), (6, 24, 28)], np.matmul),
    "matmul-shared-right": ([(5, 18, 24), (24, 16)], np.matmul),
    "matmul-weight-gradient": ([(40, 30), (40, 26)], lambda x, g: x.T @ g),
    "matmul-input-gradient": ([(40, 26), (30, 26)], lambda g, w: g @ w.T),
    "matmul-gram": ([(44, 36)], lambda x: x @ x.T),
    "matmul-bias-relu": (
        [(32, 64), (64, 48), (48,)],
        lambda x, w, b: np.maximum(x @ w + b, 0),
    ),
    "matmul-int8": ([(28, 64), (64, 36)], lambda x, w: x.astype(int) @ w.astype(int)),
    "matvec": ([(384,), (272, 384)], lambda x, w: w @ x),
    "vector-matrix": ([(288,), (288, 208)], lambda x, w: x @ w),
    "outer-product": ([(120,), (91,)], np.outer),
    "matmul-of-masked": ([(30, 21), (24, 20)], lambda x, w: np.pad(x, [(1, 1), (2, 1)]) @ w),
    "conv2d": ([(2, 8, 14, 14), (12, 8, 3, 3)], conv),
    "conv2d-strided": ([(1, 3, 29, 29), (8, 3, 5, 5)], lambda x, w: conv(x, w, 2)),
    "conv2d-bias-relu": (
        [(1, 6, 15, 13), (10, 6, 3, 3), (10,)],
        lambda x, w, b: np.maximum(conv(pad2(x, 1), w) + b.reshape(1, -1, 1, 1), 0),
    ),
    "conv2d-depthwise": (
        [(1, 24, 16, 16), (24, 3, 3)],
        lambda x, w: np.einsum("ncyxrs,crs->ncyx", pool(pad2(x, 1), 3, 1), w),
    ),
    "conv2d-grouped": (
        [(1, 12, 11, 11), (4, 2, 3, 3, 3)],
        lambda x, w: np.concatenate(
            [conv(x[:, 3 * i : 3 * i + 3], w[i]) for i in range(4)], axis=1
        ),
    ),
    "conv2d-dilated": (
        [(1, 4, 18, 18), (6, 4, 3, 3)],
        lambda x, w: np.einsum("ncyxrs,ocrs->noyx", pool(x, 5, 1)[..., ::2, ::2], w),
    ),
    "conv2d-weight-gradient": ([(4, 5, 12, 12), (4, 6, 10, 10)], weight_gradient),
    "conv2d-input-gradient": ([(2, 6, 9, 9), (6, 5, 3, 3)], input_gradient),
    "conv2d-transposed": ([(1, 4, 7, 7), (4, 6, 3, 3)], transposed_conv),
    "max-pool": ([(2, 8, 18, 18)], lambda x: pool(x, 2, 2).max((4, 5))),
    "max-pool-padded": (
        [(1, 6, 13, 13)],
        lambda x: pool(
            np.pad(x, [(0, 0), (0, 0), (1, 1), (1, 1)], constant_values=-np.inf), 3, 2
        ).max((4, 5)),
    ),
    "arange": ([], lambda: np.arange(256)),
    "arange-by-step": ([], lambda: 100 - 3 * np.arange(67)),
    "arange-uchar": ([], lambda: np.arange(1, 301) % 256),
    "cumulative-sum": ([(8, 64)], running_sums),
    "cumulative-sum-of-columns": ([(50, 9)], lambda x: running_sums(x.T).T),
    "concat-rows": ([(20, 15), (13, 15)], lambda x, y: np.concatenate([x, y])),
    "concat-columns": ([(21, 5), (21, 16), (21, 3)], lambda *x: np.concatenate(x, 1)),
    "stack": ([(70,)] * 4, lambda *x: np.stack(x)),
    "roll": ([(17, 24)], lambda x: np.roll(x, 3, 1)),
    "flip-both": ([(31, 22)], lambda x: 2 * x[::-1, ::-1]),
    "transpose": ([(63, 45)], np.transpose),
    "repeat": ([(11, 14)], lambda x: np.tile(x, (3, 2))),
    "upsample": ([(3, 10, 10)], lambda x: x.repeat(2, 1).repeat(2, 2)),
    "pixel-shuffle": (
        [(3, 2, 2, 9, 9)],
        lambda x: x.transpose(0, 3, 1, 4, 2).reshape(3, 18, 18),
    ),
    "every-third-reversed": ([(14, 50)], lambda x: x[:, ::-3]),
    "diagonal": ([(24, 24)], np.diag),
    "crop-and-pad": (
        [(3, 16, 16)],
        lambda x: np.pad(x[:, :14, 2:], [(0, 0), (2, 0), (0, 2)]),
    ),
    "upper-triangle": ([(37, 37)], np.triu),
    "attention-causal-mask": (
        [(3, 23, 23)],
        lambda x: np.where(np.tri(23, dtype=bool), x, -np.inf),
    ),
    "attention-values": (
        [(4, 18, 18), (18, 4, 12)],
        lambda w, v: np.einsum("hqk,khd->qhd", w, v),
    ),
    "siblings-over-two-axes": ([(12, 15), (12, 9)], lambda x, y: x.sum(1) + y.sum(1)),
    "extent-one-on-a-summed-axis": (
        [(10, 8, 11), (10, 8)],
        lambda x, y: x.sum((1, 2)) + y.max(1),
    ),
    "max-of-sums": ([(9, 13, 21)], lambda x: x.sum(2).max(1)),
    "max-of-product": ([(12, 16), (16, 18)], lambda x, y: (x @ y).max(1)),
    "sum-of-maxima": ([(11, 40)], lambda x: x.reshape(11, 10, 4).max(2).sum(1)),
    "dependent-and-sibling": ([(6, 14, 10)], lambda x: x.sum(2).max(1) + x.sum((1, 2))),
    "two-products": (
        [(14, 20), (20, 18), (14, 20), (20, 18)],
        lambda a, b, c, d: a @ b + c @ d,
    ),
    "buffer-to-image": ([(8, 10, 12)], lambda x: x.transpose(1, 2, 0)),
    "image-to-buffer": ([(10, 12, 8)], lambda x: x.transpose(2, 0, 1)),
}


@pytest.mark.parametrize("name", BY_NUMPY)
def test_a_seed_computes_what_its_title_says(name: str) -> None:
    shapes, expected = BY_NUMPY[name]
    ast = SEEDS[f"{name}.json"].ast
    inputs = inputs_of(ast, shapes)
    arrays = [inputs[i + 1].reshape(shape) for i, shape in enumerate(shapes)]
    wanted = np.asarray(expected(*arrays)).reshape(-1)
    size = math.prod(bounds(n)[1] for n in ast[0].shape)
    value, _, _ = Oracle(ast, inputs, {}).values(0, np.arange(size))
    np.testing.assert_array_equal(value, wanted)


def test_half_seeds_compute_in_half() -> None:
    ast = SEEDS["matmul-half-accumulated-in-half.json"].ast
    assert {node.dtype for node in postorder(ast)} == {HALF}
