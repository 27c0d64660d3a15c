"""One bad kernel is one bad result: workers crash, hang and run out of memory, the rest runs."""

from __future__ import annotations

import json
import os
import pickle
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import numpy as np
import pytest
from pebble import ProcessExpired

from kernelref.errors import DeviceError, InvalidInput
from kernelref.ir.dtype import FLOAT
from kernelref.run import isolate
from kernelref.run.device import DeviceKind
from kernelref.run.isolate import Batch, DevicePool
from kernelref.run.job import Budget, KernelLaunch, LaunchBuffer, LaunchResult
from kernelref.run.outcome import Outcome
from kernelref.run.worker import BUILDING, EXIT_DAMAGED, arrivals
from tests.run.device_launches import (
    DIVERGENT,
    GOOD,
    HANG,
    INPUT,
    MISCOMPUTE,
    NOT_C,
    PAST_THE_END,
    SEGFAULT,
    UNWRITTEN,
    WRITES_INPUT,
    launch,
    need_device,
)

BAD = {
    "segfault": (SEGFAULT, Outcome.CRASH),
    "divergent": (DIVERGENT, Outcome.CRASH),
    "hang": (HANG, Outcome.TIMEOUT),
    "not C": (NOT_C, Outcome.BUILD_ERROR),
    "past the end": (PAST_THE_END, Outcome.OUT_OF_BOUNDS),
    "unwritten": (UNWRITTEN, Outcome.UNWRITTEN),
    "writes input": (WRITES_INPUT, Outcome.OUT_OF_BOUNDS),
    "miscompute": (MISCOMPUTE, None),
}


@pytest.fixture(scope="module", autouse=True)
def _need_pocl() -> None:
    need_device("pocl")


@pytest.mark.parametrize(
    ("workers", "labels", "behind"), [(1, tuple(BAD), 100), (2, ("segfault", "miscompute"), 20)]
)
def test_cases_queued_behind_bad_kernels_still_run(
    workers: int, labels: tuple[str, ...], behind: int, tmp_path: Path
) -> None:
    bad = [launch(BAD[label][0], label=label) for label in labels]
    queued = [launch(f"o[i] = a[i] + {n % 7}.0f;") for n in range(behind)]
    budget = Budget(launch_seconds=5.0)
    with DevicePool("pocl", workers=workers, budget=budget, journal=tmp_path) as pool:
        results = list(pool.run([*bad, *queued]))
    assert len(results) == len(bad) + behind
    for label, result in zip(labels, results, strict=False):
        assert result.fault is BAD[label][1], (label, result)
    assert (results[len(bad) - 1].outputs[0] != INPUT + 1).all()
    for n, result in enumerate(results[len(bad) :]):
        assert result.fault is None, (n, result)
        assert (result.outputs[0] == INPUT + n % 7).all()
    assert not list(tmp_path.iterdir())


def test_memory_is_limited_and_running_out_is_its_own_outcome() -> None:
    huge = 1 << 27
    buffers = tuple(LaunchBuffer(n, FLOAT, huge, is_written=True) for n in range(8))
    arguments = ", ".join(f"__global float *d{n}" for n in range(8))
    source = f"__kernel void f({arguments}) {{ d0[get_global_id(0)] = 1.0f; }}"
    greedy = KernelLaunch("f", source, (1, 1, 1), (1, 1, 1), buffers)
    with DevicePool("pocl", budget=Budget(memory_nbytes=2 << 30)) as pool:
        result, good = pool.run([greedy, launch(GOOD)])
    assert result.fault is Outcome.OUT_OF_MEMORY, result
    assert good.fault is None


def test_the_case_is_on_disk_before_it_runs(tmp_path: Path) -> None:
    with DevicePool("pocl", budget=Budget(launch_seconds=4.0), journal=tmp_path) as pool:
        results: list[LaunchResult] = []
        waiting = pool.run([launch(HANG, label="the hanging one")])
        thread = threading.Thread(target=lambda: results.extend(waiting))
        thread.start()
        deadline = time.monotonic() + 30
        while not list(tmp_path.glob("*/progress")) and time.monotonic() < deadline:
            time.sleep(0.02)
        (folder,) = tmp_path.iterdir()
        running = json.loads((folder / "running.json").read_text())
        (kept,) = pickle.loads((folder / "batch.pickle").read_bytes())
        thread.join()
    assert running["device"] == "pocl"
    assert running["cases"][0]["label"] == "the hanging one"
    assert HANG in running["cases"][0]["source"]
    assert (kept.buffers[1].data == INPUT).all()
    assert results[0].fault is Outcome.TIMEOUT


def test_launches_are_taken_a_few_batches_ahead() -> None:
    taken = 0

    def source() -> Iterator[KernelLaunch]:
        nonlocal taken
        while True:
            taken += 1
            yield launch(GOOD)

    with DevicePool("pocl", batch=4) as pool:
        results = pool.run(source())
        for n, result in zip(range(12), results, strict=False):
            assert result.fault is None, n
        assert taken <= 12 + 4 * 4


