"""A worker process and its pipe: calls with a time limit, restarted after a crash or a hang.

The worker script is `tinygrad/worker.py`. It sees no installed packages (`-s -S -P`) and a clean
environment in which string hashes are fixed.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import IO, Any

import numpy as np

from kernelref.errors import KernelRefError
from kernelref.optimizers.releases import Release

SCRIPT = Path(__file__).parent / "tinygrad" / "worker.py"
START_SECONDS = 120.0
PIPE_BYTES = 1 << 16
KEPT_VARIABLES = ("PATH", "HOME", "TMPDIR", "LANG", "SYSTEMROOT")


class WorkerError(KernelRefError):
    """A call got no result. `kind`: start, crash, hang, or call (the worker lives and says no)."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(f"{kind}: {message}")
        self.kind = kind
        self.message = message


class Worker:
    """One process behind JSON lines.

    `generation` counts starts: what a caller opened in an earlier one is gone.
    """

    def __init__(self, release: Release, *, timeout: float = 60.0, script: Path = SCRIPT) -> None:
        self.release = release
        self.timeout = timeout
        self.script = script
        self.generation = 0
        self.greeting: dict[str, Any] = {}
        self._process: subprocess.Popen[bytes] | None = None
        self._log: IO[bytes] | None = None
        self._unread = b""

    def call(self, name: str, *, timeout: float | None = None, **arguments: Any) -> Any:
        """The result of a call. Raises: WorkerError; after crash or hang the next call restarts."""
        if self._process is None:
            self._start()
        request = json.dumps({"call": name, **arguments}).encode() + b"\n"
        limit = self.timeout if timeout is None else timeout
        return self._result(self._exchange(request, limit), name)

    def ensure_started(self) -> None:
        """Start the process if none runs, so that `generation` and `greeting` are current."""
        if self._process is None:
            self._start()

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    with contextlib.suppress(OSError):
                        pipe.close()
        if self._log is not None:
            self._log.close()
            self._log = None

    def _start(self) -> None:
        self.close()
        self._unread = b""
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        numpy_folder = Path(np.__file__).resolve().parent.parent
        environment = {k: os.environ[k] for k in KEPT_VARIABLES if k in os.environ}
        self._process = subprocess.Popen(
            [sys.executable, "-s", "-S", "-P", str(self.script), self.release.family,
             str(self.release.folder), str(numpy_folder)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log,
            env={**environment, "PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1"},
        )  # fmt: skip
        self.generation += 1
        try:
            self.greeting = self._result(self._read(time.monotonic() + START_SECONDS), "start")
        except WorkerError as error:
            self.close()
            raise WorkerError("start", f"{self.release.name}: {error.message}") from None

    def _exchange(self, request: bytes, limit: float) -> bytes:
        assert self._process is not None
        assert self._process.stdin is not None
        deadline = time.monotonic() + limit
        pipe = self._process.stdin.fileno()
        os.set_blocking(pipe, False)
        sent = 0
        while sent < len(request):
            try:
                _, ready, _ = select.select([], [pipe], [], max(0.0, deadline - time.monotonic()))
                if not ready:
                    self._fail("hang", f"took no input within {limit:g} s")
                sent += os.write(pipe, request[sent : sent + PIPE_BYTES])
            except BrokenPipeError:
                self._fail("crash", self._last_words())
        return self._read(deadline)

    def _read(self, deadline: float) -> bytes:
        assert self._process is not None
        assert self._process.stdout is not None
        pipe = self._process.stdout.fileno()
        pieces = [self._unread]
        while b"\n" not in pieces[-1]:
            ready, _, _ = select.select([pipe], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                self._fail("hang", "gave no answer in time and was stopped")
            piece = os.read(pipe, 1 << 20)
            if not piece:
                self._fail("crash", self._last_words())
            pieces.append(piece)
        line, _, self._unread = b"".join(pieces).partition(b"\n")
        return line

    def _last_words(self) -> str:
        """How the process ended: exit status and the tail of what it printed."""
        assert self._process is not None
        assert self._log is not None
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=5)
        self._log.seek(0, os.SEEK_END)
        self._log.seek(max(0, self._log.tell() - 1000))
        tail = self._log.read().decode(errors="replace").strip()
        return f"the worker ended with status {self._process.returncode}: {tail}"

    def _fail(self, kind: str, message: str) -> None:
        self.close()
        raise WorkerError(kind, f"{self.release.name}: {message}")

    def _result(self, line: bytes, name: str) -> Any:
        answer = json.loads(line)
        if "error" in answer:
            error = answer["error"]
            raise WorkerError(
                "call", f"{name}: {error['type']} at {error['where']}: {error['message']}"
            )
        return answer["result"]
