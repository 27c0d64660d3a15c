"""Random kernels: `generate_kernel` makes an AST from a chooser's answers.

What it makes and what it never makes is stated in `docs/generator.md`, with counts. In short: an
iteration space of up to 7 axes, some of them reduced; one to three outputs that share nodes; loads
and constants through chains of movement ops. Every AST passes `ir/verify`, and nothing in it is
undefined in C for the inputs that `run/inputs` draws.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from kernelref.fuzzing.choose import Chooser
from kernelref.fuzzing.generate_leaves import Leaves
from kernelref.fuzzing.generate_taste import DEFAULT, Taste
from kernelref.fuzzing.generate_values import Frame, Values
from kernelref.fuzzing.generate_views import PLACED, Shape, factors, longest, tracker
from kernelref.ir.ast import Ast, Cast, Store, Value
from kernelref.ir.dtype import BOOL, FLOAT, HALF, IMAGE_FLOAT, IMAGE_HALF, DType, image
from kernelref.ir.index import Sint, Var
from kernelref.ir.shapetracker import ShapeTracker
from kernelref.ir.verify import verify

EXTENTS = (
    2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 20, 21, 24, 25, 27, 28, 29, 30, 31,
    32, 33, 35, 36, 40, 48, 49, 50, 56, 60, 63, 64, 65, 81, 96, 97, 98, 100, 112, 127, 128, 129,
    144, 192, 224, 225, 255, 256, 257, 320, 384, 500, 512, 513, 600, 768, 1000, 1024, 1025, 1536,
    2047, 2048, 2049, 3000, 4096, 5000, 8192,
)  # fmt: skip
"""Primes, powers of 2 and their neighbours, and what models use."""

TILES = (8, 16, 24, 32, 7, 12, 17)


def generate_kernel(chooser: Chooser, taste: Taste = DEFAULT) -> Ast:
    """A random AST. Raises: nothing; every answer of a chooser leads to a kernel."""
    if chooser.chance(taste.matmul):
        return _matmul(chooser, taste)
    symbol = _symbol(chooser) if chooser.chance(taste.symbolic) else None
    reduces = chooser.weighted(taste.reduces)
    frame = _frame(chooser, taste, reduces, symbol)
    is_image = symbol is None and chooser.chance(taste.images)
    if is_image:
        frame = _in_vectors(chooser, frame)
    palette = _palette(chooser, taste, is_image=is_image)
    outputs = chooser.weighted(taste.outputs)
    places = tuple(_place(chooser, frame.output, palette, is_image) for _ in range(outputs))
    leaves = Leaves(
        chooser,
        taste,
        places,
        symbol,
        is_exact=chooser.chance(taste.exact),
        in_place=chooser.chance(taste.in_place),
        image=_image_of(places) if is_image else None,
    )
    values = Values(chooser, taste, leaves, frame, palette, reduces)
    return verify(tuple(_store(values, i) for i in range(outputs)))


def _image_of(places: Sequence[tuple[DType, ShapeTracker]]) -> DType:
    """The image dtype that values are cast to: the first output's that is one."""
    found = (dtype for dtype, _ in places if dtype.is_image)
    return next(found, image(IMAGE_HALF, (1, 1, 4)))


def _store(values: Values, output: int) -> Store:
    chooser = values.chooser
    dtype, st = values.leaves.places[output]
    low, high = chooser.weighted(values.taste.nodes)
    made = values.value(values.frame.output, dtype.value, chooser.integer(low, high))
    if dtype.is_image and made.dtype != dtype and chooser.chance(70):
        made = Cast(made, dtype)
    return Store(output, dtype, st, made)


def _symbol(chooser: Chooser) -> Var:
    return Var("n", chooser.choice((1, 2)), chooser.choice((4, 7, 10, 16, 31)))


