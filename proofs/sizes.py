"""Sizes without a bound that matters, and kernels' steps over buffers of any layout."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from kernelref.ir.index import Sint, Var
from kernelref.ir.shapetracker import ShapeTracker
from kernelref.ir.view import View
from kernelref.opt.axis import Axis, AxisType
from kernelref.opt.axismap import AxisMap, steps_map
from kernelref.opt.rules.movement import Layout, drop_ones, move
from kernelref.opt.rules.step import Step as Move
from kernelref.prove import obligations as o
from kernelref.prove.step import Access, Side, Step
from kernelref.prove.verdict import Part

MOST = 1 << 60
"""No memory has more elements than this; nothing in a proof depends on it."""


def size(name: str, low: int = 1) -> Var:
    """An extent or amount of any size from `low` on."""
    return Var(name, low, MOST)


def stride(name: str) -> Var:
    """A stride or offset of any sign."""
    return Var(name, -MOST, MOST)


def any_view(shape: Sequence[Sint], mark: str = "s") -> View:
    """A view of this shape with any strides and offset."""
    strides = tuple(stride(f"{mark}{axis}") for axis in range(len(shape)))
    return View(tuple(shape), strides, stride(f"{mark}_offset"))


def masked_view(shape: Sequence[Sint], mark: str = "s") -> View:
    """The same, valid from any first point on each axis to its end less any number."""
    ranges = tuple(
        (Var(f"{mark}_begin{axis}", 0, MOST), n - Var(f"{mark}_cut{axis}", 0, MOST))
        for axis, n in enumerate(shape)
    )
    return replace(any_view(shape, mark), mask=ranges)


def tracker(*views: View) -> ShapeTracker:
    """A ShapeTracker of these views."""
    return ShapeTracker(tuple(views))


def follow(st: ShapeTracker) -> Access:
    """A buffer that varies along every axis but those of extent 1."""
    return Access(st, tuple(None if n == 1 else axis for axis, n in enumerate(st.shape)))


def side(extents: Sequence[Sint], *sts: ShapeTracker, sums: Sequence[Sequence[int]] = ()) -> Side:
    """One side of a step."""
    return Side(tuple(extents), tuple(map(follow, sts)), tuple(map(frozenset, sums)))


def step(name: str, fine: Side, coarse: Side, law: AxisMap) -> Step:
    """A step between two sides, of no AST in particular."""
    return Step(name, fine, coarse, law, (), (), {})


def moved(extents: Sequence[Sint], sts: Sequence[ShapeTracker], moves: Sequence[Move]) -> Step:
    """The step that real movement ops make, against the real axis map of the same moves."""
    axes = tuple(Axis(n, AxisType.GLOBAL) for n in extents)
    layout = Layout(axes, tuple(sts), ())
    for change in moves:
        layout = drop_ones(move(layout, change))
    after = tuple(axis.extent for axis in layout.axes)
    law = steps_map(tuple(extents), moves)
    return step("moves", side(after, *layout.sts), side(extents, *sts), law)


def law_of(found: Step) -> Iterator[Part]:
    """The map is one-to-one and onto, and every buffer is where it was."""
    yield from o.bijection(found)
    yield from o.index(found)


def with_views(found: Step, *sts: ShapeTracker) -> Step:
    """The step with other buffers after it."""
    fine = replace(found.fine, accesses=tuple(map(follow, sts)))
    return replace(found, fine=fine)


def with_law(found: Step, law: AxisMap) -> Step:
    """The step with another map."""
    return replace(found, map=law)
