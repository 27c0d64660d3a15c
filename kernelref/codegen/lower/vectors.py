"""Vectors: neighbouring elements that registers along one axis load or store at once.

Only where it changes nothing: the registers of 4 (or 2) coordinates lie side by side in memory,
the first at a multiple of that many elements, none masked. A texel of an image is four channels
under one mask.

Source: tinygrad 0.9.1 codegen/kernel.py, get_float4_upcast_dim (which dtypes); OpenCL C 1.2,
section 6.12.7 (vloadn, vload_halfn).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kernelref.codegen.lower.block import Env, Place
from kernelref.codegen.lower.indices import Indices, Leaf
from kernelref.ir.dtype import FLOAT, HALF, DType
from kernelref.ir.index import Sint, add, mod, simplify

_LANES = {FLOAT: (4, 2), HALF: (4,)}


@dataclass(frozen=True, slots=True)
class Vector:
    """`lanes` neighbours along `axis`, from coordinate `first` on."""

    axis: int
    first: int
    lanes: int
    address: Sint
    valid: Sint


def widths_of(dtype: DType, *, supports_float4: bool) -> tuple[int, ...]:
    """How many elements of a buffer argument may go at once, the most first."""
    if dtype.is_image:
        return (4,)
    return _LANES.get(dtype, ()) if supports_float4 else ()


def vector_at(
    indices: Indices, node: Leaf, env: Env, widths: Sequence[int], *, may_be_masked: bool
) -> Vector | None:
    """The vector of `node` that holds the point of `env`, if there is one."""
    for lanes in widths:
        for axis in indices.free(node):
            extent, coordinate = indices.kernel.axes[axis].extent, env[axis].coordinate
            if isinstance(extent, int) and isinstance(coordinate, int) and extent % lanes == 0:
                first = coordinate - coordinate % lanes
                vector = _along(indices, node, env, axis, first, lanes)
                if vector and (may_be_masked or vector.valid == 1):
                    return vector
    return None


def _along(
    indices: Indices, node: Leaf, env: Env, axis: int, first: int, lanes: int
) -> Vector | None:
    """Law: address(first + i) = address(first) + i, address(first) % lanes = 0, masks equal."""
    block = env[axis].block
    places = [indices.at(node, {**env, axis: Place(first + i, block)}) for i in range(lanes)]
    address, valid = places[0]
    if any(place != (add(address, i), valid) for i, place in enumerate(places)):
        return None
    if simplify(mod(address, lanes)) != 0:
        return None
    return Vector(axis, first, lanes, address, valid)
