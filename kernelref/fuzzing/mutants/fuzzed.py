"""One mutant under `pytest fuzz/ -x`, in a process of its own: which test fails first.

The process runs this module: a Run comes in on stdin, a Found goes out on stdout. The profile is
`ci` without shrinking, so the examples are those of `ci`; what looks most at the changed module
comes first, then what sees most. Nothing that a mutant may change is imported before it is
planted.
"""

from __future__ import annotations

import os
import pickle
import resource
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from kernelref.fuzzing.mutants.kill import Processes
from kernelref.fuzzing.mutants.mutant import Edit
from kernelref.fuzzing.mutants.plant import plant

ORDER = (
    "test_kernels", "test_lowering", "test_requests", "test_padding", "test_programs",
    "test_views", "test_index", "test_proofs", "test_cases", "test_optimizers", "test_devices",
)  # fmt: skip
NEAREST = {
    "kernelref.opt.axismap": "test_proofs", "kernelref.opt.padding": "test_padding",
    "kernelref.opt.rules": "test_requests", "kernelref.run.interp": "test_programs",
    "kernelref.codegen.lower.widths": "test_programs",
    "kernelref.codegen.lower.inplace": "test_lowering", "kernelref.ir.view": "test_views",
    "kernelref.ir.stack": "test_views", "kernelref.ir.index": "test_index",
}  # fmt: skip
"""By the beginning of a module's name, the tests that look at it most: they come first."""
PROFILE = "ci-without-shrinking"
CPU_SECONDS = 600
MEMORY_NBYTES = 8 << 30
COMMAND = (sys.executable, "-m", "kernelref.fuzzing.mutants.fuzzed")


@dataclass(frozen=True, slots=True)
class Run:
    """What is planted, the repository that holds fuzz/, and where to say which test runs."""

    edits: tuple[Edit, ...]
    root: str
    progress: str


@dataclass(frozen=True, slots=True)
class Found:
    """The first test that failed ("" when none did), or ran when time was up (`is_hung`).

    `asked` tests had begun. Units: `seconds` of CPU time, child processes included.
    """

    test: str
    asked: int
    seconds: float
    is_hung: bool = False


def found(edits: tuple[Edit, ...], root: Path, running: Processes) -> Found:
    """Run the fuzz tests with the edits planted."""
    with tempfile.TemporaryDirectory() as folder:
        progress = Path(folder) / "progress"
        run = Run(edits, str(root), str(progress))
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        with running.started(COMMAND, stderr=subprocess.DEVNULL, cwd=folder) as process:
            told, _ = process.communicate(pickle.dumps(run))
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        began = progress.read_text().splitlines() if progress.exists() else []
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if process.returncode == 0:
        failed = pickle.loads(told)
        return Found(failed, len(began), seconds)
    is_hung = process.returncode == -signal.SIGXCPU
    return Found(began[-1] if began else "import", len(began), seconds, is_hung)


def order_for(edits: tuple[Edit, ...]) -> tuple[str, ...]:
    """All files of tests, those first that look most at what is changed."""
    first = [
        test for edit in edits for module, test in NEAREST.items() if edit.module.startswith(module)
    ]
    return tuple(dict.fromkeys((*first, *ORDER)))


class _Watch:
    """Notes each test that begins, and the first that fails."""

    def __init__(self, progress: Path) -> None:
        self.progress = progress
        self.failed = ""

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """A test begins."""
        with self.progress.open("a") as file:
            file.write(f"{nodeid}\n")

    def pytest_runtest_logreport(self, report: object) -> None:
        """A phase of a test ended."""
        if getattr(report, "failed", False):
            self.failed = self.failed or str(getattr(report, "nodeid", "?"))

    def pytest_collectreport(self, report: object) -> None:
        """A module was imported, or could not be."""
        self.pytest_runtest_logreport(report)


def main() -> None:
    """Answer the Run on stdin."""
    run: Run = pickle.load(sys.stdin.buffer)
    answer = os.dup(1)
    os.dup2(2, 1)
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 10))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_NBYTES, MEMORY_NBYTES))
    plant(run.edits)
    os.environ["HYPOTHESIS_PROFILE"] = PROFILE
    import pytest

    watch = _Watch(Path(run.progress))
    paths = [Path(run.root) / "fuzz" / f"{name}.py" for name in order_for(run.edits)]
    files = [str(path) for path in paths if path.exists()]
    code = pytest.main(
        ["-x", "-q", "--tb=no", "--assert=plain", "-p", "no:cacheprovider",
         f"--rootdir={run.root}", f"--confcutdir={run.root}", f"-c={run.root}/pyproject.toml",
         *files],
        plugins=[watch],
    )  # fmt: skip
    failed = watch.failed or ("" if code == 0 else "collection")
    os.write(answer, pickle.dumps(failed))
    # Not by way of exit handlers: workers of a device may hang on what is planted.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    # As the module of this name, so that what is unpickled is of the classes that are here.
    from kernelref.fuzzing.mutants import fuzzed

    fuzzed.main()
