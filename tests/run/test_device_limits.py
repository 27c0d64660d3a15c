from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from kernelref.codegen.program import (
    Barrier,
    BufferArgument,
    Guarded,
    Loop,
    Program,
    SharedArray,
    Statement,
)
from kernelref.codegen.target import FULL, Target
from kernelref.errors import Unsupported
from kernelref.ir.dtype import FLOAT, IMAGE_FLOAT, INT32, image
from kernelref.ir.index import Var, lt
from kernelref.run.device_limits import check_buffers, check_program, most_iterations
from kernelref.run.devices import device_info
from kernelref.run.isolate import DevicePool
from kernelref.run.job import KernelLaunch, LaunchBuffer
from tests.run.device_launches import need_device

TARGET = Target(
    "toy",
    images=True,
    image_max=(64, 32),
    group_max=16,
    local_max=(16, 8, 4),
    shared_nbytes=1024,
    buffer_nbytes=600,
    memory_nbytes=1000,
    loop_max=100,
)
LENGTH = Var("n", 1, 200)


def program(
    *,
    local: tuple[int, int, int] = (16, 1, 1),
    shared: int = 256,
    body: tuple[Statement, ...] = (),
) -> Program:
    argument = BufferArgument("data0", 0, FLOAT, 100, is_output=True)
    array = SharedArray("temp", FLOAT, shared)
    return Program("f", (argument,), (LENGTH,), (1, 1, 1), local, body, (array,))


def loops(extent: int, *inner: Statement) -> Loop:
    return Loop(Var("i", 0, extent - 1), extent, inner)


def images(rows: int, columns: int) -> Program:
    dtype = image(IMAGE_FLOAT, (rows, columns, 4))
    return replace(
        program(), buffers=(BufferArgument("data0", 0, dtype, 4, is_output=True),), shared=()
    )


@pytest.mark.parametrize(
    ("fits", "exceeds", "reason"),
    [
        (program(shared=256), program(shared=257), "device-shared-memory"),
        (program(local=(4, 4, 1)), program(local=(4, 5, 1)), "device-group-size"),
        (program(local=(2, 8, 1)), program(local=(1, 9, 1)), "device-group-size"),
        (images(32, 64), images(33, 64), "device-image-size"),
        (images(32, 64), images(32, 65), "device-image-size"),
        (program(body=(loops(100),)), program(body=(loops(101),)), "device-loop-iterations"),
    ],
)
def test_each_limit_is_met_and_exceeded(fits: Program, exceeds: Program, reason: str) -> None:
    check_program(fits, TARGET, {"n": 1})
    with pytest.raises(Unsupported) as caught:
        check_program(exceeds, TARGET, {"n": 1})
    assert caught.value.reason == reason


@pytest.mark.parametrize(
    ("fits", "exceeds", "reason"),
    [([600], [601], "device-buffer-size"), ([500, 500], [501, 500], "device-memory")],
)
def test_buffers_must_fit(fits: list[int], exceeds: list[int], reason: str) -> None:
    check_buffers(fits, TARGET)
    with pytest.raises(Unsupported) as caught:
        check_buffers(exceeds, TARGET)
    assert caught.value.reason == reason


def test_what_nothing_is_known_of_is_not_refused() -> None:
    check_program(program(shared=1 << 40, body=(loops(1 << 40),)), FULL, {"n": 1})
    check_buffers([1 << 40], FULL)


def test_iterations_count_nested_loops_each_time_and_look_into_guards() -> None:
    inner = Loop(Var("j", 0, 199), LENGTH, (Barrier(),))
    body = (loops(5, inner, loops(2)), Guarded(lt(LENGTH, 3), (loops(7),)))
    assert most_iterations(body, {"n": 10}) == 5 * (1 + 10 + 2) + 7
    assert most_iterations((Barrier(),), {}) == 0


@pytest.fixture
def rusticl() -> Iterator[DevicePool]:
    need_device("rusticl")
    with DevicePool("rusticl") as pool:
        yield pool


def test_rusticl_leaves_loops_where_its_limit_says(rusticl: DevicePool) -> None:
    most = device_info("rusticl").loop_max
    assert most is not None
    launches = [
        KernelLaunch(
            "f",
            f"__kernel void f(__global int *o, __global const int *a) {{ int s = 0;"
            f" for (int i = 0; i < {count}; i++) s += a[i % 2]; o[0] = s; }}",
            (1, 1, 1),
            (1, 1, 1),
            (
                LaunchBuffer(0, INT32, 1, is_written=True),
                LaunchBuffer(1, INT32, 2, is_written=False, data=np.ones(2, np.int32)),
            ),
        )
        for count in (most, 2 * most)
    ]
    right, cut = rusticl.run(launches)
    assert right.outputs[0][0] == most
    assert cut.outputs[0][0] < 2 * most
