"""Whether two optimizers gave the same answer, and where they differ first.

Compared: which of the three answers; on refusal the reason; on acceptance full and output shape,
axis types, applied opts, and of every buffer real strides, last-view strides, masked axes and the
index function. Two index functions are equal when the views are, or when they agree on all points
of a small space, else on its corners and a sample.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import assert_never

import numpy as np

from kernelref.ir.index import Sint, evaluate
from kernelref.ir.shapetracker import ShapeTracker
from kernelref.optimizers.interface import Accepted, Answer, Broke, Refused, State

POINTS = 512


@dataclass(frozen=True, slots=True)
class Difference:
    """The first thing that differs, in words, with both sides.

    `what`: answer, reason, full-shape, output-shape, axis-types, applied-opts,
    buffers, real-strides, last-strides, masked-axes, index.
    """

    what: str
    reference: str
    release: str
    buffer: int | None = None

    def __str__(self) -> str:
        where = "" if self.buffer is None else f" of buffer {self.buffer}"
        return f"{self.what}{where}: reference {self.reference}, release {self.release}"


def compare(reference: Answer, release: Answer) -> Difference | None:
    """The first difference between two answers to one request."""
    match reference, release:
        case Accepted(state=ours), Accepted(state=theirs):
            return compare_states(ours, theirs)
        case Refused(), Refused():
            if not release.reason.startswith(reference.reason):
                return Difference("reason", _said(reference), _said(release))
            return None
        case Broke(), Broke():
            # How a release falls over (which exception) is an accident of what it trips on.
            return None
    return Difference("answer", _said(reference), _said(release))


def _said(answer: Answer) -> str:
    match answer:
        case Accepted():
            return "accepted"
        case Refused(reason=reason, check=check):
            return f"refused ({check or reason})"
        case Broke(kind=kind, reason=reason, check=check):
            return f"broke ({kind}: {check or reason})"
        case _:
            assert_never(answer)


def compare_states(ours: State, theirs: State) -> Difference | None:
    """The first difference between two states of one kernel."""
    pairs: tuple[tuple[str, object, object], ...] = (
        ("full-shape", ours.full_shape, theirs.full_shape),
        ("output-shape", ours.output_shape, theirs.output_shape),
        ("axis-types", (ours.colors, ours.warp_axes), (theirs.colors, theirs.warp_axes)),
        ("applied-opts", ours.applied_opts, theirs.applied_opts),
        ("buffers", len(ours.buffers), len(theirs.buffers)),
    )
    for what, left, right in pairs:
        if left != right:
            return Difference(what, _shown(left), _shown(right))
    for i, (mine, their) in enumerate(zip(ours.buffers, theirs.buffers, strict=True)):
        facts: tuple[tuple[str, object, object], ...] = (
            ("real-strides", mine.real_strides, their.real_strides),
            ("masked-axes", mine.masked, their.masked),
            ("last-strides", mine.last_strides, their.last_strides),
        )
        for what, left, right in facts:
            if left != right:
                return Difference(what, _shown(left), _shown(right), i)
        if mine.st.views != their.st.views:
            point = differing_point(mine.st, their.st)
            if point is not None:
                return Difference("index", f"{mine.st} at {point}", f"{their.st}", i)
    return None


def _shown(value: object) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(map(_shown, value))})"
    return str(value)


def differing_point(ours: ShapeTracker, theirs: ShapeTracker) -> tuple[int, ...] | None:
    """A point where validity or, where valid, address differ; None when none was found.

    Symbolic variables are given their least and greatest values and one between.
    """
    symbols = sorted(ours.variables() | theirs.variables(), key=lambda symbol: symbol.name)
    for share in (0.0, 0.5, 1.0) if symbols else (0.0,):
        values: dict[str, int] = {}
        for symbol in symbols:
            high = int(evaluate(symbol.high, values))
            values[symbol.name] = symbol.low + int((high - symbol.low) * share)
        found = _differing_point(ours, theirs, values)
        if found is not None:
            return found
    return None


def _differing_point(
    ours: ShapeTracker, theirs: ShapeTracker, values: Mapping[str, int]
) -> tuple[int, ...] | None:
    shape = [int(evaluate(extent, values)) for extent in ours.shape]
    if [int(evaluate(extent, values)) for extent in theirs.shape] != shape:
        return tuple(shape)
    columns = _points(shape)
    address, valid = _evaluated(ours, columns, values)
    other_address, other_valid = _evaluated(theirs, columns, values)
    wrong = (valid != other_valid) | (valid & (address != other_address))
    hits = np.flatnonzero(wrong)
    return None if hits.size == 0 else tuple(int(column[hits[0]]) for column in columns)


def _points(shape: list[int]) -> list[np.ndarray[tuple[int], np.dtype[np.int64]]]:
    """One array of coordinates per axis: every point when few, else corners and a sample."""
    total = math.prod(shape)
    if total <= POINTS:
        flat = np.arange(max(total, 1))
        grid = np.unravel_index(flat, shape) if shape and total else ()
        return [np.asarray(column, dtype=np.int64) for column in grid]
    rng = random.Random(total)
    rows = [[rng.choice((0, extent - 1)) for extent in shape] for _ in range(POINTS // 4)]
    rows += [[rng.randrange(extent) for extent in shape] for _ in range(POINTS)]
    return [np.array(column, dtype=np.int64) for column in zip(*rows, strict=True)]


def _evaluated(
    st: ShapeTracker,
    columns: list[np.ndarray[tuple[int], np.dtype[np.int64]]],
    values: Mapping[str, int],
) -> tuple[np.ndarray[tuple[int], np.dtype[np.int64]], np.ndarray[tuple[int], np.dtype[np.bool]]]:
    bound = st.bind(dict(values)) if values else st
    address, valid = bound.address(columns)
    size = len(columns[0]) if columns else 1
    return (
        np.broadcast_to(np.asarray(address, dtype=np.int64), (size,)),
        np.broadcast_to(np.asarray(valid, dtype=bool), (size,)),
    )


def is_symbolic(shape: tuple[Sint, ...]) -> bool:
    """Whether some extent is not an int."""
    return any(not isinstance(extent, int) for extent in shape)
