"""What a machine may find wrong with a run: an outcome, a statement, and work-items."""

from __future__ import annotations

from dataclasses import dataclass

from kernelref.codegen.program import (
    Assign,
    Barrier,
    Define,
    DefineIndex,
    Guarded,
    LoadGlobal,
    LoadShared,
    Loop,
    Statement,
    StoreGlobal,
    StoreShared,
)
from kernelref.run.outcome import Outcome

WorkItem = tuple[tuple[int, ...], tuple[int, ...]]
"""Group and local coordinates, each (x, y, z)."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A rule that was broken, where, and by whom (the first work-items found)."""

    outcome: Outcome
    detail: str
    statement: str
    work_items: tuple[WorkItem, ...] = ()

    def __str__(self) -> str:
        """One line for a person."""
        who = " and ".join(f"group {group} local {local}" for group, local in self.work_items)
        return f"{self.statement}: {self.detail}" + (f", by {who}" if who else "")


class MachineStop(Exception):  # noqa: N818 - it stops the machine; what is wrong is the kernel.
    """Ends a run at its first fault; `interpret` turns it into a result."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(str(fault))
        self.fault = fault


def spell(statement: Statement) -> str:
    """A statement in a few words, close to the text that a renderer prints."""
    match statement:
        case Define(register, value) | Assign(register, value):
            match value:
                case LoadGlobal(buffer=place, address=address):
                    return f"{register.name} = {place}[{address}]"
                case LoadShared(array=place, address=address):
                    return f"{register.name} = {place}[{address}]"
            return f"{register.name} = {type(value).__name__}"
        case StoreGlobal(buffer=place, address=address):
            return f"{place}[{address}] = ..."
        case StoreShared(array=place, address=address):
            return f"{place}[{address}] = ..."
        case DefineIndex(variable=variable, value=value):
            return f"{variable.name} = {value}"
        case Loop(variable=variable, extent=extent):
            return f"for {variable.name} < {extent}"
        case Guarded(condition=condition):
            return f"if {condition}"
        case Barrier():
            return "barrier"
    raise AssertionError(f"not a statement: {statement!r}")
