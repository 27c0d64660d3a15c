"""Right steps, and faults planted in them: what the prover must tell apart."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from kernelref.ir.ast import Ast
from kernelref.ir.builder import buffer, kernel
from kernelref.ir.shapetracker import ShapeTracker
from kernelref.ir.view import View
from kernelref.opt.axismap import AxisMap, LinearSum
from kernelref.opt.kernel import Kernel
from kernelref.opt.opt import Opt, OptOps
from kernelref.opt.rules.apply import apply_opt
from kernelref.opt.rules.sets import SOUND
from kernelref.prove.portfolio import Portfolio
from kernelref.prove.step import Access, Step, opts_step
from kernelref.prove.subject import prove_step
from kernelref.prove.verdict import Answer, Obligation, Verdict
from tests.opt.kernels import add, matmul, row_sum

P = OptOps.PADTO


def masked(n: int = 12, m: int = 10) -> Ast:
    """A padded operand beside a whole one."""
    small = buffer(1, (n - 3, m)).pad(((1, 2), (0, 0)))
    return kernel(small + buffer(2, (n, m)))


def stacked(n: int = 6, m: int = 8) -> Ast:
    """A view that no single one can say: a transposed matrix read as another shape, reversed."""
    twisted = buffer(1, (m, n)).permute(1, 0).reshape((n * m // 4, 4)).flip(0)
    return kernel(twisted + buffer(2, (n * m // 4, 4)))


# name -> AST and the opts before the last, which is the step under proof.
SITUATIONS: dict[str, tuple[Ast, tuple[Opt, ...]]] = {
    "upcast": (add(16, 8), (Opt(OptOps.UPCAST, 0, 4),)),
    "local after upcast": (add(16, 8), (Opt(OptOps.UPCAST, 1, 2), Opt(OptOps.LOCAL, 0, 4))),
    "unroll": (matmul(), (Opt(OptOps.UNROLL, 0, 4),)),
    "group": (matmul(), (Opt(OptOps.GROUP, 0, 4),)),
    "grouptop": (matmul(), (Opt(OptOps.GROUPTOP, 0, 4),)),
    "padto output": (add(10, 8), (Opt(P, 0, 16),)),
    "padto reduce": (matmul(16, 16, 10), (Opt(P, 2, 16),)),
    "padto after split": (add(10, 8), (Opt(OptOps.LOCAL, 0, 5), Opt(P, 2, 4))),
    "split of padded": (add(10, 8), (Opt(P, 0, 16), Opt(OptOps.UPCAST, 0, 4))),
    "whole axis": (row_sum(8, 6), (Opt(OptOps.UNROLL, 0, 0),)),
    "masked": (masked(), (Opt(OptOps.LOCAL, 0, 3),)),
    "masked upcast": (masked(), (Opt(OptOps.UPCAST, 1, 2), Opt(OptOps.UPCAST, 0, 2))),
    "stacked": (stacked(), (Opt(OptOps.UPCAST, 0, 2),)),
    "stacked unequal": (stacked(), (Opt(OptOps.LOCAL, 1, 2), Opt(OptOps.LOCAL, 0, 3))),
}


def last_step(name: str) -> tuple[Step, Kernel]:
    """The step of the last opt, and the kernel before it."""
    ast, opts = SITUATIONS[name]
    before = Kernel.open(ast, rules=SOUND)
    for opt in opts[:-1]:
        before = before.apply_opt(opt)
    after, moves = apply_opt(before, opts[-1])
    return opts_step(str(opts[-1]), before, after, moves), before


def verdicts(
    step: Step, kernel: Kernel, portfolio: Portfolio | None = None
) -> dict[Obligation, Verdict]:
    portfolio = Portfolio() if portfolio is None else portfolio
    return {v.obligation: v for v in prove_step(step, kernel, portfolio)}


def refuted(found: dict[Obligation, Verdict]) -> set[Obligation]:
    return {o for o, verdict in found.items() if verdict.answer is Answer.REFUTED}


# Faults.


def with_view(step: Step, number: int, view: View) -> Step:
    """Another last view for one buffer after the step."""
    accesses = list(step.fine.accesses)
    access = accesses[number]
    views = (*access.st.views[:-1], view)
    accesses[number] = Access(ShapeTracker(views, access.st.algebra), access.reads)
    return replace(step, fine=replace(step.fine, accesses=tuple(accesses)))


def views(step: Step) -> Iterator[tuple[int, View]]:
    for number, access in enumerate(step.fine.accesses):
        yield number, access.st.views[-1]


def wrong_strides(step: Step) -> Iterator[Step]:
    """One stride one larger, where the axis has points for it to show."""
    for number, view in views(step):
        for axis, extent in enumerate(view.shape):
            begin, end = view.mask[axis] if view.mask else (0, extent)
            if end > 1 and begin < end:
                strides = list(view.strides)
                strides[axis] += 1
                yield with_view(step, number, replace(view, strides=tuple(strides)))


def swapped_axes(step: Step) -> Iterator[Step]:
    """Two neighbouring axes of equal extent change places."""
    for number, view in views(step):
        for axis in range(len(view.shape) - 1):
            a, b = view.shape[axis], view.shape[axis + 1]
            if a == b != 1 and view.strides[axis] != view.strides[axis + 1]:
                strides = list(view.strides)
                strides[axis], strides[axis + 1] = strides[axis + 1], strides[axis]
                yield with_view(step, number, replace(view, strides=tuple(strides)))


def wrong_offsets(step: Step) -> Iterator[Step]:
    for number, view in views(step):
        yield with_view(step, number, replace(view, offset=view.offset + 1))


def lost_masks(step: Step) -> Iterator[Step]:
    for number, view in views(step):
        if view.mask is not None:
            yield with_view(step, number, replace(view, mask=None))


def wrong_masks(step: Step) -> Iterator[Step]:
    """An end of a mask one too far, or one too near."""
    for number, view in views(step):
        for axis, (begin, end) in enumerate(view.mask or ()):
            for moved in ((begin, end + 1), (begin + 1, end), (begin, end - 1)):
                if moved[1] <= view.shape[axis]:
                    mask = list(view.mask)
                    mask[axis] = moved
                    yield with_view(step, number, replace(view, mask=tuple(mask)))


def with_map(step: Step, axis_map: AxisMap) -> Step:
    return replace(step, map=axis_map)


def wrong_maps(step: Step) -> Iterator[Step]:
    """One coefficient of one sum is larger, a term goes, or two parts change weights."""
    sums = step.map.sums
    for i, total in enumerate(sums):
        for j, (axis, c) in enumerate(total.terms):
            for terms in (
                (*total.terms[:j], (axis, c + 1), *total.terms[j + 1 :]),
                (*total.terms[:j], *total.terms[j + 1 :]),
            ):
                if step.fine.extents[axis] > 1:
                    changed = (*sums[:i], LinearSum(terms, total.constant), *sums[i + 1 :])
                    yield with_map(step, replace(step.map, sums=changed))
        if len(total.terms) == 2 and total.terms[0][1] != total.terms[1][1]:
            (a, c), (b, d) = total.terms
            changed = (*sums[:i], LinearSum(((a, d), (b, c))), *sums[i + 1 :])
            yield with_map(step, replace(step.map, sums=changed))


def wrong_guards(step: Step) -> Iterator[Step]:
    """Off by one on either side, or gone."""
    for i, (total, limit) in enumerate(step.map.guard):
        for guard in (((total, limit + 1),), ((total, limit - 1),), ()):
            kept = (*step.map.guard[:i], *guard, *step.map.guard[i + 1 :])
            yield with_map(step, replace(step.map, guard=kept))


def wrong_sums(step: Step) -> Iterator[Step]:
    """A reduction runs over an axis more, or over one less."""
    for number, axes in enumerate(step.fine.sums):
        for axis in range(len(step.fine.extents)):
            sums = list(step.fine.sums)
            sums[number] = axes ^ {axis}
            yield replace(step, fine=replace(step.fine, sums=tuple(sums)))


FAULTS = {
    "wrong stride": wrong_strides,
    "swapped axes": swapped_axes,
    "wrong offset": wrong_offsets,
    "lost mask": lost_masks,
    "wrong mask": wrong_masks,
    "wrong map": wrong_maps,
    "wrong guard": wrong_guards,
    "wrong reduction": wrong_sums,
}
