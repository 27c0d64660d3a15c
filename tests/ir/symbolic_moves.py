"""Random movement ops on shapes with a symbolic extent, checked at every binding.

The numpy array of each binding is moved by the ops as bound; the ShapeTracker is moved once.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from kernelref.errors import Unsupported
from kernelref.ir.index import Sint, Var, substitute
from kernelref.ir.shapetracker import ShapeTracker
from kernelref.ir.view import ViewAlgebra
from kernelref.jobs.benchmarks.movement import Indices, Movement, buffer_of, moved, tracked

N = Var("n", 1, 5)
LARGEST = 5


def bound(argument: object, n: int) -> object:
    if isinstance(argument, tuple):
        return tuple(bound(part, n) for part in argument)
    return substitute(argument, {"n": n})  # type: ignore[arg-type]


@dataclass(frozen=True)
class SymbolicRun:
    """A ShapeTracker and, per value of n, the array that it must equal."""

    st: ShapeTracker
    arrays: tuple[Indices, ...]
    ops: tuple[Movement, ...]


def random_run(rng: random.Random, algebra: ViewAlgebra = ViewAlgebra.SOUND) -> SymbolicRun:
    extents: list[Sint] = [rng.choice((1, 2, 3, 4, 6)) for _ in range(rng.randint(1, 3))]
    extents.insert(rng.randint(0, len(extents)), rng.choice((N, N, N + 1, N * 2)))
    start = tuple(extents)
    run = SymbolicRun(
        ShapeTracker.from_shape(start, algebra),
        tuple(buffer_of(bound(start, n)) for n in range(1, LARGEST + 1)),  # type: ignore[arg-type]
        (("start", start),),
    )
    for _ in range(rng.randint(1, 6)):
        op = rng.choice(OPS)(rng, run.st.shape)
        if op is None:
            continue
        try:
            st = tracked(run.st, op)
        except Unsupported:
            continue
        name, argument = op
        arrays = tuple(
            moved(array, (name, bound(argument, n)))
            for n, array in zip(range(1, LARGEST + 1), run.arrays, strict=True)
        )
        if arrays[-1].size > 1500:
            break
        run = SymbolicRun(st, arrays, (*run.ops, op))
    return run


def _permute(rng: random.Random, shape: tuple[Sint, ...]) -> Movement:
    return "permute", tuple(rng.sample(range(len(shape)), len(shape)))


def _join(rng: random.Random, shape: tuple[Sint, ...]) -> Movement | None:
    if len(shape) < 2:
        return None
    i = rng.randrange(1, len(shape))
    return "reshape", (*shape[: i - 1], shape[i - 1] * shape[i], *shape[i + 1 :])


def _split(rng: random.Random, shape: tuple[Sint, ...]) -> Movement | None:
    splits = [
        (i, d) for i, n in enumerate(shape) for d in (2, 3) if isinstance(n, int) and n % d == 0
    ]
    if not splits:
        return None
    i, d = rng.choice(splits)
    n = shape[i]
    assert isinstance(n, int)
    return "reshape", (*shape[:i], n // d, d, *shape[i + 1 :])


def _drop_ones(_: random.Random, shape: tuple[Sint, ...]) -> Movement:
    return "reshape", tuple(n for n in shape if n != 1)


def _expand(rng: random.Random, shape: tuple[Sint, ...]) -> Movement:
    return "expand", tuple(rng.choice((2, 3, N)) if n == 1 else n for n in shape)


def _pad(rng: random.Random, shape: tuple[Sint, ...]) -> Movement:
    return "pad", tuple((rng.choice((0, 0, 1)), rng.choice((0, 0, 2, N))) for _ in shape)


def _shrink(rng: random.Random, shape: tuple[Sint, ...]) -> Movement:
    """From the front or the back, leaving at least one point."""
    return "shrink", tuple(
        (0, n - 1)
        if isinstance(n, int) and n > 1 and rng.random() < 0.3
        else (1, n)
        if isinstance(n, int) and n > 1 and rng.random() < 0.3
        else (0, n)
        for n in shape
    )


def _flip(rng: random.Random, shape: tuple[Sint, ...]) -> Movement:
    return "stride", tuple(rng.choice((1, -1)) for _ in shape)


def _simplify(_: random.Random, __: tuple[Sint, ...]) -> Movement:
    return "simplify", ()


OPS: tuple[Callable[[random.Random, tuple[Sint, ...]], Movement | None], ...] = (
    _permute, _join, _join, _split, _split, _drop_ones, _expand, _pad, _shrink, _flip, _simplify,
)  # fmt: skip
