"""The obligations of a step, as claims. DESIGN: bijection, index, reduction, coverage, bounds.

`padding` is in `padding`, `domain` and `races` are in `domain` and `races`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kernelref.ir.ast import Constant, Load, Store
from kernelref.ir.dtype import DType
from kernelref.ir.index import Sint, bounds, product
from kernelref.opt.axis import REDUCES
from kernelref.opt.axismap import AxisMap, LinearSum
from kernelref.prove.claim import Everywhere, Fact, Lift, OneToOne, Point
from kernelref.prove.step import Access, Side, Step, lifted_map, reach_of, size_of, symbols_of
from kernelref.prove.verdict import Part


@dataclass(frozen=True, slots=True)
class Factor:
    """Axes that a map relates to each other and to no others: it is the product of its factors."""

    fine: tuple[int, ...]
    coarse: tuple[int, ...]
    guard: tuple[tuple[LinearSum, Sint], ...]


def factors(axis_map: AxisMap) -> tuple[Factor, ...]:
    """The factors of a map: connected axes, where a sum connects what it mentions."""
    links: list[tuple[set[int], set[int]]] = []
    for i, total in enumerate(axis_map.sums):
        links.append(({axis for axis, _ in total.terms}, {i}))
    links += [({axis for axis, _ in total.terms}, set()) for total, _ in axis_map.guard]
    links += [({axis}, set()) for axis in range(len(axis_map.after))]
    groups: list[tuple[set[int], set[int]]] = []
    for fine, coarse in links:
        apart = []
        for group in groups:
            if group[0] & fine:
                fine, coarse = fine | group[0], coarse | group[1]
            else:
                apart.append(group)
        groups = [*apart, (fine, coarse)]
    return tuple(
        Factor(
            tuple(sorted(fine)),
            tuple(sorted(coarse)),
            tuple(pair for pair in axis_map.guard if {axis for axis, _ in pair[0].terms} & fine),
        )
        for fine, coarse in sorted(groups, key=lambda group: min(group[0] | group[1], default=0))
    )


def bijection(step: Step) -> Iterator[Part]:
    """The map is one-to-one from guarded points of the fine side onto all points of the coarse.

    A product of maps is one-to-one and onto when each of its factors is.
    """
    yield _same_extents(step)
    for factor in factors(step.map):
        yield from _factor_claims(step, factor)


def _same_extents(step: Step) -> Everywhere:
    """The map is between the axes that the two sides have."""
    mine = (*step.map.after, *step.map.before)
    theirs = (*step.fine.extents, *step.coarse.extents)
    counts = (len(step.map.after), len(step.map.before))
    wanted = (len(step.fine.extents), len(step.coarse.extents))

    def facts(_: Point, lift: Lift) -> list[Fact]:
        found = [
            Fact("number of axes", True, mine_count, count)
            for mine_count, count in zip(counts, wanted, strict=True)
        ]
        if counts == wanted:
            found += [
                Fact("extent of an axis", True, lift(a), lift(b))
                for a, b in zip(mine, theirs, strict=True)
            ]
        return found

    return Everywhere("axes", (), step.symbols, 1 << 40, facts)


def _factor_claims(step: Step, factor: Factor) -> Iterator[Part]:
    """Guarded points of a factor lie within the axes before, one on each of their points."""
    axis_map = step.map
    box = tuple(axis_map.after[axis] for axis in factor.fine)
    before = tuple(axis_map.before[axis] for axis in factor.coarse)
    subject = f"axes {list(factor.fine)} -> {list(factor.coarse)}"

    def image(point: Point, lift: Lift) -> tuple[Any, list[Any]]:
        at: list[Any] = [0] * len(axis_map.after)
        for axis, coordinate in zip(factor.fine, point, strict=True):
            at[axis] = coordinate
        law = lifted_map(axis_map, lift)
        real: Any = True
        for total, limit in _guards_in(law, factor):
            real = real & (total.at(at) < limit)
        whole, _ = law.apply(at)
        return real, [whole[axis] for axis in factor.coarse]

    def facts(point: Point, lift: Lift) -> list[Fact]:
        real, coordinates = image(point, lift)
        limits = [lift(extent) for extent in before]
        return [
            Fact(f"axis {axis} before", real, (x >= 0) & (x < n), True)
            for axis, x, n in zip(factor.coarse, coordinates, limits, strict=True)
        ]

    def key(point: Point, lift: Lift) -> tuple[Any, Any]:
        real, coordinates = image(point, lift)
        flat: Any = 0
        for x, extent in zip(coordinates, before, strict=True):
            flat = flat * lift(extent) + x
        return real, flat

    size = math.prod(bounds(n)[1] for n in (*box, *before)) * _overshoot(axis_map)
    if len(factor.coarse) > 1:
        # Of one axis the key's own range says it.
        yield Everywhere(subject, box, step.symbols, max(1, size), facts)
    yield OneToOne(subject, box, step.symbols, max(1, size), key, product(before))


def _guards_in(law: AxisMap, factor: Factor) -> Iterator[tuple[LinearSum, Any]]:
    fine = set(factor.fine)
    return (pair for pair in law.guard if {axis for axis, _ in pair[0].terms} & fine)


def index(step: Step) -> Iterator[Part]:
    """For every buffer and point: valid on the fine side exactly where the point is real and its
    image valid, and the same address there."""
    yield leaves(step)
    alike: dict[tuple[Access, Access], list[int]] = {}
    for number, pair in enumerate(zip(step.fine.accesses, step.coarse.accesses, strict=True)):
        alike.setdefault(pair, []).append(number)
    for pair, numbers in alike.items():
        yield index_claim(step, spelled(numbers), *pair)


def spelled(numbers: Sequence[int]) -> str:
    """Buffers that one claim is about."""
    return f"buffer {', '.join(map(str, numbers))}"


def leaves(step: Step) -> Everywhere:
    """Every leaf of the AST is served by a buffer of its memory, dtype and views."""
    if not step.is_construction:
        return Everywhere("leaves", (), (), 1, lambda _, __: [])
    found: list[Fact] = []
    for node, number in step.index.items():
        if isinstance(node, Store | Load | Constant):
            same = step.fine.accesses[number].st.views == node.st.views
            found.append(Fact(f"views of buffer {number}", True, int(same), 1))
        if isinstance(node, Store | Load):
            held = step.buffers[number]
            same = not isinstance(held, Constant) and _memory(held) == _memory(node)
            found.append(Fact(f"memory of buffer {number}", True, int(same), 1))
    return Everywhere("leaves", (), (), 1, lambda _, __: found)


def _memory(node: Store | Load) -> tuple[int, DType]:
    return node.buffer, node.dtype


def index_claim(step: Step, subject: str, fine: Access, coarse: Access) -> Everywhere:
    """The index obligation of one buffer, on the axes along which it varies on either side."""
    along = {axis for i in coarse.axes for axis, _ in step.map.sums[i].terms} | fine.axes
    box = tuple(n if axis in along else 1 for axis, n in enumerate(step.fine.extents))

    def facts(point: Point, lift: Lift) -> list[Fact]:
        image, real = lifted_map(step.map, lift).apply(point)
        found, valid = fine.address(point, lift)
        expected, was_valid = coarse.address(image, lift)
        holds = real & was_valid
        return [
            *_extent_facts(step.fine, fine, lift),
            *_extent_facts(step.coarse, coarse, lift),
            Fact("valid", True, valid, holds),
            Fact("address", valid & holds, found, expected),
        ]

    reach = reach_of((fine.st, coarse.st)) * _overshoot(step.map)
    return Everywhere(subject, box, step.symbols, reach, facts)


def _overshoot(axis_map: AxisMap) -> int:
    """How many times beyond an axis before a point after may lie: padding reaches further."""
    most = 1
    for total, extent in zip(axis_map.sums, axis_map.before, strict=True):
        reach = size_of(total.constant)
        reach += sum(size_of(c) * size_of(axis_map.after[axis]) for axis, c in total.terms)
        most = max(most, 1 + reach // max(1, bounds(extent)[0]))
    return most


def _extent_facts(side: Side, access: Access, lift: Lift) -> list[Fact]:
    """A dim that follows an axis has the axis's extent."""
    return [
        Fact("extent of a buffer", True, lift(n), lift(side.extents[axis]))
        for n, axis in zip(access.st.shape, access.reads, strict=True)
        if axis is not None and n != side.extents[axis]
    ]


