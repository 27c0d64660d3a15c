"""Parts of the obligation `bounds`: every index that the text computes in int fits 32 bits, and
vectors start at a multiple of their lanes.

Interval arithmetic over what the Program says of its variables: launch sizes, loop extents, index
definitions. Every part of an index counts, because the text computes every part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kernelref.codegen import program as lir
from kernelref.ir.index import Binary, Expr, IndexOp, Int, Sint, Var, bounds, variables
from kernelref.prove.claim import Everywhere, Fact, Lift, Point, ordered
from kernelref.prove.program.differences import magnitude
from kernelref.prove.terms import at
from kernelref.prove.verdict import Open, Part, Shown

Interval = tuple[int, int]
LEAST, MOST = -(2**31), 2**31 - 1


def fits_int(program: lir.Program) -> Iterator[Part]:
    """The indices of a Program; those that intervals do not settle are claims of their own."""
    sizes = Sizes(program)
    try:
        beyond = list(sizes.beyond())
    except KeyError as missing:
        yield Open(f"index variable {missing} is not defined")
        return
    yield Shown("evaluation", f"{len(sizes.known)} indices in int")
    for index in dict.fromkeys(beyond):
        yield _fits(program, sizes.ranges, index)
    for address, lanes, guard in dict.fromkeys(_vectors(program)):
        yield _aligned(program, sizes.ranges, address, lanes, guard)


def _vectors(program: lir.Program) -> Iterator[tuple[Sint, int, Sint]]:
    """Address, lanes and guard of each access of several elements."""
    for statement in lir.nested(program.body):
        match statement:
            case lir.Define(_, lir.LoadGlobal(_, address, guard, _, lanes)) if lanes > 1:
                yield address, lanes, guard
            case lir.StoreGlobal(_, address, guard, _, lanes) if lanes > 1:
                yield address, lanes, guard
            case _:
                continue


@dataclass(slots=True)
class Sizes:
    """The interval of every index variable and of every part of an index."""

    program: lir.Program
    ranges: dict[str, Interval] = field(default_factory=dict)
    known: dict[Expr, Interval] = field(default_factory=dict)

    def beyond(self) -> Iterator[Expr]:
        """The parts of indices in int that may leave 32 bits. Raises: KeyError."""
        program = self.program
        self.ranges.update((var.name, bounds(var)) for var in program.variables)
        for name, count in zip(lir.GROUP_IDS, program.groups, strict=True):
            self.ranges[name] = 0, max(0, bounds(count)[1] - 1)
        for name, count in zip(lir.LOCAL_IDS, program.local, strict=True):
            self.ranges[name] = 0, count - 1
        for statement in lir.nested(program.body):
            match statement:
                case lir.Loop(variable, extent):
                    self.ranges[variable.name] = 0, max(0, self.of(extent)[1] - 1)
                case lir.DefineIndex(variable, value):
                    self.ranges[variable.name] = self.of(value)
            for index in lir.indices(statement):
                if isinstance(index, Expr) and index not in program.wide:
                    yield from self._parts_beyond(index)

    def _parts_beyond(self, index: Expr) -> Iterator[Expr]:
        low, high = self.of(index)
        if low < LEAST or high > MOST:
            yield index
        if isinstance(index, Binary):
            yield from self._parts_beyond(index.left)
            yield from self._parts_beyond(index.right)

    def of(self, index: Sint) -> Interval:
        """The interval of an index."""
        if isinstance(index, int):
            return index, index
        if index not in self.known:
            self.known[index] = self._of(index)
        return self.known[index]

    def _of(self, index: Expr) -> Interval:
        match index:
            case Int(value):
                return value, value
            case Var(name):
                return self.ranges[name]
            case Binary(op, left, right):
                return _of_op(op, self.of(left), self.of(right))
        raise AssertionError(f"not an index expression: {index!r}")


def _of_op(op: IndexOp, left: Interval, right: Interval) -> Interval:
    match op:
        case IndexOp.ADD:
            return left[0] + right[0], left[1] + right[1]
        case IndexOp.MUL:
            ends = [a * b for a in left for b in right]
            return min(ends), max(ends)
        case IndexOp.LT | IndexOp.AND:
            return 0, 1
        case IndexOp.FLOORDIV if right[0] > 0:
            ends = [a // b for a in left for b in right]
            return min(ends), max(ends)
        case IndexOp.MOD if right[0] > 0:
            return (0, min(left[1], right[1] - 1)) if left[0] >= 0 else (0, right[1] - 1)
        case _:
            # Whatever the sign of a divisor, the results are no larger than the operands.
            most = max(map(abs, (*left, *right)))
            return -most, most


def _fits(program: lir.Program, ranges: Mapping[str, Interval], index: Expr) -> Everywhere:
    """One index as a claim over its variables."""
    axes = _axes(program, index)
    names, box = _box(axes, ranges)

    def facts(point: Point, lift: Lift) -> list[Fact]:
        value = at(index, names(point), lift)
        return [Fact("fits int", True, (value >= LEAST) & (value < MOST + 1), True)]

    return Everywhere(f"index {index}", box, program.variables, magnitude(index), facts)


def _aligned(
    program: lir.Program, ranges: Mapping[str, Interval], address: Sint, lanes: int, guard: Sint
) -> Everywhere:
    """A vector's first element, as a claim over its variables."""
    axes = _axes(program, address, guard)
    names, box = _box(axes, ranges)

    def facts(point: Point, lift: Lift) -> list[Fact]:
        named = names(point)
        where = True if guard == 1 else at(guard, named, lift) > 0
        return [Fact("aligned", where, at(address, named, lift) % lanes, 0)]

    reach = max(magnitude(address), magnitude(guard))
    return Everywhere(f"vector at {address}", box, program.variables, reach, facts)


def _box(
    axes: Sequence[Var], ranges: Mapping[str, Interval]
) -> tuple[Callable[[Point], dict[str, Any]], tuple[int, ...]]:
    """The variables at a point of a box, which counts from 0, and the box."""
    lows = [ranges[var.name][0] for var in axes]

    def names(point: Point) -> dict[str, Any]:
        return {
            var.name: x + low if low else x for var, x, low in zip(axes, point, lows, strict=True)
        }

    return names, tuple(ranges[var.name][1] - ranges[var.name][0] + 1 for var in axes)


def _axes(program: lir.Program, *values: Sint) -> list[Var]:
    """The variables of expressions but for symbols."""
    names = {var.name for var in program.variables}
    found = ordered({var for value in values for var in variables(value)})
    return [var for var in found if var.name not in names]
