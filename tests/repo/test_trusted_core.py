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
    ("run/arithmetic.py", None),
)


def lines_of(file: str, name: str | None) -> int:
    """Lines of a file or of one definition in it, blank ones and docstrings included."""
    path = PACKAGE / file
    if name is None:
        return len(path.read_text(encoding="utf-8").splitlines())
    node: ast.AST = tree(path)
    for part in name.split("."):
        node = next(
            child
            for child in ast.iter_child_nodes(node)
            if isinstance(child, ast.ClassDef | ast.FunctionDef) and child.name == part
        )
    return node.end_lineno - node.lineno + 1


def trusted_lines() -> int:
    return sum(lines_of(file, name) for file, name in TRUSTED)


def test_the_trusted_core_is_within_its_budget() -> None:
    assert trusted_lines() <= MOST_LINES


def test_the_readme_states_its_size() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    stated = re.search(r"trusted core[^.]*?([\d,]+) lines", readme)
    assert stated, "README.md says nothing like 'trusted core: N lines'"
    assert int(stated[1].replace(",", "")) >= trusted_lines()


def test_a_definition_that_is_gone_is_noticed() -> None:
    with pytest.raises(StopIteration):
        lines_of("ir/index.py", "evaluate_nothing")
