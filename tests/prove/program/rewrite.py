"""Rewriting Programs, to plant faults in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from kernelref.codegen import program as lir

Change = Callable[[lir.Statement], lir.Statement | None]
"""Another statement in the place of one; None for none."""


def statements(program: lir.Program) -> list[lir.Statement]:
    return list(lir.nested(program.body))


def changed(program: lir.Program, number: int, change: Change) -> lir.Program:
    """The program with its `number`-th statement (as `statements` counts) changed."""
    counter = iter(range(len(statements(program)) + 1))
    return replace(program, body=tuple(_changed(program.body, number, change, counter)))


def _changed(
    body: tuple[lir.Statement, ...], number: int, change: Change, counter: Iterator[int]
) -> Iterator[lir.Statement]:
    for statement in body:
        here = next(counter)
        if isinstance(statement, lir.Loop | lir.Guarded):
            inner = tuple(_changed(statement.body, number, change, counter))
            statement = replace(statement, body=inner)
        new = change(statement) if here == number else statement
        if new is not None:
            yield new


def each(
    program: lir.Program, kind: type | tuple[type, ...], change: Change
) -> Iterator[lir.Program]:
    """One changed program for each statement of a kind."""
    for number, statement in enumerate(statements(program)):
        if isinstance(statement, kind):
            yield changed(program, number, change)