def _frame(chooser: Chooser, taste: Taste, reduces: int, symbol: Var | None) -> Frame:
    """An iteration space of about as many points as wanted, and which of its axes are reduced."""
    dims = chooser.weighted(taste.dims)
    low, high = chooser.weighted(taste.points)
    extents = list(_extents(chooser, dims, chooser.integer(low, high)))
    if symbol is not None and extents and chooser.chance(60):
        axis = chooser.integer(0, dims - 1)
        extents[axis] = symbol + chooser.choice((0, 1, 2)) if chooser.chance(80) else symbol * 2
    axes = range(dims)
    reduced = chooser.subset(axes, 45, at_least=1) if reduces and dims else []
    return Frame(tuple(extents), frozenset(reduced))


def _in_vectors(chooser: Chooser, frame: Frame) -> Frame:
    """The last output axis as a multiple of 4, as an image has it."""
    kept = [axis for axis in range(len(frame.extents)) if axis not in frame.reduced]
    if not kept or not chooser.chance(80):
        return frame
    extents = list(frame.extents)
    extents[kept[-1]] = 4 * chooser.choice((1, 2, 3, 5, 8))
    return Frame(tuple(extents), frame.reduced)


def _extents(chooser: Chooser, dims: int, points: int) -> list[Sint]:
    """Extents whose product is at most `points`, and mostly more than half of it."""
    extents: list[int] = []
    for left in range(dims, 0, -1):
        rest = points // math.prod(extents)
        wanted = rest if left == 1 else min(rest, int(3 * rest ** (1 / left)))
        open_ = [n for n in EXTENTS if (wanted // 2 if left == 1 else 1) < n <= wanted]
        is_one = not open_ or (left > 1 and chooser.chance(14))
        extents.append(1 if is_one else chooser.choice(open_))
    return list(chooser.shuffled(extents))


def _palette(chooser: Chooser, taste: Taste, *, is_image: bool) -> tuple[tuple[DType, int], ...]:
    """The few dtypes that a kernel computes in, the first most."""
    table = [(FLOAT, 60), (HALF, 20)] if is_image else list(taste.dtypes.items())
    first = chooser.weighted(table)
    others = [chooser.weighted(table) for _ in range(chooser.integer(0, 2))]
    kept = [other for other in dict.fromkeys(others) if other != first]
    return ((first, 6), *((other, 2) for other in kept), (BOOL, 1))


def _place(
    chooser: Chooser, shape: Shape, palette: Sequence[tuple[DType, int]], is_image: bool
) -> tuple[DType, ShapeTracker]:
    """An output's dtype and where its points lie."""
    if is_image and math.prod(longest(shape)) % 4 == 0 and chooser.chance(60):
        texels = math.prod(longest(shape)) // 4
        rows = chooser.choice([1, *factors(texels), texels])
        base = chooser.choice((IMAGE_HALF, IMAGE_FLOAT))
        return image(base, (rows, texels // rows, 4)), ShapeTracker.from_shape(shape)
    return chooser.weighted(palette), tracker(chooser, shape, PLACED)


def _matmul(chooser: Chooser, taste: Taste) -> Ast:
    """A matrix product, with what a tensor core takes among the extents and dtypes."""
    extents = tuple(chooser.choice(TILES) for _ in range(3))
    batch = (chooser.choice((1, 2, 3)),) if chooser.chance(30) else ()
    source, total = chooser.choice(((FLOAT, FLOAT), (HALF, FLOAT), (HALF, HALF), (HALF, HALF)))
    shape = (*batch, *extents)
    frame = Frame(shape, frozenset({len(shape) - 1}))
    place = (total, ShapeTracker.from_shape(frame.output))
    leaves = Leaves(chooser, taste, (place,), None, is_exact=True, in_place=False, image=None)
    values = Values(chooser, taste, leaves, frame, ((total, 1),), 0)
    made: Value = values.matmul(source, total)
    for _ in range(chooser.integer(0, 2)):
        made = values.epilogue(made)
    return verify((Store(0, total, place[1], made),))
