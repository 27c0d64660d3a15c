"""Loads and constants: the leaves of a generated AST, and which buffers they read."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from kernelref.fuzzing.choose import Chooser
from kernelref.fuzzing.generate_taste import Taste
from kernelref.fuzzing.generate_views import MASKED, READ, Shape, broadcast, factors, tracker
from kernelref.ir.ast import Constant, Load, Store
from kernelref.ir.dtype import FLOAT, IMAGE_FLOAT, IMAGE_HALF, DType, Kind, image
from kernelref.ir.index import Expr, Var
from kernelref.ir.shapetracker import ShapeTracker
from kernelref.run.points import buffer_elements

EXACT = (0.0, 1.0, 2.0, -1.0, 0.5, 3.0, -2.0, 0.25, 8.0, -0.0, 16.0)
INEXACT = (0.1, -0.7, 1.4426950408889634, 1e-3, 3.14159265, 1e-6)
ODD = (float("inf"), float("-inf"), float("nan"), 1e30)
WHOLE = (0, 1, 2, -1, 3, 7, 8, 255, 256, -128, 127, 1000, 32767, -32768, 65535)
WIDE = (2**31 - 1, -(2**31), 2**32 - 1, 2**24 + 1, 2**53 + 1, 2**63 - 1, -(2**63), 2**64 - 1)


@dataclass(slots=True)
class Leaves:
    """Makes loads and constants, and gives each new buffer its number.

    `places` says for each output where it stores (in-place loads read there); `is_exact` keeps
    to constants that no float dtype rounds. `image` is an image dtype in kernels that have any.
    """

    chooser: Chooser
    taste: Taste
    places: tuple[tuple[DType, ShapeTracker], ...]
    symbol: Var | None
    is_exact: bool
    in_place: bool
    image: DType | None
    buffers: list[DType] = field(default_factory=list)

    def leaf(self, shape: Shape, dtype: DType) -> Load | Constant:
        """A load, or a constant."""
        if self.chooser.chance(self.taste.constants):
            return self.constant(shape, dtype)
        return self.load(shape, dtype)

    def load(self, shape: Shape, dtype: DType, *, spread: int = 25) -> Load:
        """A load of `dtype`, repeated along some axes (each in `spread` percent)."""
        own = self._own(shape, dtype)
        if own is not None:
            return own
        chooser = self.chooser
        kept, move = broadcast(chooser, shape, spread if chooser.chance(50) else 0)
        st = move(tracker(chooser, kept, READ, self.symbol))
        if self.image is not None and dtype.value == FLOAT and chooser.chance(55):
            as_image = self._image(st)
            if as_image is not None:
                return as_image
        same = [i for i, known in enumerate(self.buffers) if known == dtype]
        if same and chooser.chance(self.taste.same_buffer):
            return Load(len(self.places) + chooser.choice(same), dtype, st)
        return self._new(dtype, st)

    def _new(self, dtype: DType, st: ShapeTracker) -> Load:
        self.buffers.append(dtype)
        return Load(len(self.places) + len(self.buffers) - 1, dtype, st)

    def _own(self, shape: Shape, dtype: DType) -> Load | None:
        """What an output's buffer held at the very element that the point stores."""
        if not self.in_place or not self.chooser.chance(40):
            return None
        for output, (stored, st) in enumerate(self.places):
            fits = all(n in (1, m) for n, m in zip(st.shape, shape, strict=True))
            if stored == dtype and fits:
                return Load(output, dtype, st.expand(shape))
        return None

    def _image(self, st: ShapeTracker) -> Load | None:
        """A load from an image that holds the elements which `st` reaches."""
        elements = buffer_elements((Store(0, FLOAT, st, Load(1, FLOAT, st)),), self._largest())[1]
        texels = -(-elements // 4)
        rows = self.chooser.choice([1, *factors(texels), texels])
        base = self.chooser.choice((IMAGE_HALF, IMAGE_FLOAT))
        if rows > 8192 or texels // rows > 8192:
            return None
        return self._new(image(base, (rows, texels // rows, 4)), st)

    def _largest(self) -> dict[str, int]:
        if self.symbol is None or not isinstance(self.symbol.high, int):
            return {}
        return {self.symbol.name: self.symbol.high}

    def constant(self, shape: Shape, dtype: DType) -> Constant:
        """Any value, at times masked, at times symbolic, at times spelt as another type's."""
        chooser = self.chooser
        st = tracker(chooser, shape, MASKED, None if shape == () else self.symbol)
        value: bool | int | float | Expr = self._value(dtype)
        if self.symbol is not None and dtype.is_int and chooser.chance(40):
            value = self.symbol + 0
        if self.image is not None and dtype == FLOAT and chooser.chance(50):
            dtype = self.image
        return Constant(value, dtype, st)

    def plain(self, value: bool | int | float, shape: Shape, dtype: DType) -> Constant:
        """This value at every point."""
        scalar = ShapeTracker.from_shape(()).reshape((1,) * len(shape))
        return Constant(value, dtype, scalar.expand(shape))

    def _value(self, dtype: DType) -> bool | int | float:
        chooser, dtype = self.chooser, dtype.value
        match dtype.kind:
            case Kind.BOOL:
                return chooser.choice((False, True))
            case Kind.FLOAT:
                if chooser.chance(self.taste.oddities):
                    return chooser.choice(ODD)
                if chooser.chance(self.taste.oddities):
                    return chooser.choice((0, 1, 2, True))
                return chooser.choice(EXACT if self.is_exact or chooser.chance(60) else INEXACT)
            case Kind.SIGNED | Kind.UNSIGNED:
                if chooser.chance(self.taste.oddities):
                    return chooser.choice((1.0, 2.5, True))
                table = WHOLE if chooser.chance(85) else WIDE
                held = [n for n in table if dtype.lowest <= n <= dtype.highest]
                return chooser.choice(held or (0, 1))


def points_of(shape: Shape) -> int:
    """How many points a shape of known extents has; symbolic ones count as 1."""
    return math.prod(n for n in shape if isinstance(n, int))