def reduction(step: Step) -> Iterator[Part]:
    """With the output point fixed, each reduction's fibre maps one-to-one onto its fibre before.

    A factor is a bijection, so a fibre is a product of whole factors: those of which both sides sum
    over every axis. A factor that is summed in part is one whose points a fibre mixes.
    """
    parts = factors(step.map)
    for number in range(len(step.reduces)):
        fine, coarse = step.fine.sums[number], step.coarse.sums[number]
        wrong: list[Fact] = []
        for factor in parts:
            is_summed = bool(coarse & set(factor.coarse))
            for axis in factor.fine:
                if step.fine.extents[axis] != 1:
                    says = f"whether axis {axis} is summed"
                    wrong.append(Fact(says, True, int(axis in fine), int(is_summed)))
            for axis in factor.coarse:
                says = f"whether axis {axis} before is summed"
                wrong.append(Fact(says, True, int(axis in coarse), int(is_summed)))
        wrong += _type_facts(step.after, step.after.sums[number])
        yield _constant_claim(f"reduction {number}", wrong)


def _type_facts(side: Side, sums: Iterable[int]) -> list[Fact]:
    """An axis that is summed is one that is run as summed."""
    return [
        Fact(f"axis {axis} is run as summed", True, int(side.types[axis] in REDUCES), 1)
        for axis in sums
        if side.types
    ]


