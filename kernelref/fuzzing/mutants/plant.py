"""How mutants get into a process: modules are compiled from changed text as they are imported.

No file changes, and no compiled file is read or written. A process that has planted something is
spent: the changed modules stay.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType

from kernelref.fuzzing.mutants.mutant import Edit


def plant(edits: Iterable[Edit]) -> None:
    """From now on the modules of `edits` are imported changed.

    For a process of its own, before it imports what is changed.
    """
    by_module: dict[str, list[Edit]] = {}
    for edit in edits:
        by_module.setdefault(edit.module, []).append(edit)
    loaded = sorted(by_module.keys() & sys.modules.keys())
    if loaded:
        raise AssertionError(f"imported before it could be changed: {', '.join(loaded)}")
    sys.meta_path.insert(0, _Finder(by_module))


class _Finder(MetaPathFinder):
    """Finds the modules that are changed; all others are left to the next finder."""

    def __init__(self, edits: dict[str, list[Edit]]) -> None:
        self.edits = edits

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in self.edits:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is None or spec.origin is None:
            return None
        spec.loader = _Loader(fullname, spec.origin, self.edits[fullname])
        return spec


class _Loader(SourceFileLoader):
    """Compiles the changed text."""

    def __init__(self, fullname: str, path: str, edits: list[Edit]) -> None:
        super().__init__(fullname, path)
        self.edits = edits

    def get_code(self, fullname: str) -> CodeType:
        text = self.get_data(self.path).decode("utf-8")
        for edit in self.edits:
            text = edit.apply(text)
        return compile(text, self.path, "exec", dont_inherit=True)
