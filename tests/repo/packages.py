"""The source files of the package, as syntax trees, and what each imports."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "kernelref"


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """Line and dotted name of every import, those inside functions and under `if` too."""
    return imported_names(tree(path), path.relative_to(ROOT).parent.parts)


def imported_names(module: ast.Module, package: tuple[str, ...]) -> Iterator[tuple[int, str]]:
    """`package` is where relative imports start from."""
    for node in ast.walk(module):
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, alias.name) for alias in names)
            case ast.ImportFrom(module=source, names=names, level=level):
                above = package[: len(package) - level + 1] if level else ()
                whole = ".".join((*above, *filter(None, [source])))
                yield node.lineno, whole
                yield from ((node.lineno, f"{whole}.{alias.name}") for alias in names)
            case ast.Call(
                func=ast.Name(id="__import__") | ast.Attribute(attr="import_module"),
                args=[ast.Constant(value=str() as source), *_],
            ):
                yield node.lineno, source
