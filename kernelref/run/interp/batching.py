"""Which loops may run all iterations at once: those whose only memory is accumulators.

Such a loop's body is carried out once for a batch of iterations along an array axis; what it would
add to an accumulator is collected and folded in the order of the iterations.
"""

from __future__ import annotations

from collections.abc import Iterator

from kernelref.codegen import program as lir


def accumulators(loop: lir.Loop) -> dict[str, lir.Combine] | None:
    """The registers from outside that the body accumulates into; None if it must run in order.

    Law: in the body such a register r appears only as r = combine(r, x), with one combine. No
    barrier is inside, and nothing is both stored to and loaded from one memory.
    """
    inside = list(lir.nested(loop.body))
    own = {s.register.name for s in inside if isinstance(s, lir.Define)}
    carried: dict[str, lir.Combine] = {}
    read: set[str] = set()
    for statement in inside:
        match statement:
            case lir.Barrier():
                return None
            case lir.Assign(register, lir.Combine(op, left, right) as combine) if left == register:
                if carried.setdefault(register.name, combine).op is not op:
                    return None
                read.update(_registers(right))
            case lir.Assign(register, value):
                if register.name not in own:
                    return None
                read.update(_registers(value))
            case (
                lir.Define(value=value)
                | lir.StoreGlobal(value=value)
                | lir.StoreShared(value=value)
            ):
                read.update(_registers(value))
    outside = {name: combine for name, combine in carried.items() if name not in own}
    is_apart = not (outside.keys() & read) and not (_loaded(inside) & _stored(inside))
    return outside if is_apart else None


def _registers(value: lir.ProgramValue) -> Iterator[str]:
    """The registers that a value reads."""
    match value:
        case lir.Register(name) | lir.Lane(lir.Register(name)):
            yield name
        case lir.Masked(operand=operand) | lir.Convert(operand=operand):
            yield from _registers(operand)
        case lir.Pack(operands) | lir.Apply(_, operands):
            for operand in operands:
                yield from _registers(operand)
        case lir.Combine(_, left, right):
            yield from _registers(left)
            yield from _registers(right)


def touched(program: lir.Program) -> tuple[set[str], set[str]]:
    """The names of the memories that a program loads from, and that it stores to."""
    statements = list(lir.nested(program.body))
    return _loaded(statements), _stored(statements)


def _loaded(statements: list[lir.Statement]) -> set[str]:
    found: set[str] = set()
    for statement in statements:
        match statement:
            case (
                lir.Define(value=lir.LoadGlobal(buffer=name))
                | lir.Assign(value=lir.LoadGlobal(buffer=name))
            ):
                found.add(name)
            case (
                lir.Define(value=lir.LoadShared(array=name))
                | lir.Assign(value=lir.LoadShared(array=name))
            ):
                found.add(name)
    return found


def _stored(statements: list[lir.Statement]) -> set[str]:
    found: set[str] = set()
    for statement in statements:
        match statement:
            case lir.StoreGlobal(buffer=name) | lir.StoreShared(array=name):
                found.add(name)
    return found
