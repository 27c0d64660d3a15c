"""Which axis map leads from one stated kernel to the next: found, not believed.

A changed optimizer need not keep to the law of an opt to be right: it may split the other end off
an axis, or pad to another multiple. Any map under which every obligation holds shows that nothing
was lost, so a map is looked for among those that move one part of one axis, the opt's own law
first. A map that is found is a guess until it is proved; where none is, the law stays, and its
counterexample is what to show.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from kernelref.errors import KernelRefError
from kernelref.ir.index import Sint, bounds, evaluate
from kernelref.opt.axis import AxisType
from kernelref.opt.axismap import AxisMap, LinearSum, identity, merge_map, steps_map
from kernelref.opt.construct import construct
from kernelref.opt.extents import is_multiple
from kernelref.opt.kernel import Kernel
from kernelref.opt.opt import Opt, OptOps
from kernelref.opt.rules.apply import attempt
from kernelref.opt.rules.record import SwitchRule
from kernelref.opt.rules.request import Request
from kernelref.opt.rules.step import Pad, Split
from kernelref.opt.rules.step import Step as Move
from kernelref.opt.rules.table import RULES
from kernelref.prove.claim import lift_at
from kernelref.prove.obligations import index_claim
from kernelref.prove.step import law_step

SAMPLE = 64
"""Points at which a map is tried before anything is proved of it."""


@dataclass(frozen=True, slots=True)
class Law:
    """The map of one opt. `fits`: nothing spoke against it at the points tried."""

    map: AxisMap
    fits: bool


def construction_law(opened: Kernel) -> AxisMap | None:
    """How the AST's dims merged into the axes of a kernel without opts, read off its extents.

    Law: dims in order, those of extent 1 left out, in runs whose products are the extents. None
    where they are no such products, or where our construction breaks on the AST.
    """
    try:
        parts = construct(opened.ast, opened.rules)
    except KernelRefError:
        return None
    waiting = list(parts.order)
    groups: list[list[int]] = []
    for extent in opened.full_shape:
        group: list[int] = []
        size: Sint = 1
        while size != extent and waiting:
            group.append(waiting.pop(0))
            size = size * parts.dims[group[-1]]
        if size != extent:
            return None
        groups.append(group)
    return None if waiting else merge_map(parts.dims, groups)


def law_between(before: Kernel, after: Kernel, opt: Opt) -> Law | None:
    """The map from the axes after an opt to those before it; None when no shapes fit."""
    first: Law | None = None
    own = _own_moves(before, opt)
    for moves in _candidates(before, after, own):
        found = _placed(steps_map(before.full_shape, moves), after.full_shape)
        if found is None:
            continue
        if _holds(before, after, found):
            return Law(found, fits=True)
        if first is None:
            first = Law(found, fits=False)
    return first


def _own_moves(kernel: Kernel, opt: Opt) -> tuple[Move, ...] | None:
    """What the opt's record says that it does, whether or not it is permitted."""
    if opt.op is OptOps.TC:
        taken = attempt(kernel, opt)
        return taken[1] if isinstance(taken, tuple) else None
    request = Request.of(kernel, opt)
    amount = request.amount
    if isinstance(RULES[opt.op].family, SwitchRule):
        return ()
    if not request.has_extent or not isinstance(amount, int) or amount <= 1:
        return None
    step = request.step()
    if isinstance(step, Split) and not is_multiple(request.extent, amount):
        return None
    if isinstance(step, Pad) and not isinstance(request.extent, int):
        return None
    return None if step is None else (step,)


def _candidates(
    before: Kernel, after: Kernel, own: tuple[Move, ...] | None
) -> Iterator[tuple[Move, ...]]:
    """The opt's own moves, none at all, then every pad and every split that gives the extents."""
    wanted = [extent for extent in after.full_shape if extent != 1]
    if own is not None and _extents_after(before, own) == wanted:
        yield own
    if own != () and _extents_after(before, ()) == wanted:
        yield ()
    yield from (m for m in _paddings(before, wanted) if m != own)
    yield from (m for m in _splits(before, wanted) if m != own)


