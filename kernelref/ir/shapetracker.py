"""A ShapeTracker: a stack of Views, from the buffer's side (first) to the kernel's shape (last)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from kernelref.errors import InvalidInput
from kernelref.ir import stack, tinygrad_strides, view_moves
from kernelref.ir.index import Expr, Sint, Var, as_expr
from kernelref.ir.view import SOUND, Range, View, ViewAlgebra
from kernelref.ir.view_merge import invert_view, merge_views
from kernelref.ir.view_reshape import reshape as reshape_view

ENUMERATED_POINTS = 1 << 16
"""The real size of several Views is exact up to this many points, else bounded."""


@dataclass(frozen=True, slots=True)
class ShapeTracker:
    """Views from the last to the first: each address is a row-major index into the view before.

    `algebra` says whose views the movement ops leave behind; it does not change the meaning.
    """

    views: tuple[View, ...]
    algebra: ViewAlgebra = SOUND

    @staticmethod
    def from_shape(shape: tuple[Sint, ...], algebra: ViewAlgebra = SOUND) -> ShapeTracker:
        """A buffer of this shape, row-major."""
        return ShapeTracker((View.create(shape, algebra=algebra),), algebra)

    @property
    def shape(self) -> tuple[Sint, ...]:
        """The extents of the last view."""
        return self.views[-1].shape

    @property
    def contiguous(self) -> bool:
        """Whether every point's address is its row-major index."""
        return len(self.views) == 1 and self.views[0].contiguous

    @property
    def size(self) -> int:
        """How many points the shape has, symbolic extents at their maximum."""
        return self.views[-1].size

    def address(self, point: Sequence[Any]) -> tuple[Any, Any]:
        """Where `point` lies in the buffer and whether it is valid in every view."""
        address, valid = self.views[-1].address(point)
        for view in reversed(self.views[:-1]):
            coordinates: list[Any] = []
            for extent in reversed(view.shape):
                coordinates.insert(0, address % extent)
                address = address // extent
            address, inner = view.address(coordinates)
            valid = valid & inner
        return address, valid

    def index(
        self, point: Sequence[Sint] | None = None, *, simplified: bool = True
    ) -> tuple[Expr, Expr]:
        """The address and validity of `point` as expressions; by default of `axis_variables`.

        Law: for every value of the variables they equal `address`.
        """
        at = self.axis_variables() if point is None else tuple(point)
        if len(at) != len(self.shape):
            raise InvalidInput(f"a point of {len(at)} coordinates in {len(self.shape)} axes")
        address, valid = stack.locate(self.views, at, simplified=simplified)
        return as_expr(address), as_expr(valid)

    def axis_variables(self) -> tuple[Sint, ...]:
        """One variable an axis, idx0, idx1, ..., from 0 to the extent less 1; 0 for one of 1."""
        return stack.axis_variables(self.views)

    def variables(self) -> frozenset[Var]:
        """The symbolic variables that a view depends on."""
        return frozenset[Var]().union(*(view.variables() for view in self.views))

    def bind(self, values: Mapping[str, int]) -> ShapeTracker:
        """The ShapeTracker with variables replaced by values.

        Raises: InvalidInput when a value is outside the variable's bounds.
        """
        return ShapeTracker(tuple(v.bind(dict(values)) for v in self.views), self.algebra)

    def with_algebra(self, algebra: ViewAlgebra) -> ShapeTracker:
        """The same views under another algebra."""
        return ShapeTracker(self.views, algebra)

    def reshape(self, shape: tuple[Sint, ...]) -> ShapeTracker:
        """Other extents over the same row-major points; stacks a View where one cannot hold it."""
        view = reshape_view(self.views[-1], shape, self.algebra)
        if view is not None:
            return self._with_last(view)
        return ShapeTracker((*self.views, View.create(shape, algebra=self.algebra)), self.algebra)

    def permute(self, order: tuple[int, ...]) -> ShapeTracker:
        """Axis i of the result is axis order[i]."""
        return self._with_last(view_moves.permute(self.views[-1], order, self.algebra))

    def expand(self, shape: tuple[Sint, ...]) -> ShapeTracker:
        """Repeat axes of extent 1."""
        return self._with_last(view_moves.expand(self.views[-1], shape, self.algebra))

    def pad(self, padding: tuple[Range, ...]) -> ShapeTracker:
        """Add invalid points: (before, after) on each axis."""
        return self._with_last(view_moves.pad(self.views[-1], padding, self.algebra))

    def shrink(self, ranges: tuple[Range, ...]) -> ShapeTracker:
        """Keep the points in [begin, end) of each axis."""
        return self._with_last(view_moves.shrink(self.views[-1], ranges, self.algebra))

    def stride(self, steps: tuple[int, ...]) -> ShapeTracker:
        """Keep every |step|-th point of each axis, from the end where the step is negative."""
        return self._with_last(view_moves.keep_every(self.views[-1], steps, self.algebra))

    def _with_last(self, view: View) -> ShapeTracker:
        return ShapeTracker((*self.views[:-1], view), self.algebra)

    def simplify(self) -> ShapeTracker:
        """The last views merged as far as one View can say the same."""
        views = self.views
        while len(views) >= 2:
            merged = merge_views(views[-2], views[-1], self.algebra)
            if merged is None:
                break
            views = (*views[:-2], merged)
        return self if views is self.views else ShapeTracker(views, self.algebra)

    def __add__(self, other: ShapeTracker) -> ShapeTracker:
        """`other` on top of this one, merged view by view."""
        total = self
        for view in other.views:
            total = ShapeTracker((*total.views, view), self.algebra).simplify()
        return total

    def invert(self, shape: tuple[Sint, ...]) -> ShapeTracker | None:
        """The ShapeTracker that undoes this one on a buffer of `shape`, or None.

        It exists for permutes, flips, reshapes and the pads that a shrink undoes.
        """
        inverted: list[View] = []
        for i in reversed(range(len(self.views))):
            below = self.views[i - 1].shape if i else shape
            view = invert_view(self.views[i], below, self.algebra)
            if view is None:
                return None
            inverted.append(view)
        return ShapeTracker(tuple(inverted), self.algebra).reshape(shape)

    def real_strides(self, *, ignore_valid: bool = False) -> tuple[Sint | None, ...]:
        """Per axis by how much the address grows; None where masked or not linear.

        With `ignore_valid` a mask does not make a stride unknown. Under a release's algebra: what
        that release knows.

        Raises: Unsupported with reason release-raises where the release raises.
        """
        if self.algebra is SOUND:
            return stack.real_strides(self.views, ignore_valid=ignore_valid)
        return tinygrad_strides.real_strides(self.views, self.algebra, ignore_valid=ignore_valid)

    def unit_stride_axes(self, *, ignore_valid: bool = False) -> tuple[int, ...]:
        """The axes whose real stride is 1."""
        strides = self.real_strides(ignore_valid=ignore_valid)
        return tuple(axis for axis, stride in enumerate(strides) if stride == 1)

    def axis_is_masked(self, axis: int) -> bool:
        """Whether validity depends on this axis; under a release's algebra, as it sees it."""
        if self.algebra is SOUND:
            return stack.axis_is_masked(self.views, axis)
        return tinygrad_strides.axis_is_masked(self.views, self.algebra, axis)

    def real_size(self) -> int:
        """How many elements the buffer must have: one more than the largest valid address.

        Exact for one View, and for several up to ENUMERATED_POINTS; else a bound that is never too
        small. Symbolic parts count at their maximum. The same under every algebra.
        """
        return _real_size(self.views)

    def claimed_size(self) -> int:
        """The size that the algebra's release reports: too large at times, in 0.8.0 negative."""
        if self.algebra is SOUND:
            return self.real_size()
        return tinygrad_strides.claimed_size(self.views, self.algebra)


@lru_cache(maxsize=1 << 12)
def _real_size(views: tuple[View, ...]) -> int:
    tracker = ShapeTracker(views).simplify()
    shape = [n for n in tracker.shape if isinstance(n, int)]
    bound = stack.size_bound(tracker.views)
    is_costly = prod(shape) > ENUMERATED_POINTS or any(view.is_symbolic for view in views)
    if bound == 0 or len(tracker.views) == 1 or is_costly:
        return bound
    address, valid = tracker.address(np.ogrid[tuple(slice(n) for n in shape)])
    return int(np.max(np.where(valid, address, -1))) + 1
