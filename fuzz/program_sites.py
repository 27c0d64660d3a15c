"""Statements of a Program by where they stand: to change one, or to see who gets there."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from kernelref.codegen.program import (
    Define,
    DefineIndex,
    Guarded,
    LoadGlobal,
    Loop,
    Program,
    Statement,
    StoreGlobal,
    nested,
)
from kernelref.ir.index import Expr, Sint, add, evaluate, substitute, variables

MOST_POINTS = 1 << 17

Path: TypeAlias = tuple[int, ...]
Body: TypeAlias = tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Site:
    """A statement, where it stands, and the statements that it stands in, the outermost first."""

    path: Path
    statement: Statement
    around: tuple[Loop | Guarded, ...]

    @property
    def conditions(self) -> tuple[Expr, ...]:
        """What holds of those who get there."""
        return tuple(outer.condition for outer in self.around if isinstance(outer, Guarded))


def sites(body: Body, path: Path = (), around: tuple[Loop | Guarded, ...] = ()) -> Iterator[Site]:
    """Every statement, in the order of the text."""
    for i, statement in enumerate(body):
        yield Site((*path, i), statement, around)
        if isinstance(statement, Loop | Guarded):
            yield from sites(statement.body, (*path, i), (*around, statement))


def edited(program: Program, site: Site, *put: Statement) -> Program:
    """The Program with other statements in the place of one."""
    return replace(program, body=_edited(program.body, site.path, put))


def _edited(body: Body, path: Path, put: Body) -> Body:
    first, rest = path[0], path[1:]
    if rest:
        outer = body[first]
        assert isinstance(outer, Loop | Guarded)
        put = (replace(outer, body=_edited(outer.body, rest, put)),)
    return (*body[:first], *put, *body[first + 1 :])


def points(program: Program, *exprs: Sint) -> list[Any] | None:
    """The values of index expressions for everyone, loop after loop; None where that is too much.

    A condition counts as one: mask with those of the site.
    """
    defined: dict[str, Sint] = {}
    for statement in nested(program.body):
        if isinstance(statement, DefineIndex):
            defined[statement.variable.name] = substitute(statement.value, defined)
    whole = [substitute(expr, defined) for expr in exprs]
    free = sorted({var for expr in whole for var in variables(expr)}, key=lambda var: var.name)
    extents = [var.high - var.low + 1 for var in free if isinstance(var.high, int)]
    if len(extents) < len(free) or math.prod(extents) > MOST_POINTS:
        return None
    axes = np.ogrid[
        tuple(slice(var.low, var.low + n) for var, n in zip(free, extents, strict=True))
    ]
    values = {var.name: axis for var, axis in zip(free, axes, strict=True)}
    return list(np.broadcast_arrays(*(np.asarray(evaluate(expr, values)) for expr in whole)))


def gets_there(program: Program, site: Site, address: Sint, guard: Sint) -> Any:
    """The addresses of all who get to a statement, and whether its guard lets them; or None."""
    found = points(program, address, guard, *site.conditions)
    if found is None:
        return None
    inside = np.logical_and.reduce([np.ones(found[0].shape, bool), *(c != 0 for c in found[2:])])
    return found[0][inside], found[1][inside] != 0


def elements_of(program: Program, name: str) -> int | None:
    """The elements of a plain buffer; None for images and symbolic sizes."""
    (buffer,) = (buffer for buffer in program.buffers if buffer.name == name)
    is_plain = isinstance(buffer.elements, int) and not buffer.dtype.is_image
    return buffer.elements if is_plain and isinstance(buffer.elements, int) else None


def resized(program: Program, name: str, more: int) -> Program:
    """The Program with another size of a buffer or shared array."""
    return replace(
        program,
        buffers=tuple(
            replace(b, elements=add(b.elements, more)) if b.name == name else b
            for b in program.buffers
        ),
        shared=tuple(
            replace(a, elements=a.elements + more) if a.name == name else a for a in program.shared
        ),
    )


def accesses(program: Program) -> Iterator[tuple[Site, StoreGlobal | LoadGlobal]]:
    """Every access of a buffer."""
    for site in sites(program.body):
        match site.statement:
            case StoreGlobal() as store:
                yield site, store
            case Define(value=LoadGlobal() as load):
                yield site, load


def stores(program: Program) -> Iterator[tuple[Site, StoreGlobal]]:
    """Every store to a buffer."""
    for site, access in accesses(program):
        if isinstance(access, StoreGlobal):
            yield site, access


def with_access(program: Program, site: Site, access: StoreGlobal | LoadGlobal) -> Program:
    """Another access in its place."""
    if isinstance(access, StoreGlobal):
        return edited(program, site, access)
    assert isinstance(site.statement, Define)
    return edited(program, site, replace(site.statement, value=access))