def _extents_after(kernel: Kernel, moves: Sequence[Move]) -> list[Sint]:
    return [n for n in steps_map(kernel.full_shape, moves).after if n != 1]


def _paddings(before: Kernel, wanted: Sequence[Sint]) -> Iterator[tuple[Move, ...]]:
    """Each longer axis padded to what it became."""
    extents = before.full_shape
    if len(wanted) != len(extents) or list(extents) == list(wanted):
        return
    moves: list[Move] = []
    for axis, (n, longer) in enumerate(zip(extents, wanted, strict=True)):
        if n == longer:
            continue
        if not isinstance(n, int) or not isinstance(longer, int) or longer < n:
            return
        moves.append(Pad(axis, longer))
    yield tuple(moves)


def _splits(before: Kernel, wanted: Sequence[Sint]) -> Iterator[tuple[Move, ...]]:
    """Every split of one axis, either end, moved anywhere, that gives these extents."""
    extents = before.full_shape
    amounts = sorted({n for n in wanted if isinstance(n, int)})
    for axis, extent in enumerate(extents):
        for amount in amounts:
            if not is_multiple(extent, amount):
                continue
            for outer in (False, True):
                for place in range(len(extents), -1, -1):
                    move = Split(axis, amount, place, AxisType.GLOBAL, outer)
                    if _extents_after(before, (move,)) == wanted:
                        yield (move,)


def _placed(found: AxisMap, extents: tuple[Sint, ...]) -> AxisMap | None:
    """The map over axes of which some have extent 1 still."""
    if found.after == extents:
        return found
    kept = [axis for axis, extent in enumerate(extents) if extent != 1]
    if [extents[axis] for axis in kept] != list(found.after):
        return None
    if len(kept) == len(extents):
        return found

    def moved(total: LinearSum) -> LinearSum:
        return LinearSum(tuple((kept[axis], c) for axis, c in total.terms), total.constant)

    guard = tuple((moved(total), limit) for total, limit in found.guard)
    return AxisMap(extents, found.before, tuple(map(moved, found.sums)), guard)


def _holds(before: Kernel, after: Kernel, law: AxisMap) -> bool:
    """Whether the index obligation holds at a sample of points, corners among them."""
    step = law_step("", before, after, law)
    values = {symbol.name: bounds(symbol)[1] for symbol in step.symbols}
    lift = lift_at(values)
    rng = np.random.default_rng(0)
    box = [max(1, int(evaluate(extent, values))) for extent in after.full_shape]
    point = [np.concatenate([rng.integers(0, n, SAMPLE), [0, n - 1]]).astype(np.int64) for n in box]
    for fine, coarse in zip(step.fine.accesses, step.coarse.accesses, strict=True):
        claim = index_claim(step, "", fine, coarse)
        # A buffer is asked at 0 along the axes that are none of its business.
        asked = [x * (n != 1) for x, n in zip(point, claim.box, strict=True)]
        for fact in claim.facts(asked, lift):
            if np.any(np.asarray(fact.where) & (np.asarray(fact.left) != np.asarray(fact.right))):
                return False
    return True


def composed(opened: Kernel, laws: Sequence[AxisMap]) -> AxisMap:
    """One map for a sequence of opts."""
    total = identity(opened.full_shape)
    for law in laws:
        total = total.then(law)
    return total


def loses_points(before: Kernel, after: Kernel) -> tuple[int, int] | None:
    """How many points there are before and after, where there are fewer after: some are lost."""
    counts = [
        math.prod(bounds(extent)[1] for extent in kernel.full_shape) for kernel in (before, after)
    ]
    return (counts[0], counts[1]) if counts[1] < counts[0] else None
