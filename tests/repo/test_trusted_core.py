"""The trusted core is small: everything clever is tested or proved against these functions."""

from __future__ import annotations

import ast
import re

import pytest

from tests.repo.packages import PACKAGE, ROOT, tree

MOST_LINES = 1_800

# Path in the package, and the class or function in it (None: the whole file).
TRUSTED: tuple[tuple[str, str | None], ...] = (
    ("ir/view.py", "View.address"),
    ("ir/shapetracker.py", "ShapeTracker.address"),
    ("ir/index.py", "evaluate"),
    ("ir/semantics.py", None),
    ("run/oracle.py", None),
    ("run/plan.py", None),
    ("run/arithmetic.py", None),
    ("opt/axismap.py", "AxisMap.apply"),
    ("run/interp/interpret.py", None),
    ("run/interp/machine.py", None),
    ("run/interp/memory.py", None),
    ("run/interp/indexing.py", None),
    ("run/interp/batching.py", None),
    ("run/interp/fault.py", None),
    ("run/interp/shake.py", None),
    ("prove/claim.py", None),
    ("prove/terms.py", None),
    ("prove/enumerate.py", None),
    ("prove/encode.py", None),
    ("prove/verdict.py", None),
)


def lines_of(file: str, name: str | None) -> int:
    """Lines that hold code; blank lines, comments and docstrings are not counted."""
    node: ast.AST = tree(PACKAGE / file)
    for part in name.split(".") if name else ():
        node = next(
            child
            for child in ast.iter_child_nodes(node)
            if isinstance(child, ast.ClassDef | ast.FunctionDef) and child.name == part
        )
    documentation = documentation_lines(node)
    source = (PACKAGE / file).read_text(encoding="utf-8").splitlines()
    first, last = getattr(node, "lineno", 1), getattr(node, "end_lineno", len(source))
    return sum(
        bool(line.strip()) and not line.lstrip().startswith("#") and number not in documentation
        for number, line in enumerate(source[first - 1 : last], first)
    )


def documentation_lines(node: ast.AST) -> set[int]:
    """The lines of strings that are statements of their own."""
    return {
        number
        for inner in ast.walk(node)
        if isinstance(inner, ast.Expr)
        and isinstance(inner.value, ast.Constant)
        and isinstance(inner.value.value, str)
        for number in range(inner.lineno, inner.end_lineno + 1)
    }


def trusted_lines() -> int:
    return sum(lines_of(file, name) for file, name in TRUSTED)


def test_the_trusted_core_is_within_its_budget() -> None:
    assert trusted_lines() <= MOST_LINES


def test_the_readme_states_its_size() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    stated = re.search(r"trusted core[^.]*?([\d,]+) lines", readme)
    assert stated, "README.md says nothing like 'trusted core: N lines'"
    number = int(stated[1].replace(",", ""))
    assert trusted_lines() <= number <= trusted_lines() + 100


def test_only_code_is_counted() -> None:
    assert lines_of("errors.py", "Unsupported") == 5


def test_a_definition_that_is_gone_is_noticed() -> None:
    with pytest.raises(StopIteration):
        lines_of("ir/index.py", "evaluate_nothing")
