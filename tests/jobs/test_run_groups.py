from __future__ import annotations

import math

import numpy as np
import pytest

from kernelref.codegen.program import (
    BufferArgument,
    DefineIndex,
    Guarded,
    Literal,
    Loop,
    Program,
    StoreGlobal,
)
from kernelref.ir.dtype import FLOAT
from kernelref.ir.index import Var, evaluate, lt
from kernelref.jobs.run_groups import chosen_groups, concrete_groups, elements_written
from kernelref.run.job import GroupRange

ZERO = Literal(0.0, FLOAT)


def groups_of(boxes):
    return [
        (x, y, z)
        for box in boxes
        for x in range(box.first[0], box.first[0] + box.count[0])
        for y in range(box.first[1], box.first[1] + box.count[1])
        for z in range(box.first[2], box.first[2] + box.count[2])
    ]


def test_a_small_space_runs_whole():
    assert chosen_groups((1000, 1000, 1), 10**9, seed=0) is None


@pytest.mark.parametrize(
    ("groups", "points"),
    [
        ((1000, 7, 3), 10**10),
        ((5, 1, 1), 10**10),
        ((2, 1, 1), 10**12),
        ((1, 1, 1), 10**12),
        ((10**6, 1000, 1), 10**9 + 1),
        ((1, 100_003, 2), 3 * 10**10),
    ],
)
def test_first_and_last_groups_run_and_none_twice(groups, points):
    boxes = chosen_groups(groups, points, seed=3)
    if boxes is None:
        assert math.prod(groups) <= 2
        return
    run = groups_of(boxes)
    assert len(run) == len(set(run))
    assert (0, 0, 0) in run
    assert tuple(n - 1 for n in groups) in run
    assert all(0 <= i < n for group in run for i, n in zip(group, groups, strict=True))
    assert len(run) < math.prod(groups)
    assert len(boxes) <= 64


def test_the_sample_depends_on_the_seed():
    samples = {chosen_groups((1000, 1000, 1), 10**12, seed=seed) for seed in range(3)}
    assert len(samples) == 3


def gid(i):
    return Var(f"gidx{i}", 0, 2**31 - 2)


def program(body, *, groups=(8, 4, 1), local=(1, 1, 1), variables=()):
    return Program(
        name="k",
        buffers=(BufferArgument("data0", 0, FLOAT, 1024, True),),
        variables=variables,
        groups=groups,
        local=local,
        body=body,
    )


BOX = (GroupRange((2, 1, 0), (2, 1, 1)),)


def test_elements_of_a_plain_store():
    store = StoreGlobal("data0", gid(1) * 8 + gid(0), 1, ZERO)
    written = elements_written(program((store,)), BOX, {})
    assert written[0].tolist() == [10, 11]


def test_guards_loops_lanes_and_names_count():
    i = Var("i", 0, 2)
    named = Var("row", 0, 31)
    store = StoreGlobal("data0", named * 32 + i * 4, lt(i, 2), ZERO, lanes=2)
    body = (
        DefineIndex(named, gid(1) * 8 + gid(0)),
        Guarded(lt(gid(0), 3), (Loop(i, 3, (store,)),)),
    )
    written = elements_written(program(body), BOX, {})
    assert written[0].tolist() == [320, 321, 324, 325]


def test_local_ids_and_symbolic_values():
    n = Var("n", 1, 10)
    lid = Var("lidx0", 0, 3)
    store = StoreGlobal("data0", gid(0) * n + lid, lt(lid, n), ZERO)
    made = program((store,), groups=(n, 1, 1), local=(4, 1, 1), variables=(n,))
    assert concrete_groups(made, {"n": 3}) == (3, 1, 1)
    everything = (GroupRange((0, 0, 0), (3, 1, 1)),)
    assert elements_written(made, everything, {"n": 3})[0].tolist() == list(range(9))


def test_addresses_agree_with_a_loop_over_every_work_item():
    lid = Var("lidx0", 0, 4)
    address = (gid(0) * 5 + lid) % 7 + gid(1) * 16
    store = StoreGlobal("data0", address, lt(gid(0) * 5 + lid, 18), ZERO)
    boxes = (GroupRange((1, 0, 0), (3, 2, 1)), GroupRange((0, 3, 0), (1, 1, 1)))
    expected = set()
    for x, y, _ in groups_of(boxes):
        for item in range(5):
            at = {"gidx0": x, "gidx1": y, "lidx0": item}
            if evaluate(store.guard, at):
                expected.add(int(evaluate(address, at)))
    found = elements_written(program((store,), local=(5, 1, 1)), boxes, {})[0]
    assert np.array_equal(found, sorted(expected))
