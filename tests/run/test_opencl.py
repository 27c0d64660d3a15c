"""What a worker sees of a launch, on every device that is here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from kernelref.ir.dtype import (
    BFLOAT16,
    BOOL,
    DOUBLE,
    FLOAT,
    HALF,
    IMAGE_FLOAT,
    IMAGE_HALF,
    INT8,
    INT32,
    INT64,
    SCALARS,
    UINT8,
    UINT64,
    DType,
    image,
)
from kernelref.run.isolate import DevicePool
from kernelref.run.job import (
    Budget,
    GroupRange,
    KernelLaunch,
    LaunchBuffer,
    LaunchResult,
    from_stored,
    stored_type,
)
from kernelref.run.outcome import Outcome
from kernelref.run.poison import as_bits, bits_type, poison_bits
from tests.run.device_launches import (
    BEFORE_THE_START,
    GOOD,
    INPUT,
    MISCOMPUTE,
    NOT_C,
    PAST_THE_END,
    UNWRITTEN,
    WRITES_INPUT,
    copy_launch,
    launch,
    need_device,
)

C_TYPES = {HALF: "ushort", BFLOAT16: "ushort", BOOL: "uchar"}


@pytest.fixture(scope="module", params=["pocl", "rusticl", "oclgrind"])
def pool(request: pytest.FixtureRequest) -> Iterator[DevicePool]:
    need_device(request.param)
    with DevicePool(request.param, batch=32, budget=Budget(launch_seconds=20)) as opened:
        yield opened


def run(pool: DevicePool, *launches: KernelLaunch) -> list[LaunchResult]:
    results = list(pool.run(launches))
    assert len(results) == len(launches)
    return results


def test_right_and_wrong_values_both_come_back(pool: DevicePool) -> None:
    good, wrong = run(pool, launch(GOOD), launch(MISCOMPUTE))
    assert good.fault is None
    assert (good.outputs[0] == INPUT + 1).all()
    assert wrong.fault is None
    assert (wrong.outputs[0] == INPUT + 2).all()


def test_faults_have_their_outcomes_and_say_where(pool: DevicePool) -> None:
    bodies = (PAST_THE_END, BEFORE_THE_START, WRITES_INPUT, UNWRITTEN, NOT_C, GOOD)
    past, before, writes, unwritten, not_c, good = run(pool, *map(launch, bodies))
    assert past.fault is Outcome.OUT_OF_BOUNDS
    assert before.fault is Outcome.OUT_OF_BOUNDS
    assert writes.fault is Outcome.OUT_OF_BOUNDS
    if not pool.kind.is_simulator:
        assert "buffer 0" in past.detail
        assert "[64] past the end" in past.detail
        assert "[-1] before the start" in before.detail
        assert "input buffer 1: [3]" in writes.detail
    assert unwritten.fault is Outcome.UNWRITTEN
    assert "buffer 0: 1 elements not written, first [5]" in unwritten.detail
    assert not_c.fault is Outcome.BUILD_ERROR
    assert "nowhere" in not_c.detail
    assert good.fault is None


def scalar_data(dtype: DType) -> np.ndarray:
    rng = np.random.default_rng(7)
    bits = rng.integers(0, 256, 96 * dtype.itemsize, dtype=np.uint8)
    return np.asarray((bits & 1 if dtype is BOOL else bits).view(stored_type(dtype)))


def test_every_dtype_is_copied_bit_by_bit(pool: DevicePool) -> None:
    dtypes = [d for d in SCALARS if d is not DOUBLE or pool.kind.name != "rusticl"]
    data = {dtype: scalar_data(dtype) for dtype in dtypes}
    launches = [copy_launch(d, C_TYPES.get(d, d.name), data[d]) for d in dtypes]
    for dtype, result in zip(dtypes, run(pool, *launches), strict=True):
        assert result.fault is None, (dtype, result)
        assert (as_bits(dtype, result.outputs[0]) == as_bits(dtype, data[dtype])).all(), dtype


def test_writes_beside_a_buffer_of_every_width_are_seen(pool: DevicePool) -> None:
    dtypes = (INT8, HALF, INT32, INT64)
    launches = []
    for dtype in dtypes:
        copy = copy_launch(dtype, C_TYPES.get(dtype, dtype.name), scalar_data(dtype))
        text = copy.source.replace("{", "{ if (get_global_id(0) == 1) o[96] = 1;")
        launches.append(replace(copy, source=text))
    for result in run(pool, *launches):
        assert result.fault is Outcome.OUT_OF_BOUNDS, result


@pytest.mark.parametrize("second", [False, True])
def test_a_value_that_equals_poison_is_a_value(pool: DevicePool, *, second: bool) -> None:
    for dtype in (UINT8, UINT64):
        poison = poison_bits(dtype, second=second)
        data = np.full(8, poison, bits_type(dtype))
        (result,) = run(pool, copy_launch(dtype, dtype.name, data))
        assert result.fault is None
        assert (result.outputs[0] == data).all()


def test_copying_from_zone_to_zone_is_seen(pool: DevicePool) -> None:
    (result,) = run(pool, launch("o[i] = a[i]; o[i + 60] = a[i + 60];"))
    assert result.fault is Outcome.OUT_OF_BOUNDS


def test_a_read_past_the_end_shows_in_a_sum_and_in_a_maximum(pool: DevicePool) -> None:
    added, most = run(
        pool,
        launch("o[i] = a[i] + a[i + 1];"),
        launch("o[i] = a[i] < a[i + 1] ? a[i + 1] : a[i];"),
    )
    if pool.kind.is_simulator:
        assert added.fault is most.fault is Outcome.OUT_OF_BOUNDS
    else:
        assert abs(added.outputs[0][-1]) > 1e30
        assert most.outputs[0][-1] > 1e30


def test_in_place_buffers_start_from_their_data(pool: DevicePool) -> None:
    buffers = (LaunchBuffer(0, FLOAT, 64, is_written=True, data=INPUT),)
    source = "__kernel void f(__global float *o) { o[get_global_id(0)] += 1.0f; }"
    twice = launch("", source=source, buffers=buffers)
    # Equal texts on fresh buffers: the second must not see the first one's result.
    for result in run(pool, twice, twice):
        assert result.fault is None
        assert (result.outputs[0] == INPUT + 1).all()


def test_only_the_points_asked_for_come_back_and_must_be_written(pool: DevicePool) -> None:
    for points, fault in (((4, 63, 6), None), ((4, 5), Outcome.UNWRITTEN)):
        buffers = launch(UNWRITTEN).buffers
        wanted = replace(buffers[0], points=np.array(points))
        (result,) = run(pool, launch(UNWRITTEN, buffers=(wanted, buffers[1])))
        assert result.fault is fault
        if fault is None:
            assert (result.outputs[0] == INPUT[list(points)] + 1).all()
        else:
            assert "first [5]" in result.detail


def test_a_partial_launch_runs_just_its_groups(pool: DevicePool) -> None:
    boxes = (GroupRange((0, 0, 0), (1, 1, 1)), GroupRange((5, 0, 0), (3, 1, 1)))
    (result,) = run(pool, launch(GOOD, ranges=boxes))
    written = np.zeros(64, bool)
    written[[*range(4), *range(20, 32)]] = True
    assert result.fault is Outcome.UNWRITTEN
    assert ((result.outputs[0] == INPUT + 1) == written).all()
    assert np.isnan(result.outputs[0][~written]).all()


def test_a_partial_launch_along_three_axes_has_its_own_ids(pool: DevicePool) -> None:
    source = """__kernel void f(__global int *o) {
      int x = get_group_id(0), y = get_group_id(1), z = get_group_id(2);
      o[((z * 4 + y) * 5 + x) * 2 + get_local_id(0)] = x + 10 * y + 100 * z; }"""
    points = np.array([((1 * 4 + y) * 5 + x) * 2 for y in (2, 3) for x in (3, 4)])
    buffers = (LaunchBuffer(0, INT32, 120, is_written=True, points=points),)
    part = KernelLaunch(
        "f", source, (5, 4, 3), (2, 1, 1), buffers, ranges=(GroupRange((3, 2, 1), (2, 2, 1)),)
    )
    (result,) = run(pool, part)
    assert result.fault is None
    assert result.outputs[0].tolist() == [123, 124, 133, 134]


def test_variables_follow_the_buffers(pool: DevicePool) -> None:
    source = "__kernel void f(__global int *o, int n, int m) { o[get_global_id(0)] = n - m; }"
    buffers = (LaunchBuffer(0, INT32, 64, is_written=True),)
    (result,) = run(pool, launch("", source=source, buffers=buffers, variables=(7, 9)))
    assert (result.outputs[0] == -2).all()
    (result,) = run(pool, launch("", source=source, buffers=buffers, variables=(7,)))
    assert result.fault is Outcome.HARNESS_ERROR
    assert "takes 3 arguments" in result.detail


@pytest.mark.parametrize("base", [IMAGE_HALF, IMAGE_FLOAT], ids=str)
def test_images_go_in_and_out(pool: DevicePool, base: DType) -> None:
    source = """__kernel void f(write_only image2d_t o, read_only image2d_t a) {
      const sampler_t s = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;
      int2 at = (int2)(get_global_id(0), get_global_id(1));
      if (at.x != SKIP) write_imagef(o, at, read_imagef(a, s, at) * 2.0f); }"""
    dtype = image(base, (3, 5, 4))
    data = np.arange(60).astype(stored_type(dtype))
    buffers = (
        LaunchBuffer(0, dtype, 60, is_written=True),
        LaunchBuffer(1, dtype, 60, is_written=False, data=data),
    )
    full, holed = (
        KernelLaunch("f", source.replace("SKIP", skip), (5, 3, 1), (1, 1, 1), buffers)
        for skip in ("9", "2")
    )
    good, unwritten = run(pool, full, holed)
    assert good.fault is None
    assert (from_stored(dtype, good.outputs[0]) == np.arange(60) * 2).all()
    assert unwritten.fault is Outcome.UNWRITTEN
    assert "12 elements not written, first [8]" in unwritten.detail


def test_what_the_device_cannot_launch_is_unsupported(pool: DevicePool) -> None:
    groups = launch(GOOD, local=(1 << 20, 1, 1))
    (result,) = run(pool, groups)
    assert result.fault is Outcome.UNSUPPORTED
    assert result.detail.startswith("device-limits")


def test_both_ways_of_compiling_give_the_same(pool: DevicePool) -> None:
    plain, optimised = run(pool, launch(GOOD), launch(GOOD, optimise=True))
    assert (plain.outputs[0] == optimised.outputs[0]).all()
