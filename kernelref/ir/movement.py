"""Movement ops on AST values, pushed down to the loads and constants.

An AST has no movement op: every LOAD and CONST carries a ShapeTracker. Law, for each function f
here: the value of f(node) at a point is the value of `node` at the point that the movement names,
and 0 at points that a pad adds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kernelref.errors import InvalidInput
from kernelref.ir.ast import Alu, Cast, Constant, Load, Op, Reduce, Value, children, postorder
from kernelref.ir.index import Sint
from kernelref.ir.shapetracker import ShapeTracker

Range = tuple[Sint, Sint]

# Ops that give 0 where every source is 0.
_ZERO_AT_ZERO = frozenset(
    {Op.SIN, Op.SQRT, Op.NEG, Op.ADD, Op.SUB, Op.MUL, Op.MAX, Op.XOR, Op.SHL, Op.SHR, Op.CMPLT}
    | {Op.CMPNE, Op.WHERE, Op.MULACC}
)


def reshaped(node: Value, shape: tuple[Sint, ...]) -> Value:
    """Other extents over the same points in row-major order."""
    if any(isinstance(below, Reduce) for below in postorder([node])):
        raise InvalidInput(f"a reduced value keeps its shape {_shown(node.shape)} in its kernel")
    return _pushed(node, lambda st: st.reshape(shape), _unreached)


def permuted(node: Value, order: Sequence[int]) -> Value:
    """Axis i of the result is axis order[i]."""
    places = tuple(order)
    if sorted(places) != list(range(len(node.shape))):
        raise InvalidInput(f"{places} is not an order of {len(node.shape)} axes")
    return _pushed(
        node,
        lambda st: st.permute(places),
        lambda reduce: (permuted(reduce.value, places), _moved_axes(reduce.axes, places)),
    )


def _moved_axes(axes: tuple[int, ...], places: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(sorted(places.index(axis) for axis in axes))


def expanded(node: Value, shape: tuple[Sint, ...]) -> Value:
    """Repeat axes of extent 1; not those that a reduction has left."""

    def below(reduce: Reduce) -> tuple[Value, tuple[int, ...]]:
        _keep(reduce, [shape[axis] == 1 for axis in reduce.axes])
        inner = [
            n if axis in reduce.axes else m
            for axis, (n, m) in enumerate(zip(reduce.value.shape, shape, strict=True))
        ]
        return expanded(reduce.value, tuple(inner)), reduce.axes

    if len(shape) != len(node.shape):
        raise InvalidInput(f"cannot expand shape {_shown(node.shape)} to {_shown(shape)}")
    return _pushed(node, lambda st: st.expand(shape), below)


def padded(node: Value, padding: tuple[Range, ...]) -> Value:
    """Zeros before and after on each axis; `node` must be 0 wherever its loads are 0."""

    def below(reduce: Reduce) -> tuple[Value, tuple[int, ...]]:
        _keep(reduce, [padding[axis] == (0, 0) for axis in reduce.axes])
        return padded(reduce.value, padding), reduce.axes

    _of_all_axes(node, padding)
    for part in postorder([node]):
        if isinstance(part, Alu) and part.op not in _ZERO_AT_ZERO:
            raise InvalidInput(f"a pad of {part.op.name}, which is not 0 at 0")
    return _pushed(node, lambda st: st.pad(padding), below)


def shrunk(node: Value, ranges: tuple[Range, ...]) -> Value:
    """The points in [begin, end) of each axis."""

    def below(reduce: Reduce) -> tuple[Value, tuple[int, ...]]:
        _keep(reduce, [ranges[axis] == (0, 1) for axis in reduce.axes])
        inner = [
            (0, reduce.value.shape[axis]) if axis in reduce.axes else kept
            for axis, kept in enumerate(ranges)
        ]
        return shrunk(reduce.value, tuple(inner)), reduce.axes

    _of_all_axes(node, ranges)
    return _pushed(node, lambda st: st.shrink(ranges), below)


def stepped(node: Value, steps: tuple[int, ...]) -> Value:
    """Every |step|-th point of each axis, from the end where the step is negative."""

    def below(reduce: Reduce) -> tuple[Value, tuple[int, ...]]:
        inner = [1 if axis in reduce.axes else step for axis, step in enumerate(steps)]
        return stepped(reduce.value, tuple(inner)), reduce.axes

    _of_all_axes(node, steps)
    return _pushed(node, lambda st: st.stride(steps), below)


def simplified(node: Value) -> Value:
    """The same value, views merged where one can say the same."""
    return _pushed(
        node,
        lambda st: st.simplify(),
        lambda reduce: (simplified(reduce.value), reduce.axes),
    )


def _of_all_axes(node: Value, given: Sequence[object]) -> None:
    if len(given) != len(node.shape):
        raise InvalidInput(f"{len(given)} amounts for {len(node.shape)} axes")


def _keep(reduce: Reduce, kept: list[bool]) -> None:
    if not all(kept):
        raise InvalidInput(f"reduced axes {reduce.axes} have extent 1 in this kernel")


def _unreached(reduce: Reduce) -> tuple[Value, tuple[int, ...]]:
    raise AssertionError(f"a reshape reached {reduce.op}")


def _pushed(
    node: Value,
    move: Callable[[ShapeTracker], ShapeTracker],
    below: Callable[[Reduce], tuple[Value, tuple[int, ...]]],
) -> Value:
    """`node` with `move` at its loads and constants, and `below` where a reduction stands between.

    Walks down to the nearest reductions only: what is below them, `below` moves.
    """
    done: dict[Value, Value] = {}
    stack = [node]
    while stack:
        part = stack[-1]
        waiting = [] if isinstance(part, Reduce) else [s for s in children(part) if s not in done]
        if waiting:
            stack += waiting
            continue
        stack.pop()
        match part:
            case Load(buffer, dtype, st):
                done[part] = Load(buffer, dtype, move(st))
            case Constant(value, dtype, st):
                done[part] = Constant(value, dtype, move(st))
            case Alu(op, src):
                done[part] = Alu(op, tuple(done[source] for source in src))
            case Cast(value, dtype, bitcast):
                done[part] = Cast(done[value], dtype, bitcast)
            case Reduce(op):
                value, axes = below(part)
                done[part] = Reduce(op, value, axes)
    return done[node]


def _shown(shape: tuple[Sint, ...]) -> str:
    return f"({', '.join(map(str, shape))})"
