"""Parts of the obligation `bounds`: every access of the Program lies in its memory.

The text is walked with what stands around each statement: launch sizes, the extents of loops, index
definitions and conditions. Under all of these, and under an access's own guard, its address is one
of an element that its buffer, image or shared array has. Law: a condition that is left out makes
the claim stronger, so one that is not understood is left out, and each is taken by itself.

Intervals settle most accesses; what they leave is a claim over launch ids and loop variables, with
every definition written out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from kernelref.codegen import program as lir
from kernelref.ir.index import (
    Binary,
    Expr,
    IndexOp,
    Sint,
    Var,
    add,
    bounds,
    mul,
    polynomial,
    polynomial_sum,
    substitute,
    variables,
)
from kernelref.prove.claim import Everywhere, Fact, Lift, Point, ordered
from kernelref.prove.program.differences import magnitude
from kernelref.prove.program.widths import Interval, Sizes
from kernelref.prove.terms import at
from kernelref.prove.verdict import Open, Part, Shown


@dataclass(frozen=True, slots=True)
class Scope:
    """What stands around a statement.

    `free` are launch ids and loop variables with their extents, `defined` the values of index
    definitions, `conditions` what holds here, no two joined.
    """

    free: Mapping[str, Sint]
    defined: Mapping[str, Expr] = field(default_factory=dict)
    conditions: tuple[Binary, ...] = ()


@dataclass(slots=True)
class Reach:
    """Accesses of one memory whose addresses differ by constants: from `least` to `most`."""

    says: str
    elements: Sint
    base: Sint
    scope: Scope
    least: int
    most: int


def inside(program: lir.Program) -> Iterator[Part]:
    """The accesses of a Program; those that intervals do not settle are claims of their own."""
    reaches = _Accesses(program)
    try:
        reaches.walk(program.body, Scope(_launch(program)))
        left = [reach for reach in reaches.found.values() if not _settled(program, reach)]
    except _NotKnown as reason:
        yield Open(str(reason))
        return
    yield Shown("evaluation", f"{len(reaches.found)} places of accesses")
    for reach in left:
        yield _claim(program, reach)


class _NotKnown(Exception):  # noqa: N818 - the answer of an analysis
    """What the text does not say."""


def _launch(program: lir.Program) -> dict[str, Sint]:
    ids = (*lir.GROUP_IDS, *lir.LOCAL_IDS)
    return dict(zip(ids, (*program.groups, *program.local), strict=True))


class _Accesses:
    """The walk over the text."""

    def __init__(self, program: lir.Program) -> None:
        self.sizes: dict[str, Sint] = {array.name: array.elements for array in program.shared}
        for buffer in program.buffers:
            self.sizes[buffer.name] = _elements(buffer)
        self.symbols = {var.name for var in program.variables}
        self.found: dict[tuple[object, ...], Reach] = {}

    def walk(self, body: Iterable[lir.Statement], scope: Scope) -> None:
        """A block: what is defined in it ends with it."""
        for statement in body:
            match statement:
                case lir.DefineIndex(variable, value):
                    self.unused(scope, variable)
                    scope = replace(scope, defined={**scope.defined, variable.name: value})
                case lir.Loop(variable, extent, inner):
                    self.unused(scope, variable)
                    free = {**scope.free, variable.name: extent}
                    self.walk(inner, replace(scope, free=free))
                case lir.Guarded(condition, inner):
                    self.walk(inner, _under(scope, condition))
                case lir.Define(_, value) | lir.Assign(_, value):
                    self.load(value, scope)
                case lir.StoreGlobal(name, address, guard, _, lanes):
                    self.note(f"store to {name}", name, address, lanes, _under(scope, guard), guard)
                case lir.StoreShared(name, address, _, lanes):
                    self.note(f"store to {name}", name, address, lanes, scope)
                case lir.Barrier():
                    continue

    def unused(self, scope: Scope, variable: Var) -> None:
        """A name says one thing at a time."""
        if variable.name in scope.free or variable.name in scope.defined:
            raise _NotKnown(f"two index variables are called {variable}")

    def load(self, value: lir.ProgramValue, scope: Scope) -> None:
        """What a value reads."""
        match value:
            case lir.LoadGlobal(name, address, guard, _, lanes):
                self.note(f"load of {name}", name, address, lanes, _under(scope, guard), guard)
            case lir.LoadShared(name, address, _, lanes):
                self.note(f"load of {name}", name, address, lanes, scope)
            case _:
                return

    def note(
        self, says: str, name: str, address: Sint, lanes: int, scope: Scope, guard: Sint = 1
    ) -> None:
        """An access, with those at a fixed distance from it."""
        if guard == 0:
            return
        if name not in self.sizes:
            raise _NotKnown(f"{name} is not declared")
        terms = polynomial(address)
        constant = sum(c for monomial, c in terms if not monomial)
        base = polynomial_sum((monomial, c) for monomial, c in terms if monomial)
        for var in variables(base):
            if var.name not in {*scope.free, *scope.defined, *self.symbols}:
                raise _NotKnown(f"{var} is not defined")
        key = says, base, scope.conditions, id(scope.free), id(scope.defined)
        known = self.found.setdefault(
            key, Reach(says, self.sizes[name], base, scope, constant, constant)
        )
        known.least = min(known.least, constant)
        known.most = max(known.most, constant + lanes - 1)


def _elements(buffer: lir.BufferArgument) -> Sint:
    """What a buffer holds; of an image no more than its texels."""
    texels, elements = buffer.dtype.image, buffer.elements
    if texels is None or isinstance(elements, Expr):
        return elements
    return min(elements, math.prod(texels))


def _under(scope: Scope, condition: Sint) -> Scope:
    """The scope of what a condition guards."""
    more = tuple(_parts(condition))
    return replace(scope, conditions=(*scope.conditions, *more)) if more else scope


def _parts(condition: Sint) -> Iterator[Binary]:
    """The comparisons that a condition is made of."""
    match condition:
        case Binary(IndexOp.AND, left, right):
            yield from _parts(left)
            yield from _parts(right)
        case Binary(IndexOp.LT):
            yield condition
        case _:
            return


# What intervals say.


def _settled(program: lir.Program, reach: Reach) -> bool:
    """Whether the interval of the address lies in the memory."""
    sizes = Sizes(program)
    for var in program.variables:
        sizes.ranges[var.name] = bounds(var)
    scope = reach.scope
    pending = {*scope.free, *scope.defined} & _names(scope, reach.base)
    # A loop's extent may be an index that is defined around it, and the other way round.
    for _ in range(len(pending)):
        for name in sorted(pending):
            of = scope.free.get(name, scope.defined.get(name, 0))
            if all(var.name in sizes.ranges for var in variables(of)):
                low, high = sizes.of(of)
                sizes.ranges[name] = (0, high - 1) if name in scope.free else (low, high)
                pending.discard(name)
    if pending:
        raise _NotKnown(f"{', '.join(sorted(pending))}: defined by itself")
    limits = _limits(sizes, scope.conditions)
    if limits is None or any(low > high for low, high in sizes.ranges.values()):
        return True
    low, high = _narrowed(sizes, reach.base, limits)
    least = bounds(reach.elements)[0] if isinstance(reach.elements, Expr) else reach.elements
    return low + reach.least >= 0 and high + reach.most < least


def _names(scope: Scope, base: Sint) -> set[str]:
    """The index variables that an address and the conditions over it depend on."""
    found: set[str] = set()
    pending = [var.name for part in (base, *scope.conditions) for var in variables(part)]
    while pending:
        name = pending.pop()
        if name in found:
            continue
        found.add(name)
        of = scope.free.get(name, scope.defined.get(name))
        if of is not None:
            pending += [var.name for var in variables(of)]
    return found


def _limits(sizes: Sizes, conditions: Sequence[Binary]) -> dict[Sint, int] | None:
    """What conditions say: single variables are narrowed at once, of a sum its most is told.

    None: no point is left.
    """
    limits: dict[Sint, int] = {}
    for condition in conditions:
        terms = polynomial(add(condition.left, mul(condition.right, -1)))
        constant = sum(c for monomial, c in terms if not monomial)
        rest = [(monomial, c) for monomial, c in terms if monomial]
        most = -constant - 1
        match rest:
            case []:
                if most < 0:
                    return None
            case [((Var(name),), c)] if name in sizes.ranges:
                low, high = sizes.ranges[name]
                if c > 0:
                    high = min(high, most // c)
                else:
                    low = max(low, -(most // -c))
                if low > high:
                    return None
                sizes.ranges[name] = low, high
            case _:
                total = polynomial_sum(rest)
                limits[total] = min(most, limits.get(total, most))
    # What was computed before is of wider ranges.
    sizes.known.clear()
    return limits


def _narrowed(sizes: Sizes, base: Sint, limits: Mapping[Sint, int]) -> Interval:
    """The interval of an address: what is a multiple of a sum has the sum's limits."""
    low, high = sizes.of(base)
    terms = dict(polynomial(base))
    for total, most in limits.items():
        part = polynomial(total)
        factor = terms.get(part[0][0], 0) // part[0][1]
        if not factor or any(terms.get(monomial) != factor * c for monomial, c in part):
            continue
        rest = sizes.of(add(base, mul(total, -factor)))
        opposite = limits.get(mul(total, -1))
        least = sizes.of(total)[0] if opposite is None else -opposite
        ends = [rest[0] + factor * least, rest[1] + factor * most]
        if factor < 0:
            ends = [rest[0] + factor * most, rest[1] + factor * least]
        low, high = max(low, ends[0]), min(high, ends[1])
    return low, high


