"""Imports point one way, and third-party code stays behind its walls."""

from __future__ import annotations

import ast
import sys

import pytest

from tests.repo.packages import PACKAGE, imported_names, imports, modules, name

LAYERS = (
    "ir",
    "opt",
    "cases",
    "codegen",
    "run",
    "prove",
    "optimizers",
    "fuzzing",
    "jobs",
    "report",
    "cli",
)

STANDARD_LIBRARY_AND_NUMPY_ONLY = ("ir", "opt", "codegen")

WALLS: dict[str, tuple[str, ...]] = {
    "z3": ("prove/encode.py", "prove/solve.py"),
    "cvc5": ("prove/crosscheck.py",),
    "bitwuzla": ("prove/crosscheck.py",),
    "pyopencl": ("run/opencl.py",),
    "hypothesis": ("fuzzing/strategies.py",),
    # A release runs in a worker of its own: only the worker's files see it.
    "tinygrad": ("optimizers/tinygrad/",),
}

# The plugin is the one file that pytest loads; it counts as part of the command line.
PLUGIN = "pytest_plugin.py"


def layer(path_in_package: str) -> int | None:
    """How far down the list a file stands; None for files of the package itself."""
    if path_in_package == PLUGIN:
        return LAYERS.index("cli")
    folder, _, rest = path_in_package.partition("/")
    return LAYERS.index(folder) if rest else None


def upward_imports(path_in_package: str, names: list[tuple[int, str]]) -> list[str]:
    """The imports that point at a later layer (or at any, from the package's own files)."""
    here = layer(path_in_package)
    found = []
    for line, imported in names:
        top, _, rest = imported.partition(".")
        if top != "kernelref" or not rest:
            continue
        folder = rest.split(".")[0]
        if folder in LAYERS and LAYERS.index(folder) > (-1 if here is None else here):
            found.append(f"{path_in_package}:{line} imports {imported}")
    return found


def walled_imports(path_in_package: str, names: list[tuple[int, str]]) -> list[str]:
    """The imports of third-party code where it has no business."""
    found = []
    for line, imported in names:
        top = imported.split(".")[0]
        if top in WALLS and not path_in_package.startswith(WALLS[top]):
            found.append(f"{path_in_package}:{line} imports {top}")
        pure = path_in_package.split("/")[0] in STANDARD_LIBRARY_AND_NUMPY_ONLY
        if pure and top not in {"kernelref", "numpy", *sys.stdlib_module_names}:
            found.append(f"{path_in_package}:{line} imports {top}")
    return found


def test_every_folder_is_a_layer() -> None:
    folders = {path.relative_to(PACKAGE).parts[0] for path in modules() if path.parent != PACKAGE}
    assert folders <= set(LAYERS)


@pytest.mark.parametrize("check", [upward_imports, walled_imports])
def test_imports(check) -> None:
    found = []
    for path in modules():
        found += check(path.relative_to(PACKAGE).as_posix(), list(imports(path)))
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("file", "text", "check"),
    [
        ("ir/view.py", "from kernelref.opt.kernel import Kernel", upward_imports),
        ("ir/view.py", "def f():\n  import kernelref.run.oracle", upward_imports),
        ("jobs/run.py", "from kernelref import report", upward_imports),
        ("errors.py", "from kernelref.ir.ast import Op", upward_imports),
        ("ir/view.py", "from ..opt import kernel", upward_imports),
        ("prove/solve.py", "from kernelref.optimizers import reference", upward_imports),
        ("pytest_plugin.py", "import z3", walled_imports),
        ("optimizers/releases.py", "import tinygrad.ops", walled_imports),
        ("run/isolate.py", "def f():\n  import pyopencl as cl", walled_imports),
        ("run/isolate.py", "__import__('pyopencl')", walled_imports),
        ("opt/kernel.py", "from rich import print", walled_imports),
        ("fuzzing/choose.py", "if True:\n  from hypothesis import strategies", walled_imports),
    ],
)
def test_a_wrong_import_is_seen(file, text, check) -> None:
    package = ("kernelref", *file.split("/")[:-1])
    assert check(file, list(imported_names(ast.parse(text), package)))


def test_the_walls_name_files_that_may_import() -> None:
    assert not walled_imports("run/opencl.py", [(1, "pyopencl")])
    assert not upward_imports("cli/run.py", [(1, "kernelref.jobs.run")])
    assert not upward_imports("pytest_plugin.py", [(1, "kernelref.fuzzing.campaign")])


def test_names_are_relative_to_the_repository() -> None:
    assert name(PACKAGE / "errors.py") == "kernelref/errors.py"
