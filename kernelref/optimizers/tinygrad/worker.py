"""The worker process: one tinygrad release behind a pipe of JSON lines.

Run as a script by `optimizers/process`, with nothing on its path but the standard library, this
folder, one release (with tqdm beside it) and numpy. It never imports kernelref, and kernelref never
imports it. Arguments: family, release folder, folder that holds numpy.

A request is one line, `{"call": NAME, ...}`; the answer is one line, `{"result": ...}` or
`{"error": {"type", "message", "where"}}`. What a release's *kernel code* raises is a result
(`answer` refused or broke), never an error. Read `kernels` next.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.machinery
import importlib.util
import json
import os
import sys
import threading
import traceback
from collections.abc import Callable
from typing import Any

STACK_BYTES = 1 << 29
MEMORY_BYTES = 8 << 30
SIBLINGS = "judge"
RECURSION_LIMIT = 200_000


class OnlyNumpy:
    """Finds the package numpy, and nothing else, in one folder of many packages."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def find_spec(
        self, name: str, path: Any = None, target: Any = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The spec of numpy itself; its submodules are found through its own path."""
        if name != "numpy" or path is not None:
            return None
        return importlib.machinery.PathFinder.find_spec(name, [self.folder])


def name_siblings() -> None:
    """Make this folder importable as the package `judge`, without kernelref around it."""
    folder = os.path.dirname(os.path.abspath(__file__))
    spec = importlib.util.spec_from_file_location(
        SIBLINGS, os.path.join(folder, "__init__.py"), submodule_search_locations=[folder]
    )
    assert spec is not None
    sys.modules[SIBLINGS] = importlib.util.module_from_spec(spec)


def limit_memory() -> None:
    """An AST that needs more memory than MEMORY_BYTES ends in MemoryError, not in the kernel's."""
    try:
        import resource
    except ImportError:
        return
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))


def serve(family: str, release: str, numpy_folder: str) -> None:
    """Answer requests until the pipe closes."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what the release prints must not mix with answers
    sys.path[:0] = [release]
    sys.meta_path.append(OnlyNumpy(numpy_folder))
    sys.setrecursionlimit(RECURSION_LIMIT)

    def reply(message: dict[str, Any]) -> None:
        answers.write(json.dumps(message) + "\n")
        answers.flush()

    try:
        name_siblings()
        family_module = importlib.import_module(f"{SIBLINGS}.{family}")
        session = importlib.import_module(f"{SIBLINGS}.kernels").Kernels(family_module.Family())
    except BaseException as error:
        reply({"error": describe(error)})
        return
    calls: dict[str, Callable[..., Any]] = session.calls()
    reply({"result": session.hello()})
    for line in sys.stdin:
        try:
            request = json.loads(line)
            result = calls[request.pop("call")](**request)
        except Exception as error:
            reply({"error": describe(error)})
        else:
            reply({"result": result})


def describe(error: BaseException) -> dict[str, str]:
    """An error as text: type, message and the innermost frame."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f"{os.path.basename(frames[-1].filename)}:{frames[-1].lineno}" if frames else ""
    return {"type": type(error).__name__, "message": str(error)[:2000], "where": where}


if __name__ == "__main__":
    # Deep ASTs recurse in the release's own code: give them a thread with a large stack.
    limit_memory()
    threading.stack_size(STACK_BYTES)
    thread = threading.Thread(target=serve, args=tuple(sys.argv[1:4]))
    thread.start()
    thread.join()
