"""The meaning of an AST in numpy, on any subset of output elements; it knows no schedule.

Read `Walk.at` first: the values of nodes at given coordinates. The rest cuts the work into boxes.
An array here has one axis per dim of the kernel's shape and a last one for a list of points; it has
extent 1 where the node does not vary, and numpy broadcasts.

Memory: however large the iteration space, the arrays alive at one time take at most `budget_nbytes`
(and hold at least one element each). Points are cut into boxes, and so is every reduction.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, NamedTuple

import numpy as np

from kernelref.errors import InvalidInput
from kernelref.ir import semantics
from kernelref.ir.ast import Alu, Ast, Cast, Constant, Load, Op, Reduce, Value
from kernelref.ir.dtype import DType
from kernelref.ir.index import Expr, evaluate
from kernelref.ir.semantics import Array
from kernelref.ir.shapetracker import ShapeTracker
from kernelref.run.arithmetic import Arithmetic, Exact, T
from kernelref.run.errorbound import FULL_BOUNDS, BoundedArithmetic
from kernelref.run.plan import Plan, Reductions, make_plan

Coordinates = list[Array]
Places = tuple[Array, Array | bool, Array | None]

ELEMENTS = 1 << 18
"""The most elements in one array: a few such arrays stay in a core's cache."""

KNOWN = 16
"""How many ShapeTrackers' places are remembered while a box is computed."""

NBYTES = 32
"""Bytes an element takes while one op runs: value, error and two temporaries."""


def boxes(extents: Sequence[int], limit: int) -> Iterator[tuple[range, ...]]:
    """Cut a row-major space into boxes of at most `limit` points, in row-major order."""
    if 0 in extents:
        return
    limit = max(1, limit)
    split, inner = len(extents), 1
    while split and inner * extents[split - 1] <= limit:
        split -= 1
        inner *= extents[split]
    whole = tuple(range(extent) for extent in extents[split:])
    if split == 0:
        yield whole
        return
    step = limit // inner
    for outer in np.ndindex(*extents[: split - 1]):
        for begin in range(0, extents[split - 1], step):
            part = range(begin, min(begin + step, extents[split - 1]))
            yield (*(range(i, i + 1) for i in outer), part, *whole)


