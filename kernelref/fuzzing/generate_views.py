"""ShapeTrackers of a wanted shape: chains of movement ops, made from their end.

`tracker` starts at the shape that a node must have and asks for one move after another, each with
the shape it must start from, back to a buffer; then the moves are carried out forwards. So every
chain fits, and no shape is ever tried in vain.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from kernelref.fuzzing.choose import Chooser
from kernelref.ir.ast import Load
from kernelref.ir.builder import Tensor
from kernelref.ir.dtype import FLOAT
from kernelref.ir.index import Expr, Sint, Var, bounds
from kernelref.ir.shapetracker import ShapeTracker

Shape: TypeAlias = tuple[Sint, ...]
Move: TypeAlias = Callable[[ShapeTracker], ShapeTracker]
Back: TypeAlias = tuple[Shape, Move]

MOST_DIMS = 8
MOST_ELEMENTS = 1 << 15
"""The largest buffer or shape between two moves."""


@dataclass(frozen=True, slots=True)
class Moves:
    """How a chain is made: weights of the moves, by name, and in percent how often there is none.

    Units: `longest` counts moves; `simplified` is the percentage of chains whose views are merged
    where they can be, as a scheduler leaves them.
    """

    weights: tuple[tuple[str, int], ...]
    none: int = 0
    longest: int = 6
    simplified: int = 85


READ = Moves(
    (
        ("permute", 5), ("expand", 5), ("shrink", 3), ("pad", 4), ("flip", 2), ("every", 2),
        ("reshape", 5), ("windows", 5),
    ),
    none=35,
)  # fmt: skip
"""Loads."""

MASKED = Moves((("pad", 6), ("reshape", 3), ("shrink", 2), ("permute", 1), ("expand", 1)), none=60)
"""Constants: what is not masked is the same everywhere."""

PLACED = Moves(
    (("permute", 4), ("reshape", 2), ("shrink", 2), ("flip", 1), ("every", 1)), none=80, longest=3
)
"""Stores: no element twice and none masked."""


def tracker(
    chooser: Chooser, shape: Shape, moves: Moves, symbol: Var | None = None
) -> ShapeTracker:
    """A ShapeTracker of `shape`; with a `symbol` a slice or a pad may depend on it."""
    backs: list[Move] = []
    at = shape

    def prepend(found: Back | None) -> None:
        nonlocal at
        if found is not None and _is_small(found[0]):
            at = found[0]
            backs.append(found[1])

    if symbol is not None and chooser.chance(15):
        prepend(_symbolic_pad(chooser, at, symbol))
    if not chooser.chance(moves.none):
        for _ in range(chooser.integer(1, moves.longest)):
            prepend(_BACK[chooser.weighted(moves.weights)](chooser, at))
    if symbol is not None and chooser.chance(40):
        prepend(_symbolic_slice(chooser, at, symbol))
    made = ShapeTracker.from_shape(longest(at))
    if any(isinstance(extent, Expr) for extent in at):
        made = made.shrink(tuple((0, extent) for extent in at))
    for move in reversed(backs):
        made = move(made)
    return made.simplify() if chooser.chance(moves.simplified) else made


def broadcast(chooser: Chooser, shape: Shape, percent: int) -> tuple[Shape, Move]:
    """The shape with some axes of extent 1, and the move that repeats them."""
    kept = tuple(1 if extent != 1 and chooser.chance(percent) else extent for extent in shape)
    return kept, lambda st: st.expand(shape)


def longest(shape: Shape) -> tuple[int, ...]:
    """The extents, symbolic ones as long as they ever are."""
    return tuple(bounds(extent)[1] for extent in shape)


def _is_small(shape: Shape) -> bool:
    return len(shape) <= MOST_DIMS and math.prod(longest(shape)) <= MOST_ELEMENTS


def _permute(chooser: Chooser, shape: Shape) -> Back | None:
    order = chooser.shuffled(range(len(shape)))
    before: list[Sint] = [1] * len(shape)
    for i, axis in enumerate(order):
        before[axis] = shape[i]
    return tuple(before), lambda st: st.permute(tuple(order))


def _expand(chooser: Chooser, shape: Shape) -> Back | None:
    before, move = broadcast(chooser, shape, 40)
    return None if before == shape else (before, move)


def _pad(chooser: Chooser, shape: Shape) -> Back | None:
    padding: list[tuple[Sint, Sint]] = []
    before: list[Sint] = []
    for extent in shape:
        pads = (0, 0)
        if isinstance(extent, int) and extent > 1 and chooser.chance(45):
            low = chooser.integer(0, _few(extent))
            pads = (low, chooser.integer(0 if low else 1, max(1, _few(extent - low))))
            pads = pads if sum(pads) < extent else (0, 1)
        padding.append(pads)
        before.append(extent - sum(pads))
    if all(pads == (0, 0) for pads in padding):
        return None
    return tuple(before), lambda st: st.pad(tuple(padding))


def _few(extent: int) -> int:
    """Mostly a small pad; at times one that leaves a single element."""
    return min(3, extent - 1) if extent % 3 else extent - 1


def _shrink(chooser: Chooser, shape: Shape) -> Back | None:
    ranges: list[tuple[Sint, Sint]] = []
    before: list[Sint] = []
    for extent in shape:
        cut = (0, 0)
        if isinstance(extent, int) and chooser.chance(40):
            cut = chooser.integer(0, 3), chooser.integer(0, 3)
        ranges.append((cut[0], extent + cut[0]))
        before.append(extent + sum(cut))
    return tuple(before), lambda st: st.shrink(tuple(ranges))


def _flip(chooser: Chooser, shape: Shape) -> Back | None:
    axes = chooser.subset(_ints(shape), 40, at_least=1)
    steps = tuple(-1 if axis in axes else 1 for axis in range(len(shape)))
    return (shape, lambda st: st.stride(steps)) if axes else None


def _every(chooser: Chooser, shape: Shape) -> Back | None:
    """Every second or third element, from either end."""
    axes = chooser.subset(_ints(shape), 30, at_least=1)
    steps = [chooser.choice((2, 3, -2, -3)) if i in axes else 1 for i in range(len(shape))]
    before = [
        extent if step == 1 else (extent - 1) * abs(step) + chooser.integer(1, abs(step))
        for extent, step in zip(shape, steps, strict=True)
    ]
    return tuple(before), lambda st: st.stride(tuple(steps))


def _reshape(chooser: Chooser, shape: Shape) -> Back | None:
    """Split, merge, drop or add axes, or cut all elements anew."""
    way = chooser.choice((_merge, _split, _add_one, _drop_ones, _flatten))
    before = way(chooser, shape)
    return None if before == shape else (before, lambda st: st.reshape(shape))


def _merge(chooser: Chooser, shape: Shape) -> Shape:
    pairs = [i for i in _ints(shape) if i + 1 in _ints(shape)]
    if not pairs:
        return shape
    at = chooser.choice(pairs)
    return (*shape[:at], shape[at] * shape[at + 1], *shape[at + 2 :])


def _split(chooser: Chooser, shape: Shape) -> Shape:
    places = [i for i in _ints(shape) if factors(shape[i])]
    if not places:
        return shape
    at = chooser.choice(places)
    inner = chooser.choice(factors(shape[at]))
    return (*shape[:at], shape[at] // inner, inner, *shape[at + 1 :])


def _add_one(chooser: Chooser, shape: Shape) -> Shape:
    at = chooser.integer(0, len(shape))
    return (*shape[:at], 1, *shape[at:])


def _drop_ones(chooser: Chooser, shape: Shape) -> Shape:
    ones = chooser.subset([i for i, extent in enumerate(shape) if extent == 1], 60)
    return tuple(extent for i, extent in enumerate(shape) if i not in ones)


def _flatten(chooser: Chooser, shape: Shape) -> Shape:
    """All elements in a row, cut into other axes."""
    if len(_ints(shape)) < len(shape):
        return shape
    rest = math.prod(longest(shape))
    made: list[int] = []
    while len(made) < 3 and factors(rest) and chooser.chance(70):
        made.append(chooser.choice(factors(rest)))
        rest //= made[-1]
    return tuple(chooser.shuffled([rest, *made]))


def _windows(chooser: Chooser, shape: Shape) -> Back | None:
    """The last two axes as (windows, elements of a window) of one axis."""
    if len(shape) < 2:
        return None
    count, extent = shape[-2:]
    if not (isinstance(count, int) and isinstance(extent, int) and 1 < extent <= 16):
        return None
    step = chooser.choice((1, 2, 3))

    def move(st: ShapeTracker) -> ShapeTracker:
        windows = Tensor(Load(0, FLOAT, st)).windows(extent, step).node
        assert isinstance(windows, Load)
        return windows.st

    return (*shape[:-2], (count - 1) * step + extent), move


def _symbolic_slice(chooser: Chooser, shape: Shape, symbol: Var) -> Back | None:
    """A slice at a symbolic place of one axis; the first move, for a mask would become symbolic."""
    axes = _ints(shape)
    if not axes or not isinstance(symbol.high, int):
        return None
    axis = chooser.choice(axes)
    ranges: list[tuple[Sint, Sint]] = [(0, n) for n in shape]
    ranges[axis] = (symbol, symbol + shape[axis])
    before = (*shape[:axis], shape[axis] + symbol.high, *shape[axis + 1 :])
    return before, lambda st: st.shrink(tuple(ranges))


def _symbolic_pad(chooser: Chooser, shape: Shape, symbol: Var) -> Back | None:
    """A pad by a symbolic amount; the last move, for nothing can move a symbolic mask."""
    high = symbol.high
    if not isinstance(high, int):
        return None
    axes = [axis for axis in _ints(shape) if longest((shape[axis],))[0] > high]
    if not axes:
        return None
    axis = chooser.choice(axes)
    padding: list[tuple[Sint, Sint]] = [(0, 0)] * len(shape)
    padding[axis] = (symbol, high - symbol)
    before = (*shape[:axis], shape[axis] - high, *shape[axis + 1 :])
    return before, lambda st: st.pad(tuple(padding))


def _ints(shape: Shape) -> list[int]:
    """The axes of known extents."""
    return [i for i, extent in enumerate(shape) if isinstance(extent, int)]


def factors(extent: Sint) -> list[int]:
    """The divisors of an extent but 1 and itself."""
    if not isinstance(extent, int):
        return []
    return [n for n in range(2, min(extent, 4096)) if extent % n == 0]


_BACK: dict[str, Callable[[Chooser, Shape], Back | None]] = {
    "permute": _permute,
    "expand": _expand,
    "pad": _pad,
    "shrink": _shrink,
    "flip": _flip,
    "every": _every,
    "reshape": _reshape,
    "windows": _windows,
}
