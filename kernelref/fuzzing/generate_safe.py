"""What keeps a generated value defined: ranges, and clamps where a range is too wide.

The ranges are those of `run/ranges`, for inputs as wide as any plan of inputs draws them
(`run/inputs`); a value with a pole or an infinity below it has no range here.
"""

from __future__ import annotations

import math

from kernelref.fuzzing.generate_leaves import Leaves
from kernelref.ir.ast import Alu, Load, Op, Store, Value, postorder
from kernelref.ir.dtype import HALF, DType
from kernelref.ir.shapetracker import ShapeTracker
from kernelref.run.points import symbols
from kernelref.run.ranges import Range, analyse, whole_range

WIDEST = Range(-64, 64, None)
MARGIN = 1.05
"""How much wider than computed a range is taken: rounding leaves ideal ranges a little."""
CLEAR = 1.1
"""How far from the ends of an integer dtype a clamp keeps: by more than MARGIN."""


def finite_range(value: Value) -> Range | None:
    """Between which finite numbers a value lies; None where NaN or an infinity may come."""
    loads = {node.buffer: node.dtype for node in postorder((value,)) if isinstance(node, Load)}
    ranges = {buffer: _drawn(dtype) for buffer, dtype in loads.items()}
    root = (Store(0, value.dtype, ShapeTracker.from_shape(value.shape), value),)
    highest = {s.name: s.high for s in symbols(root) if isinstance(s.high, int)}
    analysis = analyse(root, ranges, highest)
    if analysis.poles or any(not _is_finite(found) for found in analysis.ranges.values()):
        return None
    found = analysis.ranges[value]
    most = 65504 if any(_is_half(node.dtype) for node in analysis.ranges) else 2.0**100
    if any(range.size > most for range in analysis.ranges.values() if range.granule is None):
        return None
    return Range(found.low * MARGIN, found.high * MARGIN, None)


def _is_half(dtype: DType) -> bool:
    return dtype.storage == HALF


def _drawn(dtype: DType) -> Range:
    return WIDEST if dtype.value.is_float else whole_range(dtype)


def _is_finite(found: Range) -> bool:
    return math.isfinite(found.low) and math.isfinite(found.high)


def fits(value: Value, dtype: DType) -> bool:
    """Whether a float always has an integer part that `dtype` holds."""
    found, whole = finite_range(value), whole_range(dtype)
    return found is not None and whole.low <= found.low and found.high <= whole.high


def clamped(leaves: Leaves, value: Value, dtype: DType) -> Value:
    """A finite float kept between 0 (or the lowest, if near) and what `dtype` holds."""
    whole, of = whole_range(dtype), value.dtype.value
    low = max(float(math.trunc(whole.low / CLEAR)), -1000.0)
    high = min(float(math.trunc(whole.high / CLEAR)), 1000.0)

    def no_less(number: Value, limit: float) -> Value:
        return Alu(Op.MAX, (number, leaves.plain(limit, value.shape, of)))

    return Alu(Op.NEG, (no_less(Alu(Op.NEG, (no_less(value, low),)), -high),))
