"""Which axes of a kernel without opts merge into one.

Rewrite: axes of extents (m, n) -> one axis of extent m*n.
Law: merged = outer*n + inner, in every buffer at once.
"""

from __future__ import annotations

from collections.abc import Sequence

from kernelref.ir.index import Sint
from kernelref.ir.shapetracker import ShapeTracker

Strides = Sequence[Sint | None]


def merge_groups(
    sts: Sequence[ShapeTracker],
    extents: Sequence[Sint],
    iterates: Sequence[Sequence[bool]],
    boundary: int,
    image: tuple[int, int, int] | None,
) -> tuple[tuple[int, ...], ...]:
    """Runs of neighbouring axes that merge, in order; `boundary` is the first reduced axis.

    Neighbours merge when every buffer steps through both as through one: its strides are known and
    outer = inner_extent * inner != 0, or both are 0. A buffer with the full extent on one and 1 on
    the other does not, and the same reductions must run over both: max over one axis of a sum over
    the other is not a max, nor a sum, over the merged axis. For an image output the strides of a
    buffer of the image's own shape take part, so that image rows and columns stay apart.
    Axes of full extent 1 are gone before; where every buffer has extent 1 on both axes its strides
    are 0 and 0, so that size-1 dims of reduced values always merge.
    Source: tinygrad 0.9.1 codegen/kernel.py, simplify_merge_adjacent.
    """
    if not extents:
        return ()
    layouts: list[tuple[Sequence[Sint], Strides]] = [(st.shape, st.real_strides()) for st in sts]
    if image is not None and (strides := _image_strides(sts[0].shape, image)) is not None:
        layouts.append((sts[0].shape, strides))
    groups = [[0]]
    for axis in range(1, len(extents)):
        if (
            axis != boundary
            and all(_continues(shape, strides, axis) for shape, strides in layouts)
            and all(_same_extent_kind(shape, extents, axis) for shape, _ in layouts)
            and all(row[axis - 1] == row[axis] for row in iterates)
        ):
            groups[-1].append(axis)
        else:
            groups.append([axis])
    return tuple(tuple(group) for group in groups)


def _continues(shape: Sequence[Sint], strides: Strides, axis: int) -> bool:
    """Whether stepping over the end of `axis` is one step of the axis before."""
    outer, inner = strides[axis - 1], strides[axis]
    if inner is None or outer is None:
        return False
    return bool(outer == 0 if inner == 0 else outer == shape[axis] * inner)


def _same_extent_kind(shape: Sequence[Sint], extents: Sequence[Sint], axis: int) -> bool:
    """Whether the buffer has the full extent on both axes or on neither."""
    return (shape[axis - 1] == extents[axis - 1]) == (shape[axis] == extents[axis])


def _image_strides(shape: Sequence[Sint], image: tuple[int, int, int]) -> tuple[Sint, ...] | None:
    """Row-major strides inside each dim of `image`; None if `shape` does not contract to it."""
    groups = _contraction(shape, image)
    if groups is None:
        return None
    strides: list[Sint] = []
    for group in groups:
        step: Sint = 1
        piece: list[Sint] = []
        for axis in reversed(group):
            piece.insert(0, 0 if shape[axis] == 1 else step)
            step = shape[axis] * step
        strides.extend(piece)
    return tuple(strides)


def _contraction(shape: Sequence[Sint], target: Sequence[int]) -> list[range] | None:
    """For each dim of `target`, the run of dims of `shape` whose product it is.

    A run ends at the first dim that completes the product; dims left over belong to the last run.
    """
    products: list[Sint] = []
    product: Sint = 1
    for extent in shape:
        product = product * extent
        products.append(product)
    ends: list[int] = []
    wanted = 1
    for extent in target:
        wanted *= extent
        if wanted == 1:
            ends.append(0)
        elif wanted in products:
            ends.append(products.index(wanted) + 1)
        else:
            return None
    ends[-1] = len(shape)
    return [range(begin, end) for begin, end in zip([0, *ends[:-1]], ends, strict=True)]
