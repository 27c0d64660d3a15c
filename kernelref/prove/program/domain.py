"""The obligation `domain`: the iterations that the Program does are those the Kernel asks for.

The launch gives each point of the parallel axes to exactly one work-item, and with work-items at
symbolic coordinates the Program stores what the Kernel asks for: the same elements, each once, each
computed from the same elements by the same ops and over the same iterations.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from kernelref.codegen import program as lir
from kernelref.codegen.lower.launch import launch_of
from kernelref.codegen.target import Target
from kernelref.ir.ast import Constant
from kernelref.ir.index import Expr, Sint, Var, bounds, product, variables
from kernelref.opt.axis import GROUPS, LOCALS, AxisType
from kernelref.opt.kernel import Kernel
from kernelref.prove import digits
from kernelref.prove.claim import Everywhere, Fact, Lift, OneToOne, Point
from kernelref.prove.portfolio import Portfolio
from kernelref.prove.program.asked import Asked, Stored, coordinate
from kernelref.prove.program.differences import Unlike, equation_claim, form_claim, store_equations
from kernelref.prove.program.does import Done, Walk
from kernelref.prove.program.rerun import rerun
from kernelref.prove.program.values import NotModelled, Table
from kernelref.prove.step import side_of, symbols_of
from kernelref.prove.terms import at
from kernelref.prove.verdict import Failure, Open, Part, Plain, Readings, Witness

ATTEMPTS = 16
"""How many ways to read which loop runs over which axis are tried."""


@dataclass(frozen=True, slots=True)
class Entry:
    """How a Program starts: what it computes from launch ids, its guard, and the rest."""

    definitions: tuple[lir.DefineIndex, ...]
    guard: Sint
    body: tuple[lir.Statement, ...]


def entry_of(program: lir.Program) -> Entry:
    """The index definitions at its start, and the guard if all the rest stands under one."""
    count = 0
    while count < len(program.body) and isinstance(program.body[count], lir.DefineIndex):
        count += 1
    definitions = tuple(s for s in program.body[:count] if isinstance(s, lir.DefineIndex))
    match program.body[count:]:
        case (lir.Guarded(condition, body),) if _is_of_groups(condition, definitions):
            return Entry(definitions, condition, body)
        case rest:
            return Entry(definitions, 1, rest)


def _is_of_groups(condition: Expr, definitions: Sequence[lir.DefineIndex]) -> bool:
    """Whether a condition depends on the work-group alone, through what is defined at the start."""
    known = {d.variable.name: {var.name for var in variables(d.value)} for d in definitions}
    names = {name for var in variables(condition) for name in known.get(var.name, {var.name})}
    return bool(names) and names <= set(lir.GROUP_IDS)


def domain(
    kernel: Kernel, program: lir.Program, target: Target, portfolio: Portfolio
) -> Iterator[Part]:
    """The parts of the obligation."""
    entry = entry_of(program)
    given = launch_of(kernel, target).coordinates
    parallel = kernel.axes_of(AxisType.GLOBAL, *LOCALS, *GROUPS)
    names: dict[str, Sint] = {}
    for axis in parallel:
        standing = given[axis]
        if not isinstance(standing, Var):
            yield Open(f"axis {axis} stands at {standing}", is_unsupported=True)
            return
        names[standing.name] = coordinate(axis, kernel.full_shape[axis])
    yield from launch_claims(kernel, program, entry, {axis: given[axis] for axis in parallel})
    yield buffers_claim(kernel, program)
    symbols = symbols_of(side_of(kernel))

    def ways() -> Iterator[Sequence[Plain]]:
        table = Table()
        for parts in _readings(kernel, program, entry, names, table):
            if portfolio.has(digits.ENGINE):
                yield parts
            else:
                forms = [form_claim(value, form, symbols) for value, form in table.forms.items()]
                yield [*parts, *forms]

    def otherwise(why: Open) -> Failure | Open:
        shown = rerun(kernel, program)
        if isinstance(shown, Witness):
            return Failure(shown)
        return Open(f"{why.reason}; {shown}", why.is_unsupported)

    yield Readings(ways(), otherwise)


def _readings(
    kernel: Kernel, program: lir.Program, entry: Entry, names: dict[str, Sint], table: Table
) -> Iterator[Sequence[Plain]]:
    """What is left to prove, for each way to read which loop runs over which axis: where extents
    are equal a wrong reading compares terms that need not be equal."""
    try:
        asked = list(Asked(kernel, table).stores())
    except NotModelled as reason:
        yield [Open(str(reason), is_unsupported=True)]
        return
    for attempt in range(ATTEMPTS):
        guess = Guess(kernel, attempt)
        walk = Walk(program, table, names, _work_items(kernel), guess.axes_of)
        try:
            walk.run(entry.body)
        except NotModelled as reason:
            yield [Open(str(reason), is_unsupported=True)]
        else:
            yield compare(kernel, table, walk.stores, asked)
        if attempt + 1 >= guess.ways:
            break


def buffers_claim(kernel: Kernel, program: lir.Program) -> Everywhere:
    """Each buffer of the Program holds elements of the dtype that the AST says."""
    held = {buffer.number: buffer.dtype.storage for buffer in program.buffers}
    facts = [
        Fact(f"dtype of buffer {node.buffer}", True, int(held.get(node.buffer) == wanted), 1)
        for node in kernel.buffers
        if not isinstance(node, Constant)
        for wanted in [node.dtype.storage]
        if node.buffer in held
    ]
    return Everywhere("buffers", (), (), 1, lambda _, __: facts)


class Guess:
    """Which axes the loops run over; `attempt` chooses where extents leave several readings."""

    def __init__(self, kernel: Kernel, attempt: int) -> None:
        rows = [
            [axis for axis in kernel.axes_of(AxisType.REDUCE) if row[axis]]
            for row in kernel.iterates
        ]
        self.rows = [list(axes) for axes in dict.fromkeys(map(tuple, rows))]
        self.extents = kernel.full_shape
        self.attempt = attempt
        self.ways = 1

    def axes_of(self, extents: Sequence[Sint]) -> Sequence[int]:
        """The axes of loops in each other of these extents."""
        fitting = [row for row in self.rows if [self.extents[a] for a in row] == list(extents)]
        if not fitting:
            raise NotModelled(f"no reduction runs over {list(extents)}")
        chosen = fitting[self.attempt // self.ways % len(fitting)]
        self.ways *= len(fitting)
        return chosen


def _work_items(kernel: Kernel) -> list[Var]:
    axes = kernel.axes_of(*LOCALS, *GROUPS)
    found = [coordinate(axis, kernel.full_shape[axis]) for axis in axes]
    return [var for var in found if isinstance(var, Var)]


def launch_claims(
    kernel: Kernel, program: lir.Program, entry: Entry, coordinates: dict[int, Sint]
) -> Iterator[Part]:
    """Each work-item stands at a point of the parallel axes, and no two at the same."""
    ids = (*lir.GROUP_IDS, *lir.LOCAL_IDS)
    extents = kernel.full_shape

    def standing(point: Point, lift: Lift) -> tuple[Any, list[Any]]:
        named: dict[str, Any] = dict(zip(ids, point, strict=True))
        for definition in entry.definitions:
            named[definition.variable.name] = at(definition.value, named, lift)
        where = True if entry.guard == 1 else at(entry.guard, named, lift) > 0
        return where, [at(stands, named, lift) for stands in coordinates.values()]

    def facts(point: Point, lift: Lift) -> list[Fact]:
        where, stands = standing(point, lift)
        limits = [lift(extents[axis]) for axis in coordinates]
        return [
            Fact(f"work-item on axis {axis}", where, (x >= 0) & (x < n), True)
            for axis, x, n in zip(coordinates, stands, limits, strict=True)
        ]

    def key(point: Point, lift: Lift) -> tuple[Any, Any]:
        where, stands = standing(point, lift)
        flat: Any = 0
        for axis, x in zip(coordinates, stands, strict=True):
            flat = flat * lift(extents[axis]) + x
        return where, flat

    symbols = symbols_of(side_of(kernel))
    box = (*program.groups, *program.local)
    onto = product(extents[axis] for axis in coordinates)
    reach = max(1, math.prod(bounds(n)[1] for n in (*box, onto)))
    yield Everywhere("launch", box, symbols, reach, facts)
    yield OneToOne("launch", box, symbols, reach, key, onto)


def compare(
    kernel: Kernel, table: Table, done: Sequence[Done], asked: Sequence[Stored]
) -> Sequence[Plain]:
    """Whether the stores carried out are those asked for: what is left to prove."""
    for store in done:
        wrong = _wrong_count(kernel, store)
        if wrong is not None:
            return [wrong]
    does, asks = Counter(store.stored for store in done), Counter(asked)
    extra, lacking = list((does - asks).elements()), list((asks - does).elements())
    try:
        left = store_equations(table, extra, lacking)
    except Unlike as difference:
        return [Open(str(difference))]
    number = len(asked)
    same = Everywhere("stores", (), (), 1, lambda _, __: [Fact("stores", True, len(done), number)])
    return [same, *(equation_claim(e, symbols_of(side_of(kernel))) for e in left)]


def _wrong_count(kernel: Kernel, store: Done) -> Failure | None:
    """Of the work-items that share a result exactly one stores it."""
    sharing = {f"x.{axis}" for axis in kernel.axes_of(*GROUPS) if kernel.full_shape[axis] != 1}
    pinned = dict(store.pinned)
    for axis, extent in enumerate(kernel.full_shape):
        name = f"x.{axis}"
        found, wanted = extent, 1 if name in sharing else extent
        if name in pinned:
            found = pinned[name].high - pinned[name].low + 1
        if found != wanted:
            says = f"work-items along axis {axis} that store"
            return Failure(Witness(f"output {store.stored.buffer}", says, (), wanted, found))
    return None
