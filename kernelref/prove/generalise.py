"""For which sizes an opt is right that was proved at one size.

The opt's axis gets an extent that is a variable: any multiple of the amount for a split, any extent
for PADTO. Every buffer's last view gets it too, its strides and other views stay as they are. What
the movement ops then make of it is proved for all values of the variable, by the same claims.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kernelref.errors import InvalidInput, Unsupported
from kernelref.ir.index import Sint, Var
from kernelref.ir.shapetracker import ShapeTracker
from kernelref.ir.view import View
from kernelref.opt.axis import Axis
from kernelref.opt.axismap import AxisMap, LinearSum, identity, steps_map
from kernelref.opt.kernel import Kernel
from kernelref.opt.opt import Opt
from kernelref.opt.rules.apply import apply_opt
from kernelref.opt.rules.movement import Layout, drop_ones, move
from kernelref.opt.rules.step import Pad, Split
from kernelref.opt.rules.step import Step as Move
from kernelref.prove import obligations as o
from kernelref.prove.portfolio import Portfolio
from kernelref.prove.step import Access, Side, Step
from kernelref.prove.verdict import Answer, Obligation, Open, Part, Verdict, judge

MOST = 1 << 40
"""No axis is longer; nothing in a proof depends on it."""


@dataclass(frozen=True, slots=True)
class Generalised:
    """An opt, a condition under which it is right, and the verdict on that."""

    opt: Opt
    condition: str
    verdict: Verdict

    def __str__(self) -> str:
        if self.verdict.answer is Answer.PROVED:
            return f"{self.opt} is right whenever {self.condition}"
        return f"{self.opt}: whether it is right whenever {self.condition} is unknown"


def generalise(kernel: Kernel, opt: Opt, portfolio: Portfolio) -> Generalised:
    """The condition on sizes under which `opt` is right on a kernel like this one.

    Raises: what `apply_opt` raises where the opt is not accepted at all.
    """
    _, moves = apply_opt(kernel, opt)
    condition, parts = _statement(kernel, moves)
    verdict = judge(str(opt), Obligation.INDEX, parts, portfolio)
    if verdict.answer is Answer.REFUTED:
        # It is right at this size, and not at every other: no condition was found.
        reason = str(verdict.witness)
        verdict = replace(verdict, answer=Answer.UNKNOWN, reason=reason, witness=None)
    return Generalised(opt, condition, verdict)


def _statement(kernel: Kernel, moves: Sequence[Move]) -> tuple[str, Iterator[Part]]:
    match moves:
        case []:
            return "there is an axis or none", iter(())
        case [Split(axis=axis, amount=amount)]:
            extent: Sint = Var("q", 1, MOST) * amount
            condition = f"{amount} divides the extent of axis {axis}"
            return condition, _split(kernel, moves, axis, extent)
        case [Pad(axis=axis, multiple=multiple)]:
            return f"axis {axis} has any extent", _pad(kernel, axis, multiple)
        case _:
            reason = Open(f"{len(moves)} steps at once")
            return "of other sizes", iter([reason])


def _split(kernel: Kernel, moves: Sequence[Move], axis: int, extent: Sint) -> Iterator[Part]:
    try:
        sts = [_with_extent(st, axis, extent) for st in kernel.sts]
        axes = [Axis(extent, a.type) if i == axis else a for i, a in enumerate(kernel.axes)]
        before = Layout(tuple(axes), tuple(sts), kernel.iterates)
        after = drop_ones(move(before, moves[0]))
        law = steps_map([a.extent for a in axes], moves)
    except (InvalidInput, Unsupported) as error:
        yield Open(str(error))
        return
    yield from _law(kernel, after, before, law)


def _pad(kernel: Kernel, axis: int, multiple: int) -> Iterator[Part]:
    """Any extent n, and any padding below the multiple: more than PADTO ever adds."""
    extent, extra = Var("n", 1, MOST), Var("p", 0, multiple - 1)
    try:
        sts = [_with_extent(st, axis, extent) for st in kernel.sts]
        padded = [
            st
            if st.shape[axis] == 1
            else st.pad(tuple((0, extra if i == axis else 0) for i in range(len(st.shape))))
            for st in sts
        ]
    except (InvalidInput, Unsupported) as error:
        yield Open(str(error))
        return
    axes = [Axis(extent, a.type) if i == axis else a for i, a in enumerate(kernel.axes)]
    wide = [Axis(extent + extra, a.type) if i == axis else a for i, a in enumerate(axes)]
    before = Layout(tuple(axes), tuple(sts), kernel.iterates)
    after = Layout(tuple(wide), tuple(padded), kernel.iterates)
    extents = tuple(a.extent for a in axes)
    guard = ((LinearSum(((axis, 1),)), extent),)
    law = AxisMap(tuple(a.extent for a in wide), extents, identity(extents).sums, guard)
    yield from _law(kernel, after, before, law)


def _law(kernel: Kernel, after: Layout, before: Layout, law: AxisMap) -> Iterator[Part]:
    step = Step(
        "all sizes", _side(after), _side(before), law, kernel.reduces, kernel.buffers, kernel.index
    )
    yield from o.bijection(step)
    yield from o.index(step)
    yield from o.reduction(step)


def _side(layout: Layout) -> Side:
    return Side(
        tuple(axis.extent for axis in layout.axes),
        tuple(
            Access(st, tuple(None if n == 1 else i for i, n in enumerate(st.shape)))
            for st in layout.sts
        ),
        tuple(frozenset(i for i, runs in enumerate(row) if runs) for row in layout.iterates),
        tuple(axis.type for axis in layout.axes),
    )


def _with_extent(st: ShapeTracker, axis: int, extent: Sint) -> ShapeTracker:
    """A buffer with another extent on an axis along which it varies.

    Raises: Unsupported where a mask cuts the axis: where it should end then is not known.
    """
    view = st.views[-1]
    before = view.shape[axis]
    if before == 1:
        return st
    mask = view.mask
    if mask is not None:
        if mask[axis] != (0, before):
            raise Unsupported("masked-axis", f"axis {axis} is valid in {mask[axis]}")
        mask = tuple((0, extent) if i == axis else pair for i, pair in enumerate(mask))
    shape: tuple[Any, ...] = tuple(extent if i == axis else n for i, n in enumerate(view.shape))
    return ShapeTracker((*st.views[:-1], View(shape, view.strides, view.offset, mask)), st.algebra)