@dataclass(frozen=True, slots=True)
class Walk(Generic[T]):
    """Inputs and the arithmetic to compute with; `elements` bounds one array.

    `axis[dim]` is the array axis of a dim. Dims that are reduced come first: then adding up whole
    rows of outputs adds each output's terms in order.
    """

    arithmetic: Arithmetic[T]
    inputs: Mapping[int, Array]
    variables: Mapping[str, int]
    axis: tuple[int, ...]
    elements: int
    bound: dict[ShapeTracker, ShapeTracker] = field(default_factory=dict)

    def at(self, plan: Plan, coordinates: Coordinates) -> tuple[T, ...]:
        """The values of the plan's roots at these coordinates, each node computed once."""
        values: dict[Value, T] = {}
        places: dict[ShapeTracker, Places] = {}
        for reductions in plan.reductions:
            values.update(zip(reductions.nodes, self.reduce(reductions, coordinates), strict=True))
        for node, dead in plan.steps:
            if isinstance(node, Load | Constant):
                loaded = self.leaf(node, coordinates, places)
                values[node] = self.arithmetic.lift(loaded, node.dtype)
            else:
                values[node] = self.node(node, values)
            for source in dead:
                del values[source]
        return tuple(values[root] for root in plan.roots)

    def node(self, node: Value, values: Mapping[Value, T]) -> T:
        """One node, whose sources have values; a reduction here has one term a point."""
        match node:
            case Alu(op=op, src=src):
                operands = [values[source] for source in src]
                return self.arithmetic.apply(op, operands, _operand_dtype(node))
            case Cast(value=value, dtype=dtype, bitcast=bitcast):
                return self.arithmetic.convert(values[value], value.dtype, dtype, bitcast=bitcast)
            case Reduce(value=value):
                start = self.arithmetic.start(node)
                one = self.arithmetic.fold(node, start, values[value], lambda terms: terms[None])
                return self.arithmetic.finish(node, one)
        raise AssertionError(f"not a value: {node!r}")

    def leaf(
        self,
        node: Load | Constant,
        coordinates: Coordinates,
        known: dict[ShapeTracker, Places],
    ) -> Array:
        """What the buffer or constant holds at the coordinates; 0 where it is masked."""
        if isinstance(node, Constant) and not any(view.mask for view in node.st.views):
            return self.constant(node)
        if node.st not in known:
            if len(known) == KNOWN:
                known.pop(next(iter(known)))
            known[node.st] = self.places(node.st, coordinates)
        address, valid, repeats = known[node.st]
        if isinstance(node, Constant):
            values = self.constant(node)
        else:
            values = self.load(node, address, np.asarray(valid))
        if valid is not True:
            values = np.where(valid, values, node.dtype.numpy.type(0))
        return values if repeats is None or values.ndim == 0 else values[..., repeats]

    def places(self, symbolic: ShapeTracker, coordinates: Coordinates) -> Places:
        """Addresses (0 where not valid) and validity at the coordinates that differ."""
        if symbolic not in self.bound:
            self.bound[symbolic] = symbolic.bind(self.variables)
        st = self.bound[symbolic]
        places, repeats = _distinct(_varying(st, coordinates), st)
        address, valid = st.address(places)
        return np.asarray(address if valid is True else np.where(valid, address, 0)), valid, repeats

    def constant(self, node: Constant) -> Array:
        """A literal, or a symbolic variable's value, in its dtype."""
        value = node.value
        known = evaluate(value, self.variables) if isinstance(value, Expr) else value
        return semantics.constant(known, node.dtype)

    def load(self, node: Load, address: Array, valid: Array) -> Array:
        """Elements of a buffer. Raises: InvalidInput for an address outside it."""
        stored = self.inputs[node.buffer]
        if not stored.size and not valid.any():
            return np.zeros(address.shape, node.dtype.numpy)
        if address.min() < 0 or address.max() >= stored.size:
            raise InvalidInput(f"LOAD {node.buffer} reads outside its {stored.size} elements")
        return semantics.decode(stored.take(address), node.dtype)

    def reduce(self, reductions: Reductions, coordinates: Coordinates) -> list[T]:
        """Reductions over the same dims, in one pass over the boxes of their terms."""
        totals = [self.arithmetic.start(node) for node in reductions.nodes]
        points = math.prod(np.broadcast_shapes(*(c.shape for c in coordinates)))
        for box in boxes(reductions.extents, self.elements // points):
            place = list(coordinates)
            steps: dict[int, int] = {}
            for dim, indices in zip(reductions.dims, box, strict=True):
                place[dim] = self.along(dim, indices)
                steps[self.axis[dim]] = len(indices)
            terms = self.at(reductions.terms, place)

            def steps_first(array: Array, steps: Mapping[int, int] = steps) -> Array:
                return _steps_first(array, steps, len(self.axis) + 1)

            totals = [
                self.arithmetic.fold(node, total, term, steps_first)
                for node, total, term in zip(reductions.nodes, totals, terms, strict=True)
            ]
        return list(map(self.arithmetic.finish, reductions.nodes, totals))

    def along(self, dim: int, indices: range) -> Array:
        """Coordinates of one dim, laid along its own array axis."""
        shape = [1] * (len(self.axis) + 1)
        shape[self.axis[dim]] = len(indices)
        return np.arange(indices.start, indices.stop).reshape(shape)


def _operand_dtype(node: Alu) -> DType:
    return node.src[1 if node.op is Op.WHERE else 0].dtype


def _varying(st: ShapeTracker, coordinates: Coordinates) -> list[Array | int]:
    """The coordinates, but 0 for dims along which address and validity are constant."""
    view = st.views[-1]
    ranges = view.mask or tuple((0, extent) for extent in view.shape)
    return [
        0 if stride == 0 and (begin, end) == (0, extent) else coordinate
        for coordinate, stride, extent, (begin, end) in zip(
            coordinates, view.strides, view.shape, ranges, strict=True
        )
    ]


def _distinct(
    coordinates: list[Array | int], st: ShapeTracker
) -> tuple[list[Array | int], Array | None]:
    """Listed points that a leaf tells apart, and which of them each point is (None: all differ)."""
    listed = {i: c for i, c in enumerate(coordinates) if not isinstance(c, int) and c.shape[-1] > 1}
    if not listed:
        return coordinates, None
    extents = [int(evaluate(st.shape[i], {})) for i in listed]
    keys = np.ravel_multi_index([c.ravel() for c in listed.values()], extents)
    _, first, repeats = np.unique(keys, return_index=True, return_inverse=True)
    if 2 * len(first) > len(keys):
        return coordinates, None
    return [listed[i][..., first] if i in listed else c for i, c in enumerate(coordinates)], repeats


def _steps_first(array: Array, steps: Mapping[int, int], rank: int) -> Array:
    """An array that broadcasts to `steps` (array axis -> extent), as (all steps, *points)."""
    shape = (1,) * (rank - array.ndim) + array.shape
    points = [1 if axis in steps else extent for axis, extent in enumerate(shape)]
    full = [steps.get(axis, extent) for axis, extent in enumerate(shape)]
    array = np.broadcast_to(array.reshape(shape), full)
    return np.moveaxis(array, list(steps), range(len(steps))).reshape(-1, *points)


class Values(NamedTuple):
    """Outputs at points: by each dtype's rounding, exactly (float64), and how far apart at most."""

    value: Array
    reference: Array
    bound: Array

    def at(self, kept: Array) -> Values:
        """Some of the points."""
        return Values(self.value[kept], self.reference[kept], self.bound[kept])


class Oracle:
    """An AST with its inputs, and `variables` for its symbolic extents.

    `inputs` holds the stored elements of each buffer that is read (bfloat16 as uint16 bits), as
    they are before the run: a LOAD from an output's buffer reads them too. `undefined` counts the
    points, by op, at which C leaves the AST undefined for these inputs.
    """

    def __init__(
        self,
        ast: Ast,
        inputs: Mapping[int, Array],
        variables: Mapping[str, int] | None = None,
        *,
        budget_nbytes: int = 1 << 28,
    ) -> None:
        self.ast = ast
        self.inputs = {buffer: np.ravel(array) for buffer, array in inputs.items()}
        self.variables = dict(variables or {})
        self.budget_nbytes = budget_nbytes
        self._exact = Exact()
        self.undefined = self._exact.undefined

    def shape(self, output: int) -> tuple[int, ...]:
        """The extents of the points that an output stores."""
        return tuple(int(evaluate(n, self.variables)) for n in self.ast[output].shape)

    def addresses(self, output: int, points: Array | None = None) -> tuple[Array, Array]:
        """Where points of an output's shape lie in its buffer, and whether they are stored.

        Shapes: `points` are row-major indices (None: all of them); both results are as long.
        """
        shape = self.shape(output)
        points = np.arange(math.prod(shape)) if points is None else points
        st = self.ast[output].st.bind(self.variables)
        address, valid = st.address(_unravel(points, shape))
        return np.broadcast_to(address, points.shape), np.broadcast_to(valid, points.shape)

    def exact(self, output: int, points: Array | None = None) -> Array:
        """What an output stores at points, each op rounded to its dtype, reductions in order."""
        return self.compute(self._exact, output, points)[0]

    def values(
        self,
        output: int,
        points: Array | None = None,
        *,
        bounds: BoundedArithmetic | None = FULL_BOUNDS,
    ) -> Values:
        """What an output stores at points, the float64 reference and the bound on a device's error.

        With `bounds` None nothing may differ: the reference is the value and the bound 0.
        """
        value = self.exact(output, points)
        if bounds is None:
            with semantics.quiet():
                return Values(value, value.astype(np.float64), np.zeros(value.shape))
        reference, error = self.compute(bounds, output, points)
        return Values(value, reference.astype(np.float64), error)

    def compute(
        self, arithmetic: Arithmetic[T], output: int, points: Array | None = None
    ) -> tuple[Array, ...]:
        """The arrays of what an output stores at points (None: all), one element a point."""
        store = self.ast[output]
        shape = self.shape(output)
        plan = make_plan((store.value,), lambda n: int(evaluate(n, self.variables)))
        order = [*plan.iterated, *(d for d in range(len(shape)) if d not in plan.iterated)]
        alive = self.budget_nbytes // (NBYTES * (KNOWN // 2 + plan.most_alive))
        elements = max(1, min(ELEMENTS, alive))
        axis = tuple(order.index(dim) for dim in range(len(shape)))
        walk = Walk(arithmetic, self.inputs, self.variables, axis, elements)
        source, target = store.value.dtype.value, store.dtype.storage

        def run(coordinates: Coordinates, full: tuple[int, ...]) -> tuple[Array, ...]:
            (value,) = walk.at(plan, coordinates)
            if source != target:
                value = arithmetic.convert(value, source, target)
            return tuple(np.broadcast_to(a, full).ravel() for a in arithmetic.arrays(value))

        limit = max(1, elements // max(1, min(64, plan.iterations)))
        with semantics.quiet():
            nothing = arithmetic.arrays(arithmetic.lift(np.zeros(0, target.numpy), target))
            parts = [run(*place) for place in _places(walk, shape, points, limit)]
        return tuple(np.concatenate(arrays) for arrays in zip(nothing, *parts, strict=True))


def _places(
    walk: Walk[T], shape: tuple[int, ...], points: Array | None, limit: int
) -> Iterator[tuple[Coordinates, tuple[int, ...]]]:
    """Boxes of points in order: the coordinates, and the shape that they broadcast to."""
    rank = len(shape)
    if points is None:
        for box in boxes(shape, limit):
            coordinates = [walk.along(dim, indices) for dim, indices in enumerate(box)]
            yield coordinates, np.broadcast_shapes((1,), *(c.shape for c in coordinates))
        return
    for begin in range(0, len(points), limit):
        part = points[begin : begin + limit]
        listed = (1,) * rank + part.shape
        yield [c.reshape(listed) for c in _unravel(part, shape)], listed


def _unravel(points: Array, shape: tuple[int, ...]) -> tuple[Array, ...]:
    """Coordinates of row-major indices."""
    return tuple(np.unravel_index(points, shape)) if shape else ()
