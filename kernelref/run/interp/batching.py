"""Which loops may run all iterations at once: those whose only memory is accumulators.

Such a loop's body is carried out once for a batch of iterations along an array axis; what it would
add to an accumulator is collected and folded in the order of the iterations.
"""

from __future__ import annotations

from collections.abc import Iterator

from kernelref.codegen.program import (
    Apply,
    Assign,
    Barrier,
    Combine,
    Convert,
    Define,
    Lane,
    LoadGlobal,
    LoadShared,
    Loop,
    Masked,
    Pack,
    Program,
    ProgramValue,
    Register,
    Statement,
    StoreGlobal,
    StoreShared,
    nested,
)


def accumulators(loop: Loop) -> dict[str, Combine] | None:
    """The registers from outside that the body accumulates into; None if it must run in order.

    Law: in the body such a register r appears only as r = combine(r, x), with one combine. No
    barrier is inside, and nothing is both stored to and loaded from one memory.
    """
    inside = list(nested(loop.body))
    own = {s.register.name for s in inside if isinstance(s, Define)}
    carried: dict[str, Combine] = {}
    read: set[str] = set()
    for statement in inside:
        match statement:
            case Barrier():
                return None
            case Assign(register, Combine(op, left, right) as combine) if left == register:
                if carried.setdefault(register.name, combine).op is not op:
                    return None
                read.update(_registers(right))
            case Assign(register, value):
                if register.name not in own:
                    return None
                read.update(_registers(value))
            case Define(value=value) | StoreGlobal(value=value) | StoreShared(value=value):
                read.update(_registers(value))
    outside = {name: combine for name, combine in carried.items() if name not in own}
    is_apart = not (outside.keys() & read) and not (_loaded(inside) & _stored(inside))
    return outside if is_apart else None


def _registers(value: ProgramValue) -> Iterator[str]:
    """The registers that a value reads."""
    match value:
        case Register(name) | Lane(Register(name)):
            yield name
        case Masked(operand=operand) | Convert(operand=operand):
            yield from _registers(operand)
        case Pack(operands) | Apply(_, operands):
            for operand in operands:
                yield from _registers(operand)
        case Combine(_, left, right):
            yield from _registers(left)
            yield from _registers(right)


def touched(program: Program) -> tuple[set[str], set[str]]:
    """The names of the memories that a program loads from, and that it stores to."""
    statements = list(nested(program.body))
    return _loaded(statements), _stored(statements)


def _loaded(statements: list[Statement]) -> set[str]:
    found: set[str] = set()
    for statement in statements:
        match statement:
            case Define(value=LoadGlobal(buffer=name)) | Assign(value=LoadGlobal(buffer=name)):
                found.add(name)
            case Define(value=LoadShared(array=name)) | Assign(value=LoadShared(array=name)):
                found.add(name)
    return found


def _stored(statements: list[Statement]) -> set[str]:
    found: set[str] = set()
    for statement in statements:
        match statement:
            case StoreGlobal(buffer=name) | StoreShared(array=name):
                found.add(name)
    return found