# What is left.


def _claim(program: lir.Program, reach: Reach) -> Everywhere:
    """An access as a claim over launch ids and loop variables."""
    text = _Written(reach.scope, {var.name for var in program.variables})
    address = text.of(reach.base)
    sides = [(text.of(c.left), text.of(c.right)) for c in reach.scope.conditions]
    sides += text.shorter
    axes = sorted(text.box)

    def facts(point: Point, lift: Lift) -> list[Fact]:
        named = dict(zip(axes, point, strict=True))
        where: Any = True
        for left, right in sides:
            where = (at(left, named, lift) < at(right, named, lift)) & where
        place, size = at(address, named, lift), lift(reach.elements)
        first, last = place + reach.least, place + reach.most
        return [
            Fact(f"element {_told(first)} is 0 or more", where, first >= 0, True),
            Fact(f"element {_told(last)} of {_told(size)} exists", where, last < size, True),
        ]

    parts = (address, *(side for pair in sides for side in pair), reach.elements)
    most = max(map(magnitude, parts)) + max(abs(reach.least), abs(reach.most))
    subject = f"{reach.says} at {add(reach.base, reach.least)} with {', '.join(axes)}"
    box = tuple(text.box[name] for name in axes)
    return Everywhere(subject, box, ordered(program.variables), most, facts)


