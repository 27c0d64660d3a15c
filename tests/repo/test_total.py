"""Tables keyed by an enum have an entry for each of its members."""

from __future__ import annotations

import ast

import pytest

from tests.repo.packages import modules, name, tree


def enum_members() -> dict[str, set[str]]:
    """The members of every enum class of the package, by class name."""
    found = {}
    for path in modules():
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.ClassDef) and any("Enum" in ast.unparse(b) for b in node.bases):
                found[node.name] = {
                    target.id
                    for statement in node.body
                    if isinstance(statement, ast.Assign)
                    for target in statement.targets
                    if isinstance(target, ast.Name) and not target.id.startswith("__")
                }
    return found


MEMBERS = enum_members()


def tables(module: ast.Module) -> list[tuple[int, str, set[str]]]:
    """Module-level `dict[SomeEnum, ...]` tables and their members; a partial one says Mapping."""
    found = []
    for node in module.body:
        match node:
            case ast.AnnAssign(
                annotation=ast.Subscript(
                    value=ast.Name(id="dict"),
                    slice=ast.Tuple(elts=[ast.Name(id=enum), _]),
                ),
                value=ast.Dict(keys=keys),
            ) if enum in MEMBERS:
                held = {key.attr for key in keys if isinstance(key, ast.Attribute)}
                found.append((node.lineno, enum, held))
    return found


@pytest.mark.parametrize("path", modules(), ids=name)
def test_tables_over_enums_are_total(path) -> None:
    partial = [
        f"{name(path)}:{line} lacks {sorted(missing)} of {enum}"
        for line, enum, held in tables(tree(path))
        if (missing := MEMBERS[enum] - held)
    ]
    assert not partial


def test_a_partial_table_is_seen() -> None:
    source = "TABLE: dict[ReduceOp, int] = {ReduceOp.SUM: 1}"
    assert tables(ast.parse(source)) == [(1, "ReduceOp", {"SUM"})]
    assert MEMBERS["ReduceOp"] == {"SUM", "MAX"}
