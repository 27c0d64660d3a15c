"""The law of every step, point by point: the axis map and the ShapeTrackers must say the same.

Law: valid_after(x) <=> guard(x) and valid_before(map(x)), and equal addresses where valid; the map
is one-to-one from guarded points onto all points before. A buffer that does not vary along the
padded axis is valid on padding, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from kernelref.cases.case import parse_case
from kernelref.fuzzing.mutants.examine import answer_of, ast_of, opened, requests
from kernelref.fuzzing.mutants.question import Array, Question, Subject
from kernelref.ir.shapetracker import ShapeTracker
from kernelref.opt.axismap import AxisMap
from kernelref.opt.construct import construct, construction_map
from kernelref.opt.kernel import Kernel
from kernelref.opt.rules.sets import SOUND

MOST_POINTS = 1 << 16


def broken_law(subject: Subject, question: Question) -> str:
    """The first step of the question whose law does not hold, in words; "" when all hold."""
    for name, law, fine, coarse in _steps(subject, question):
        wrong = disagreement(law, fine, coarse)
        if wrong:
            return f"{name}: {wrong}"
    return ""


Steps = Iterator[tuple[str, AxisMap, Sequence[ShapeTracker], Sequence[ShapeTracker]]]


def _steps(subject: Subject, question: Question) -> Steps:
    """Construction, then each accepted opt: its map, the finer side's views and the coarser's."""
    probe = question.probe
    case = parse_case(subject.text)
    ast = ast_of(subject, probe)
    parts = construct(ast, SOUND)
    kernel = opened(case, probe, ast)
    yield "construction", construction_map(parts), parts.dim_sts, kernel.sts
    for opt in requests(case, probe):
        taken = kernel.attempt(opt)
        if answer_of(taken) == "" and isinstance(taken, Kernel):
            yield str(opt), kernel.axis_map(opt), taken.sts, kernel.sts
            kernel = taken


def disagreement(law: AxisMap, fine: Sequence[ShapeTracker], coarse: Sequence[ShapeTracker]) -> str:
    """Where the law does not hold. Symbolic and large spaces are not looked at."""
    if any(view.is_symbolic for st in (*fine, *coarse) for view in st.views):
        return ""
    extents = [n for n in law.after if isinstance(n, int)]
    is_small = len(extents) == len(law.after) and np.prod(extents, dtype=object) <= MOST_POINTS
    if not is_small or any(not isinstance(n, int) for n in law.before):
        return ""
    count = int(np.prod(extents, dtype=object))
    point = list(np.indices(extents).reshape(len(extents), count))
    before, guard = law.apply(point)
    guards = [
        ([axis for axis, _ in total.terms], np.asarray(total.at(point) < limit))
        for total, limit in law.guard
    ]
    real = np.broadcast_to(np.asarray(guard), (count,))
    if not _is_onto(before, real, [n for n in law.before if isinstance(n, int)]):
        return "the map is not one-to-one"
    for buffer, (after_st, before_st) in enumerate(zip(fine, coarse, strict=True)):
        after_address, after_valid = _at(after_st, point)
        before_address, before_valid = _at(before_st, before)
        valid = np.asarray(before_valid)
        for axes, holds in guards:
            if any(after_st.shape[axis] != 1 for axis in axes):
                valid = valid & holds
        if np.not_equal(after_valid, valid).any():
            return f"validity of buffer {buffer}"
        if (np.not_equal(after_address, before_address) & valid).any():
            return f"addresses of buffer {buffer}"
    return ""


def _at(st: ShapeTracker, point: Sequence[Array]) -> tuple[Array, Array]:
    """Address and validity; a dim of extent 1 does not follow its axis."""
    if len(st.shape) != len(point):
        raise AssertionError(f"{len(point)} axes, {len(st.shape)} dims")
    address, valid = st.address([0 if n == 1 else x for n, x in zip(st.shape, point, strict=True)])
    return np.asarray(address), np.asarray(valid)


def _is_onto(before: Sequence[Array], real: Array, extents: Sequence[int]) -> bool:
    """Whether real points meet every point before exactly once."""
    flat = np.zeros(len(real), np.int64)
    for coordinate, extent in zip(before, extents, strict=True):
        if ((np.asarray(coordinate) < 0) | (np.asarray(coordinate) >= extent))[real].any():
            return False
        flat = flat * extent + coordinate
    met = np.bincount(flat[real], minlength=int(np.prod(extents)))
    return bool((met == 1).all())
