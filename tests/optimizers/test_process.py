"""A worker process that will not start, crashes, hangs, floods: each its own clear error."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path

import pytest

from kernelref.opt.limits import OPENCL
from kernelref.optimizers.process import Worker, WorkerError
from kernelref.optimizers.releases import Release
from kernelref.optimizers.wire import write_limits

OBEDIENT = """
import json, os, sys, time
print(json.dumps({"result": {"family": "fake"}}), flush=True)
for line in sys.stdin:
    request = json.loads(line)
    match request["call"]:
        case "crash":
            print("a last word", file=sys.stderr, flush=True)
            os.abort()
        case "exit":
            sys.exit(0)
        case "hang":
            time.sleep(1000)
        case "half":
            print('{"result": ', end="", flush=True)
            os._exit(3)
        case "echo":
            print(json.dumps({"result": len(request["text"])}), flush=True)
        case "deny":
            error = {"type": "KeyError", "message": "no such kernel", "where": "worker.py:1"}
            print(json.dumps({"error": error}), flush=True)
"""


@pytest.fixture
def worker(tmp_path: Path):
    script = tmp_path / "fake.py"
    script.write_text(OBEDIENT)
    made = Worker(Release("fake", "0.9.1", tmp_path), timeout=20, script=script)
    yield made
    made.close()


@pytest.mark.parametrize("call", ["crash", "exit", "half"])
def test_a_crash_is_named_and_the_next_call_restarts(worker: Worker, call: str) -> None:
    assert worker.call("echo", text="abc") == 3
    with pytest.raises(WorkerError) as caught:
        worker.call(call)
    assert caught.value.kind == "crash"
    assert "status" in caught.value.message
    if call == "crash":
        assert "a last word" in caught.value.message
    assert worker.call("echo", text="abcd") == 4
    assert worker.generation == 2


def test_a_hang_is_stopped_in_time(worker: Worker) -> None:
    started = time.monotonic()
    with pytest.raises(WorkerError) as caught:
        worker.call("hang", timeout=0.5)
    assert caught.value.kind == "hang"
    assert time.monotonic() - started < 10
    assert worker.call("echo", text="") == 0


def test_a_worker_that_reads_nothing_is_stopped(tmp_path: Path) -> None:
    script = tmp_path / "deaf.py"
    script.write_text("import time\nprint('{\"result\": {}}', flush=True)\ntime.sleep(1000)\n")
    worker = Worker(Release("deaf", "0.9.1", tmp_path), timeout=1, script=script)
    with pytest.raises(WorkerError) as caught:
        worker.call("echo", text="x" * (1 << 22))
    assert caught.value.kind == "hang"
    worker.close()


def test_fifty_megabytes_go_through(worker: Worker) -> None:
    assert worker.call("echo", text="x" * 50_000_000) == 50_000_000


def test_a_denied_call_leaves_the_worker_alive(worker: Worker) -> None:
    with pytest.raises(WorkerError, match="no such kernel") as caught:
        worker.call("deny")
    assert caught.value.kind == "call"
    assert worker.call("echo", text="a") == 1
    assert worker.generation == 1


def test_a_worker_killed_from_outside_is_a_crash(worker: Worker) -> None:
    worker.ensure_started()
    assert worker._process is not None
    os.kill(worker._process.pid, signal.SIGKILL)
    with pytest.raises(WorkerError) as caught:
        worker.call("echo", text="")
    assert caught.value.kind == "crash"


def test_a_release_that_fails_on_import_says_so(tmp_path: Path) -> None:
    package = tmp_path / "tinygrad"
    package.mkdir()
    (package / "__init__.py").write_text("raise ImportError('libbroken.so is missing')\n")
    worker = Worker(Release("tinygrad@broken", "0.9.1", tmp_path))
    with pytest.raises(WorkerError, match=r"tinygrad@broken.*libbroken\.so is missing") as caught:
        worker.call("actions")
    assert caught.value.kind == "start"


def test_a_folder_without_a_release_says_so(tmp_path: Path) -> None:
    worker = Worker(Release("tinygrad@nothing", "0.9.1", tmp_path))
    with pytest.raises(WorkerError, match="No module named 'tinygrad'"):
        worker.call("actions")


def test_only_the_release_and_numpy_can_be_imported(release_0_9_1: Release) -> None:
    """The worker sees neither kernelref nor what is installed beside it."""
    worker = Worker(release_0_9_1)
    worker.ensure_started()
    assert worker._process is not None
    maps = Path(f"/proc/{worker._process.pid}/maps")
    if not maps.exists():
        pytest.skip("no /proc")
    libraries = maps.read_text()
    assert "numpy" in libraries
    assert "pyopencl" not in libraries
    assert "z3" not in libraries
    worker.close()


def sum_of_loads(count: int) -> dict[str, object]:
    """((x1 + x2) + x3) + ...: each load of a buffer of its own, under 48 masked dims."""
    shape, mask = [1] * 47 + [4], [[0, 1]] * 47 + [[0, 3]]
    st = [[shape, [0] * 47 + [1], 0, mask]]

    def load(number: int) -> dict[str, object]:
        return {"op": "LOAD", "buffer": number, "dtype": "float", "st": st}

    nodes = [load(1)]
    last = 0
    for number in range(2, count + 1):
        nodes += [load(number), {"op": "ADD", "src": [last, len(nodes)]}]
        last = len(nodes) - 1
    whole = [[shape, [0] * 47 + [1], 0, None]]
    nodes.append({"op": "STORE", "src": [last], "buffer": 0, "dtype": "float", "st": whole})
    return {"nodes": nodes, "stores": [len(nodes) - 1]}


def test_an_ast_of_fifty_megabytes_gets_a_clear_answer(release_0_9_1: Release) -> None:
    worker = Worker(release_0_9_1, timeout=240)
    limits = write_limits(OPENCL)
    huge = sum_of_loads(65_000)
    assert len(json.dumps(huge)) > 50_000_000
    answer = worker.call("open", ast=huge, limits=limits)
    assert answer["answer"] == "broke"
    assert answer["type"] == "RecursionError"
    assert worker.call("open", ast=sum_of_loads(3), limits=limits)["answer"] == "accepted"
    worker.close()
