"""A View: how the points of a shape lie in a flat space, by strides, offset and mask.

Read `View.address` first: it alone says what a View means. The algebra (here, in `view_reshape` and
in `view_merge`) must keep that meaning, and is tested against it.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from kernelref.errors import InvalidInput
from kernelref.ir.index import (
    Sint,
    Var,
    add,
    bounds,
    is_possibly_lt,
    mul,
    product,
    substitute,
    variables,
)
from kernelref.ir.tinygrad_linear import from_sint, is_possible_lt

Range = tuple[Sint, Sint]
Mask = tuple[Range, ...]


class ViewAlgebra(enum.Enum):
    """Whose views a movement op leaves behind; heuristics see the difference.

    SOUND is 0.9.1's algebra, mended where that is wrong. The others copy a release, its mistakes
    too, so that the harness can find them.
    """

    SOUND = "sound"
    TINYGRAD_0_8_0 = "tinygrad-0.8.0"
    TINYGRAD_0_9_0 = "tinygrad-0.9.0"
    TINYGRAD_0_9_1 = "tinygrad-0.9.1"


SOUND = ViewAlgebra.SOUND


@dataclass(frozen=True, slots=True)
class View:
    """Strided, shifted and masked points. Units: strides and offset count elements.

    `mask` gives per axis the half-open range [begin, end) where the view is valid, or is None.
    """

    shape: tuple[Sint, ...]
    strides: tuple[Sint, ...]
    offset: Sint = 0
    mask: Mask | None = None

    def address(self, point: Sequence[Any]) -> tuple[Any, Any]:
        """Where `point` lies and whether it is valid; ints, or numpy arrays that broadcast.

        Law: address = offset + sum_i point[i] * strides[i],
        valid = all_i begin[i] <= point[i] < end[i].
        A view with symbolic parts must be bound first (`bind`).
        """
        address: Any = self.offset
        for i, coordinate in enumerate(point):
            address = address + coordinate * self.strides[i]
        valid: Any = True
        for coordinate, (begin, end) in zip(point, self.mask or (), strict=False):
            valid = valid & (coordinate >= begin) & (coordinate < end)
        return address, valid

    @staticmethod
    def create(
        shape: tuple[Sint, ...],
        strides: tuple[Sint, ...] | None = None,
        offset: Sint = 0,
        mask: Mask | None = None,
        *,
        algebra: ViewAlgebra = SOUND,
    ) -> View:
        """The canonical View of these parts, row-major when no strides are given.

        Raises: InvalidInput for parts that do not fit together.
        """
        check_parts(shape, strides, mask)
        return _create(shape, strides, offset, mask, algebra)

    @property
    def is_symbolic(self) -> bool:
        """Whether a part depends on a variable."""
        return not all(isinstance(part, int) for part in self.parts())

    @property
    def contiguous(self) -> bool:
        """Whether address = row-major index of the point, everywhere valid."""
        if self.mask is not None or self.offset != 0:
            return False
        return 0 in self.shape or self.strides == contiguous_strides(self.shape)

    @property
    def size(self) -> int:
        """How many points the shape has, symbolic extents at their maximum."""
        return bounds(product(self.shape))[1]

    def parts(self) -> tuple[Sint, ...]:
        """Every integer of the View."""
        ends = tuple(end for pair in self.mask or () for end in pair)
        return (*self.shape, *self.strides, self.offset, *ends)

    def variables(self) -> frozenset[Var]:
        """The symbolic variables that a part depends on."""
        return frozenset[Var]().union(*map(variables, self.parts()))

    def bind(self, values: dict[str, int]) -> View:
        """The View with variables replaced by values.

        Raises: InvalidInput when a value is outside the variable's bounds.
        """
        if not self.is_symbolic:
            return self
        for variable in self.variables():
            value = values.get(variable.name)
            low, high = bounds(variable)
            if value is not None and not low <= value <= high:
                raise InvalidInput(f"{variable.name} = {value} is outside [{low}, {high}]")

        def each(parts: tuple[Sint, ...]) -> tuple[Sint, ...]:
            return tuple(substitute(part, values) for part in parts)

        mask = None if self.mask is None else tuple((b, e) for b, e in map(each, self.mask))
        (offset,) = each((self.offset,))
        return View(each(self.shape), each(self.strides), offset, mask)


def check_parts(
    shape: tuple[Sint, ...], strides: tuple[Sint, ...] | None, mask: Mask | None
) -> None:
    """Refuse parts that no View can have.

    Raises: InvalidInput that names the part.
    """
    if any(bounds(n)[0] < 0 for n in shape):
        raise InvalidInput(f"shape {spell(shape)} has a negative extent")
    if strides is not None and len(strides) != len(shape):
        raise InvalidInput(f"{len(strides)} strides for {len(shape)} axes")
    if mask is not None and len(mask) != len(shape):
        raise InvalidInput(f"mask of {len(mask)} ranges for {len(shape)} axes")


def spell(parts: object) -> str:
    """A shape or ranges as text, symbolic parts by name."""
    if isinstance(parts, tuple):
        return f"({', '.join(map(spell, parts))})"
    return str(parts)


def is_maybe_lt(left: Sint, right: Sint, algebra: ViewAlgebra) -> bool:
    """False when the algebra knows that `left < right` is impossible."""
    if isinstance(left, int) and isinstance(right, int):
        return left < right
    if algebra is SOUND:
        return is_possibly_lt(left, right)
    old = algebra is ViewAlgebra.TINYGRAD_0_8_0
    return is_possible_lt(from_sint(left), from_sint(right), old=old)


def minus(left: Sint, right: Sint) -> Sint:
    """The difference."""
    return add(left, mul(right, -1))


def valid_reach(view: View) -> tuple[int, int]:
    """The least and the largest address of a valid point; exact without symbolic parts.

    Only for a View with a valid point.
    """
    low = high = view.offset
    ranges = view.mask or tuple((0, n) for n in view.shape)
    for stride, (begin, end) in zip(view.strides, ranges, strict=True):
        first, last = mul(stride, begin), mul(stride, minus(end, 1))
        if bounds(stride)[0] < 0:
            first, last = last, first
        low, high = add(low, first), add(high, last)
    return bounds(low)[0], bounds(high)[1]


@lru_cache(maxsize=1 << 12)
def contiguous_strides(shape: tuple[Sint, ...]) -> tuple[Sint, ...]:
    """Row-major strides; 0 for axes of extent 1."""
    strides: list[Sint] = []
    step: Sint = 1
    for n in reversed(shape):
        strides.append(0 if n == 1 else step)
        step = mul(step, n)
    return tuple(reversed(strides))


@lru_cache(maxsize=1 << 12)
def _create(
    shape: tuple[Sint, ...],
    strides: tuple[Sint, ...] | None,
    offset: Sint,
    mask: Mask | None,
    algebra: ViewAlgebra,
) -> View:
    if strides is None:
        strides = contiguous_strides(shape)
    strides = tuple(0 if n == 1 else stride for n, stride in zip(shape, strides, strict=True))
    if algebra is ViewAlgebra.TINYGRAD_0_8_0:
        return View(shape, strides, offset, mask)
    if 0 in shape and algebra is not ViewAlgebra.TINYGRAD_0_9_0:
        return View(shape, (0,) * len(shape))
    if mask is not None and all(r == (0, n) for r, n in zip(mask, shape, strict=True)):
        mask = None
    if mask is None:
        return View(shape, strides, offset)
    singles = [not is_maybe_lt(add(begin, 1), end, algebra) for begin, end in mask]
    if any(singles) and any(not is_maybe_lt(begin, end, algebra) for begin, end in mask):
        return View(shape, (0,) * len(shape), 0, ((0, 0),) * len(shape))
    for stride, (begin, _), single in zip(strides, mask, singles, strict=True):
        offset = add(offset, mul(stride, begin)) if single else offset
    kept = tuple(0 if single else s for s, single in zip(strides, singles, strict=True))
    return View(shape, kept, offset, mask)
