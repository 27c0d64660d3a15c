"""The axis map: the law of an opt, axes after -> axes before.

Read `AxisMap.apply` first: it alone says what a map means. This is route two of an opt's two
routes: made from the same step as the movement ops, by other code; proving that the two agree is
what the project is for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, assert_never

from kernelref.ir.index import Sint, simplify
from kernelref.opt.rules.step import Pad, Split, Step


@dataclass(frozen=True, slots=True)
class LinearSum:
    """constant + sum of coefficient * point[axis] over `terms` of (axis, coefficient)."""

    terms: tuple[tuple[int, Sint], ...]
    constant: Sint = 0

    def at(self, point: Sequence[Any]) -> Any:
        """The value at a point: ints, index expressions, or numpy arrays that broadcast."""
        value: Any = self.constant
        for axis, coefficient in self.terms:
            value = value + point[axis] * coefficient
        return value


@dataclass(frozen=True, slots=True)
class AxisMap:
    """Where each point after an opt lies among the points before it.

    Shapes: `after` and `before` are extents; `sums` has one LinearSum over the axes after for each
    axis before; `guard` holds (sum over the axes after, limit): a point is real, not padding, when
    each sum is below its limit.
    """

    after: tuple[Sint, ...]
    before: tuple[Sint, ...]
    sums: tuple[LinearSum, ...]
    guard: tuple[tuple[LinearSum, Sint], ...] = ()

    def apply(self, point: Sequence[Any]) -> tuple[tuple[Any, ...], Any]:
        """The point before, and whether the point after is real; ints, or numpy arrays.

        Law: before[a] = sums[a] at the point; real = every guard's sum < its limit.
        """
        real: Any = True
        for total, limit in self.guard:
            real = real & (total.at(point) < limit)
        return tuple(total.at(point) for total in self.sums), real

    def then(self, later: AxisMap) -> AxisMap:
        """One map for two opts: `later` is the map of the opt that came after this one's."""
        if later.before != self.after:
            raise AssertionError(f"maps do not meet: {later.before} and {self.after}")
        sums = tuple(_compose(total, later.sums) for total in self.sums)
        guard = tuple((_compose(total, later.sums), limit) for total, limit in self.guard)
        return AxisMap(later.after, self.before, sums, guard + later.guard)


def identity(extents: Sequence[Sint]) -> AxisMap:
    """The map that changes nothing."""
    sums = tuple(LinearSum(((i, 1),)) for i in range(len(extents)))
    return AxisMap(tuple(extents), tuple(extents), sums)


def step_map(extents: Sequence[Sint], step: Step) -> AxisMap:
    """The law of one step on axes of these extents; axes of extent 1 after it are left out."""
    match step:
        case Split():
            return _split_map(tuple(extents), step)
        case Pad():
            return _pad_map(tuple(extents), step)
        case _:
            assert_never(step)


def steps_map(extents: Sequence[Sint], steps: Sequence[Step]) -> AxisMap:
    """The law of several steps in a row."""
    total = identity(extents)
    for step in steps:
        total = total.then(step_map(total.after, step))
    return total


def merge_map(extents: Sequence[Sint], groups: Sequence[Sequence[int]]) -> AxisMap:
    """Merging runs of axes, told from the finer side: the unmerged axes are `after` here.

    Law: merged = (...(first * n2 + second) * n3 + third...), row-major over the run.
    """
    sums = []
    for group in groups:
        weight: Sint = 1
        terms: list[tuple[int, Sint]] = []
        for axis in reversed(group):
            terms.append((axis, weight))
            weight = weight * extents[axis]
        sums.append(LinearSum(tuple(terms)))
    before: list[Sint] = []
    for group in groups:
        size: Sint = 1
        for axis in group:
            size = size * extents[axis]
        before.append(size)
    return AxisMap(tuple(extents), tuple(before), tuple(sums))


def _compose(total: LinearSum, inner: Sequence[LinearSum]) -> LinearSum:
    constant: Sint = total.constant
    terms: dict[int, Sint] = {}
    for axis, coefficient in total.terms:
        constant = constant + inner[axis].constant * coefficient
        for leaf, step in inner[axis].terms:
            terms[leaf] = terms.get(leaf, 0) + step * coefficient
    return LinearSum(tuple(terms.items()), constant)


def _split_map(extents: tuple[Sint, ...], step: Split) -> AxisMap:
    """Name the axes after, in order; the split axis is a sum over its two names."""
    rest = simplify(extents[step.axis] // step.amount)
    moved = len(extents)
    names = list(range(len(extents)))
    names.insert(step.place, moved)
    sizes = (*extents[: step.axis], rest, *extents[step.axis + 1 :], step.amount)
    alive = [name for name in names if sizes[name] != 1]
    weights: dict[int, Sint] = {moved: 1, step.axis: step.amount}
    if step.outer:
        weights = {moved: rest, step.axis: 1}
    sums = []
    for axis in range(len(extents)):
        parts = weights if axis == step.axis else {axis: 1}
        sums.append(LinearSum(tuple((alive.index(p), parts[p]) for p in parts if p in alive)))
    return AxisMap(tuple(sizes[name] for name in alive), extents, tuple(sums))


def _pad_map(extents: tuple[Sint, ...], step: Pad) -> AxisMap:
    """Every axis passes on; the padded one is real below its extent before."""
    extent = extents[step.axis]
    if not isinstance(extent, int):
        raise AssertionError(f"padding a symbolic extent {extent!r}")
    total = extent + -extent % step.multiple
    after = (*extents[: step.axis], total, *extents[step.axis + 1 :])
    guard = ((LinearSum(((step.axis, 1),)), extent),)
    return AxisMap(after, extents, identity(extents).sums, guard)
