"""Two adjacent Views as one, where one View can say the same; and the View that undoes another."""

from __future__ import annotations

from kernelref.ir.index import Sint, product
from kernelref.ir.view import View, ViewAlgebra
from kernelref.ir.view_reshape import reshape


def merge_views(outer: View, inner: View, algebra: ViewAlgebra) -> View | None:
    """The View that takes a point through `inner` and then `outer`, or None."""
    if outer.contiguous:
        return inner
    if inner.contiguous and inner.shape == outer.shape:
        return outer
    if inner.contiguous and inner.size == outer.size:
        return reshape(outer, inner.shape, algebra)
    return None


def invert_view(view: View, shape: tuple[Sint, ...], algebra: ViewAlgebra) -> View | None:
    """The View from the view's flat space back to its points, or None where it is not one-to-one.

    Only permutes, flips and masks are undone.
    """
    if not all(isinstance(part, int) for part in (*view.strides, *view.shape)):
        return None
    undone = View.create(view.shape, algebra=algebra)
    if view.mask is not None:
        undone = undone.shrink(view.mask, algebra=algebra)
    strides = [stride for stride in view.strides if isinstance(stride, int)]
    undone = undone.stride(tuple(-1 if s < 0 else 1 for s in strides), algebra=algebra)
    order = sorted(range(len(strides)), key=lambda axis: -abs(strides[axis]))
    undone = undone.permute(tuple(order), algebra=algebra)
    return undone if product(undone.shape) == product(shape) else None
