"""Steps: two sides of one change, and the map between their points. What obligations are about.

`fine` is the side whose points the map starts from. For an opt that is the side after it (split
axes are the digits of the axis before); for the construction of a Kernel it is the AST (its dims
are the digits of the merged axes). So no map ever divides.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kernelref.ir.ast import Constant, Load, Node, Reduce, Store
from kernelref.ir.index import Expr, Sint, Var, bounds, variables
from kernelref.ir.shapetracker import ShapeTracker
from kernelref.ir.view import View
from kernelref.opt.axis import AxisType
from kernelref.opt.axismap import AxisMap, LinearSum, steps_map
from kernelref.opt.construct import Buffer, construct, construction_map
from kernelref.opt.kernel import Kernel
from kernelref.opt.rules.step import Step as Move
from kernelref.prove.claim import Lift, Point, ordered


@dataclass(frozen=True, slots=True)
class Access:
    """A buffer as one side sees it.

    Shapes: `reads[i]` is the axis of the side that dim i of `st` follows, None for a dim of extent
    1: the buffer does not vary there, whatever the side's extent is.
    """

    st: ShapeTracker
    reads: tuple[int | None, ...]

    @property
    def axes(self) -> frozenset[int]:
        """The axes along which the buffer varies."""
        return frozenset(axis for axis in self.reads if axis is not None)

    def address(self, point: Point, lift: Lift) -> tuple[Any, Any]:
        """Address and validity at a point of the side."""
        at = [0 if axis is None else point[axis] for axis in self.reads]
        return lifted(self.st, lift).address(at)


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a step: its axes, its buffers, and which reduction sums over which axis.

    `sums[r]` are the axes that reduction r sums over; `types` is empty where axes have none (AST).
    """

    extents: tuple[Sint, ...]
    accesses: tuple[Access, ...]
    sums: tuple[frozenset[int], ...]
    types: tuple[AxisType, ...] = ()


@dataclass(frozen=True, slots=True)
class Step:
    """A change with its law; `index` says which buffer serves each leaf of the AST.

    `symbols` are the symbolic variables of both sides.
    """

    name: str
    fine: Side
    coarse: Side
    map: AxisMap
    reduces: tuple[Reduce, ...]
    buffers: tuple[Buffer, ...]
    index: Mapping[Node, int] = field(compare=False)
    is_construction: bool = False
    symbols: tuple[Var, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "symbols", symbols_of(self.fine, self.coarse))

    @property
    def after(self) -> Side:
        """The side that the step leads to."""
        return self.coarse if self.is_construction else self.fine

    @property
    def outputs(self) -> tuple[int, ...]:
        """The buffers that are stored to."""
        return tuple(i for node, i in self.index.items() if isinstance(node, Store))


def symbols_of(*sides: Side) -> tuple[Var, ...]:
    """The symbolic variables of extents and views."""
    found: set[Var] = set()
    for side in sides:
        for extent in side.extents:
            found |= variables(extent)
        for st in {access.st for access in side.accesses}:
            found |= st.variables()
    return ordered(found)


def side_of(kernel: Kernel, sts: Sequence[ShapeTracker] | None = None) -> Side:
    """A Kernel as a side; `sts` are another optimizer's ShapeTrackers for the same axes."""
    extents = kernel.full_shape
    return Side(
        extents,
        tuple(_follow(st, extents) for st in (kernel.sts if sts is None else sts)),
        tuple(
            frozenset(i for i, is_summed in enumerate(row) if is_summed) for row in kernel.iterates
        ),
        tuple(axis.type for axis in kernel.axes),
    )


def _follow(st: ShapeTracker, extents: Sequence[Sint]) -> Access:
    return Access(st, tuple(None if n == 1 else axis for axis, n in enumerate(st.shape)))


def opts_step(
    name: str,
    before: Kernel,
    after: Kernel,
    moves: Sequence[Move],
    *,
    before_sts: Sequence[ShapeTracker] | None = None,
    after_sts: Sequence[ShapeTracker] | None = None,
) -> Step:
    """One opt or a sequence: from the Kernel before to the Kernel after by `moves`."""
    law = steps_map(before.full_shape, moves)
    return law_step(name, before, after, law, before_sts=before_sts, after_sts=after_sts)