class _Written:
    """Indices written over launch ids and loop variables alone, with the extents of these.

    A loop may be of another length in another work-item: then `shorter` says how far it goes.
    """

    def __init__(self, scope: Scope, symbols: set[str]) -> None:
        self.scope = scope
        self.symbols = symbols
        self.known: dict[str, Sint] = {}
        self.box: dict[str, Sint] = {}
        self.shorter: list[tuple[Sint, Sint]] = []

    def of(self, value: Sint) -> Sint:
        """An index with its definitions written out."""
        names = {var.name for var in variables(value)} - self.symbols
        return substitute(value, {name: self.variable(name) for name in names})

    def variable(self, name: str) -> Sint:
        """What stands for a variable."""
        if name not in self.known:
            self.known[name] = self._variable(name)
        return self.known[name]

    def _variable(self, name: str) -> Sint:
        if name in self.scope.defined:
            return self.of(self.scope.defined[name])
        extent = most = self.of(self.scope.free[name])
        is_shorter = bool({var.name for var in variables(extent)} - self.symbols)
        if is_shorter:
            most = bounds(extent)[1]
        self.box[name] = most
        var = Var(name, 0, add(most, -1))
        if is_shorter:
            self.shorter.append((var, extent))
        return var


def _told(number: Any) -> str:
    """A number as it is replayed; a name for it where it stands for many."""
    return str(number) if isinstance(number, int) else "address"
