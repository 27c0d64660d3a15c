"""Kernels that read their own output: which of them one pass of work-items can compute.

A work-item reads everything before it stores. So a load is right where it reads the element that
the same point stores, or an element that no point stores.
"""

from __future__ import annotations

import numpy as np

from kernelref.codegen.lower.indices import Indices
from kernelref.errors import Unsupported
from kernelref.ir.ast import Load, Store
from kernelref.ir.index import evaluate
from kernelref.opt.kernel import Kernel

ENUMERATED_POINTS = 1 << 22
"""Larger spaces, and symbolic ones, are judged by their expressions alone."""


def is_in_place(kernel: Kernel) -> bool:
    """Whether it reads a buffer that it stores to."""
    stored = {store.buffer for store in kernel.ast}
    return any(isinstance(node, Load) and node.buffer in stored for node in kernel.index)


def check_in_place(kernel: Kernel, indices: Indices) -> None:
    """Refuse a kernel in which one work-item reads what another one may have overwritten.

    Raises: Unsupported, reason `in-place-hazard`.
    """
    stores = {store.buffer: store for store in kernel.ast}
    for node in kernel.index:
        if isinstance(node, Load) and node.buffer in stores:
            store = stores[node.buffer]
            if indices.general(node)[0] != indices.general(store)[0]:
                _check(node, store, indices)


def _check(load: Load, store: Store, indices: Indices) -> None:
    """Look at every point: is what it loads its own, or nobody's?"""
    axes = sorted({*indices.free(load), *indices.free(store)})
    extents = [indices.kernel.axes[axis].extent for axis in axes]
    sizes = [extent for extent in extents if isinstance(extent, int)]
    if len(sizes) == len(extents) and np.prod(sizes, dtype=object) <= ENUMERATED_POINTS:
        grids = np.ogrid[tuple(slice(size) for size in sizes)]
        point = {f"axis{axis}": grid for axis, grid in zip(axes, grids, strict=True)}
        read, is_read, written, is_written = (
            np.broadcast_to(evaluate(index, point), sizes)
            for index in (*indices.general(load), *indices.general(store))
        )
        own = (read == written) & (is_written != 0)
        foreign = read[(is_read != 0) & ~own]
        if not np.isin(foreign, written[is_written != 0]).any():
            return
    detail = f"buffer {load.buffer} is read where another work-item may have written"
    raise Unsupported("in-place-hazard", detail)