def test_a_device_that_is_not_there_is_an_error_not_an_outcome(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(InvalidInput, match="no device 'nonesuch'"):
        DevicePool("nonesuch")
    monkeypatch.setattr(isolate, "device_kind", lambda name: DeviceKind(name, "No Such Platform"))
    with DevicePool("ghost") as pool, pytest.raises(DeviceError, match="No Such Platform"):
        list(pool.run([launch(GOOD)]))


def test_leaving_while_a_worker_starts_again_prints_nothing(
    capfd: pytest.CaptureFixture[str],
) -> None:
    for _ in range(2):
        with DevicePool("pocl", workers=2) as pool:
            results = list(pool.run([launch(GOOD), launch(SEGFAULT)]))
        assert [result.fault for result in results] == [None, Outcome.CRASH]
    assert capfd.readouterr() == ("", "")


def test_leaving_in_the_middle_ends_the_workers() -> None:
    start = time.monotonic()
    with DevicePool("pocl", batch=1, budget=Budget(launch_seconds=60)) as pool:
        for result in pool.run([launch(GOOD), launch(HANG), launch(HANG)]):
            assert result.fault is None
            break
    assert time.monotonic() - start < 40
    assert not pool.folder.exists()


def test_a_worker_lost_while_idle_is_replaced() -> None:
    with DevicePool("pocl") as pool:
        assert [result.fault for result in pool.run([launch(GOOD)])] == [None]
        (worker,) = arrivals(pool.folder)
        os.kill(int(worker), signal.SIGKILL)
        deadline = time.monotonic() + 20
        while pool._pool.active and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not pool._pool.active
        assert [result.fault for result in pool.run([launch(GOOD)] * 2)] == [None, None]


def test_workers_that_end_as_soon_as_they_start_are_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Called with a path it fails, and pebble ends a worker whose initializer fails.
    monkeypatch.setattr(isolate, "arrive", os._exit)
    monkeypatch.setattr(isolate, "ARRIVAL_SECONDS", 0.0)
    monkeypatch.setattr(isolate, "MOST_LOSSES", 2)
    with (
        DevicePool("pocl") as pool,
        pytest.raises(DeviceError, match="as soon as they start"),
    ):
        list(pool.run([launch(GOOD)]))


def ended(folder: Path, error: BaseException, *, done: int, progress: int | None) -> object:
    """What is made of a batch of four whose worker ended with `error` after `done` results."""
    folder.mkdir()
    (folder / "stderr.txt").write_text("")
    with open(folder / "results.pickle", "wb") as file:
        for n in range(done):
            pickle.dump(LaunchResult(None, outputs={0: np.array([n])}), file)
        file.write(b"\x80\x05cut short")
    if progress is not None:
        (folder / "progress").write_text(str(progress))
    future: isolate.Future[None] = isolate.Future()
    future.set_exception(error)
    batch = Batch((10, 11, 12, 13), tuple(launch(GOOD, label=str(n)) for n in range(4)))
    answered, rest = isolate._settle(batch, folder, future)
    return sorted(answered), [(part.places, bool(part.company)) for part in rest]


def test_what_a_lost_worker_leaves_is_kept_and_the_rest_runs_again(tmp_path: Path) -> None:
    crash = ProcessExpired("", code=-signal.SIGSEGV)
    damage = ProcessExpired("", code=EXIT_DAMAGED)
    assert ended(tmp_path / "run", crash, done=1, progress=1) == (
        [10],
        [((11,), True), ((12, 13), False)],
    )
    assert ended(tmp_path / "last", crash, done=3, progress=3) == ([10, 11, 12], [((13,), True)])
    assert ended(tmp_path / "build", crash, done=0, progress=BUILDING) == (
        [],
        [((10, 11), False), ((12, 13), False)],
    )
    assert ended(tmp_path / "damage", damage, done=2, progress=1) == (
        [10, 11],
        [((12, 13), False)],
    )
    assert ended(tmp_path / "broken", BrokenProcessPool(), done=1, progress=1) == (
        [10],
        [((11, 12, 13), False)],
    )
    assert ended(tmp_path / "late", crash, done=4, progress=3) == ([10, 11, 12, 13], [])
    with pytest.raises(DeviceError, match="cannot be opened: SIGSEGV"):
        ended(tmp_path / "open", crash, done=0, progress=None)


@pytest.mark.parametrize(
    ("code", "words", "outcome"),
    [
        (-signal.SIGSEGV, "", Outcome.CRASH),
        (-signal.SIGABRT, "LLVM ERROR: cannot select", Outcome.CRASH),
        (3, "", Outcome.CRASH),
        (-signal.SIGALRM, "", Outcome.TIMEOUT),
        (-signal.SIGKILL, "", Outcome.OUT_OF_MEMORY),
        (-signal.SIGABRT, "terminate called: std::bad_alloc", Outcome.OUT_OF_MEMORY),
    ],
)
def test_how_a_worker_ended_is_told_apart(
    code: int, words: str, outcome: Outcome, tmp_path: Path
) -> None:
    (tmp_path / "stderr.txt").write_text(words)
    (tmp_path / "progress").write_text("0")
    result = isolate._ending(ProcessExpired("", code=code), tmp_path)
    assert result.fault is outcome
    assert words in result.detail or outcome is Outcome.TIMEOUT