def _constant_claim(subject: str, facts: Sequence[Fact]) -> Everywhere:
    return Everywhere(subject, (), (), 1, lambda _, __: facts)


def coverage(step: Step) -> Iterator[Part]:
    """Every output element is stored exactly once.

    No two points of the output's axes store one element, and those axes are all that are not
    summed. That as many elements are stored as before follows from bijection and index.
    """
    side = step.after
    for number in step.outputs:
        access = side.accesses[number]
        kept = [axis for axis, kind in enumerate(side.types) if kind not in REDUCES]
        axes = sorted(access.axes)
        facts = [
            Fact(f"whether axis {axis} is stored along", True, int(axis in axes), int(axis in kept))
            for axis in range(len(side.extents))
            if side.extents[axis] != 1
        ]
        yield _constant_claim(f"axes of output {number}", facts)
        yield stored_once(f"output {number}", side, access)


def stored_once(subject: str, side: Side, access: Access) -> OneToOne:
    """No two points store one element."""
    box = tuple(n if axis in access.axes else 1 for axis, n in enumerate(side.extents))

    def key(point: Point, lift: Lift) -> tuple[Any, Any]:
        address, valid = access.address(point, lift)
        return valid, address

    return OneToOne(subject, box, symbols_of(side), reach_of((access.st,)), key)


def bounds_of(step: Step, elements: Mapping[int, Sint]) -> Iterator[Part]:
    """Every valid address lies in its buffer. Units: `elements` counts elements by buffer."""
    alike: dict[tuple[Access, Sint], list[int]] = {}
    for number, access in enumerate(step.after.accesses):
        if number in elements:
            alike.setdefault((access, elements[number]), []).append(number)
    for (access, size), numbers in alike.items():
        yield _inside_claim(step, spelled(numbers), access, size)


def _inside_claim(step: Step, subject: str, access: Access, size: Sint) -> Everywhere:
    side = step.after
    box = tuple(n if axis in access.axes else 1 for axis, n in enumerate(side.extents))

    def facts(point: Point, lift: Lift) -> list[Fact]:
        address, valid = access.address(point, lift)
        return [Fact("inside", valid, (address >= 0) & (address < lift(size)), True)]

    return Everywhere(subject, box, step.symbols, reach_of((access.st,)), facts)
