"""A mutant: a named fault, as a small change of a module's text, and what must notice it.

Read `Edit.apply` first: a mutant is nothing but text before and text after. Nothing here imports
what is mutated.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path

import kernelref
from kernelref.errors import InvalidInput
from kernelref.fuzzing.mutants.question import Probe

CONFORM = "CONFORM"
"""Noticed only by holding kernels to a release: another layout of the same computation."""
REFUTED = "REFUTED"
"""Noticed by the law of an opt: its axis map and its ShapeTrackers disagree."""
ACCEPTED = "ACCEPTED"
"""An opt that must be refused was accepted, and the kernel is right all the same."""
MISSED = "MISSED"
"""A kernel that is wrong did not end in the outcome that says so."""


@dataclass(frozen=True, slots=True)
class Edit:
    """`before` becomes `after` in the text of `within` (a function or class; "": the module).

    `nth` counts the places where `before` stands there, from 0; a hand-written one stands once.
    """

    module: str
    within: str
    before: str
    after: str
    nth: int = 0

    def apply(self, source: str) -> str:
        """The text with the change. Raises: InvalidInput when `before` does not stand there."""
        begin, end = region(source, self.within) if self.within else (0, len(source))
        at = begin - 1
        for _ in range(self.nth + 1):
            at = source.find(self.before, at + 1, end)
            if at < 0:
                message = f"the text that is to change is not there: {self.before!r}"
                raise InvalidInput(message, where=f"{self.module}:{self.within}")
        return source[:at] + self.after + source[at + len(self.before) :]


@dataclass(frozen=True, slots=True)
class Mutant:
    """A planted fault.

    `says` is the mistake in words. `expects` is how the input `probe` must end with it: an outcome,
    or CONFORM, REFUTED, ACCEPTED, MISSED; "" when whatever is noticed first will do. `beside` is
    another mutant that is planted too: faults of the machine show on kernels that are wrong.
    `equivalent` is the reason why nothing can notice it.
    """

    name: str
    edits: tuple[Edit, ...]
    says: str
    probe: Probe | None = None
    expects: str = ""
    beside: str = ""
    equivalent: str = ""
    is_drawn: bool = False

    @property
    def modules(self) -> tuple[str, ...]:
        """The modules that it changes."""
        return tuple(dict.fromkeys(edit.module for edit in self.edits))

    @property
    def layer(self) -> str:
        """The folder that it changes."""
        return self.modules[0].split(".")[1]

    @property
    def is_quick(self) -> bool:
        """Whether its own input must show it at once: not CONFORM, which takes many states."""
        return self.probe is not None and self.expects not in ("", CONFORM)


def region(source: str, qualified_name: str) -> tuple[int, int]:
    """Where a function or class stands in a module's text, as [begin, end) of characters.

    Raises: InvalidInput when the module has none of this name.
    """
    node: ast.AST = ast.parse(source)
    for part in qualified_name.split("."):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.ClassDef | ast.FunctionDef) and child.name == part:
                node = child
                break
        else:
            raise InvalidInput(f"there is no {qualified_name}")
    assert isinstance(node, ast.ClassDef | ast.FunctionDef)
    assert node.end_lineno is not None
    lines = source.splitlines(keepends=True)
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    begin = sum(map(len, lines[: first - 1]))
    return begin, begin + sum(map(len, lines[first - 1 : node.end_lineno]))


def source_of(module: str) -> str:
    """The text of a module of this package; neither it nor a package above it is imported."""
    _, *names = module.split(".")
    path = Path(kernelref.__file__).parent.joinpath(*names)
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return file.read_text(encoding="utf-8")