def law_step(
    name: str,
    before: Kernel,
    after: Kernel,
    law: AxisMap,
    *,
    before_sts: Sequence[ShapeTracker] | None = None,
    after_sts: Sequence[ShapeTracker] | None = None,
) -> Step:
    """From the Kernel before to the Kernel after, by any map."""
    return Step(
        name,
        side_of(after, after_sts),
        side_of(before, before_sts),
        law,
        before.reduces,
        before.buffers,
        before.index,
    )


def construction_step(
    kernel: Kernel,
    *,
    sts: Sequence[ShapeTracker] | None = None,
    law: AxisMap | None = None,
) -> Step:
    """From the AST to a Kernel without opts; `law` where its axes merged in another way."""
    parts = construct(kernel.ast, kernel.rules)
    extents = parts.dims
    fine = Side(
        extents,
        tuple(_placed(buffer, parts.spread, extents) for buffer in kernel.buffers),
        tuple(_named(reduce, parts.spread, extents) for reduce in kernel.reduces),
    )
    return Step(
        "construction",
        fine,
        side_of(kernel, sts),
        construction_map(parts) if law is None else law,
        kernel.reduces,
        kernel.buffers,
        kernel.index,
        is_construction=True,
    )


def _placed(
    node: Store | Load | Constant, spread: Sequence[Sequence[int]], extents: Sequence[Sint]
) -> Access:
    """A leaf of the AST: each of its dims follows the dim of that extent on the same AST axis."""
    reads = [_dim(n, dims, extents) for n, dims in zip(node.st.shape, spread, strict=True)]
    return Access(node.st, tuple(reads))


def _dim(extent: Sint, dims: Sequence[int], extents: Sequence[Sint]) -> int | None:
    if extent == 1:
        return None
    return next((dim for dim in dims if extents[dim] == extent), dims[0])


def _named(
    reduce: Reduce, spread: Sequence[Sequence[int]], extents: Sequence[Sint]
) -> frozenset[int]:
    """The dims that a reduction of the AST sums over: those it names where its source varies."""
    shape = reduce.value.shape
    found = (_dim(shape[axis], spread[axis], extents) for axis in reduce.axes)
    return frozenset(dim for dim in found if dim is not None)


def lifted(st: ShapeTracker, lift: Lift) -> ShapeTracker:
    """A ShapeTracker whose symbolic parts have the values that the numbers in use give them."""
    if not any(view.is_symbolic for view in st.views):
        return st
    return ShapeTracker(tuple(_lifted_view(view, lift) for view in st.views), st.algebra)


def _lifted_view(view: View, lift: Lift) -> View:
    mask = None if view.mask is None else tuple((lift(b), lift(e)) for b, e in view.mask)
    shape, strides = tuple(map(lift, view.shape)), tuple(map(lift, view.strides))
    return View(shape, strides, lift(view.offset), mask)


def lifted_map(axis_map: AxisMap, lift: Lift) -> AxisMap:
    """An axis map with its symbolic coefficients and limits lifted."""
    parts = [*axis_map.sums, *(total for total, _ in axis_map.guard)]
    numbers = [part.constant for part in parts] + [c for part in parts for _, c in part.terms]
    numbers += [limit for _, limit in axis_map.guard]
    if all(isinstance(number, int) for number in numbers):
        return axis_map
    return AxisMap(
        tuple(map(lift, axis_map.after)),
        tuple(map(lift, axis_map.before)),
        tuple(_lifted_sum(total, lift) for total in axis_map.sums),
        tuple((_lifted_sum(total, lift), lift(limit)) for total, limit in axis_map.guard),
    )


def _lifted_sum(total: LinearSum, lift: Lift) -> LinearSum:
    return LinearSum(tuple((axis, lift(c)) for axis, c in total.terms), lift(total.constant))


def reach_of(sts: Iterable[ShapeTracker]) -> int:
    """A bound of every number met in computing an address: sums of |stride| * extent, by view."""
    most = 1
    for st in sts:
        for view in st.views:
            total = size_of(view.offset)
            for n, stride in zip(view.shape, view.strides, strict=True):
                total += size_of(n) * max(1, size_of(stride))
            for pair in view.mask or ():
                total += sum(map(size_of, pair))
            most = max(most, total)
    return most


def size_of(part: Sint) -> int:
    """The largest magnitude of a part."""
    if isinstance(part, Expr):
        low, high = bounds(part)
        return max(abs(low), abs(high))
    return abs(int(part))
