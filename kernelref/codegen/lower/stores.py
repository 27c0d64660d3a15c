"""Stores: every output at every register combination, by vectors where they lie side by side."""

from __future__ import annotations

from collections.abc import Iterator

from kernelref.codegen.lower.block import Block, Env, Place, register_points
from kernelref.codegen.lower.indices import Indices
from kernelref.codegen.lower.values import Values
from kernelref.codegen.lower.vectors import Vector, vector_at, widths_of
from kernelref.codegen.program import Define, Operand, Pack, Register, StoreGlobal
from kernelref.ir.ast import Store


def texel_outputs(indices: Indices, env: Env) -> frozenset[int]:
    """The image outputs that are stored by whole texels."""
    return frozenset(
        store.buffer
        for store in indices.kernel.ast
        if store.dtype.is_image
        and all(
            vector_at(indices, store, {**env, **point}, (4,), may_be_masked=True)
            for point in register_points(indices.kernel, indices.free(store), env)
        )
    )


def emit_stores(values: Values, env: Env, block: Block) -> None:
    """All values first, then all stores: a kernel in place reads before it writes."""
    stores = [
        (store, {**env, **point})
        for store in values.kernel.ast
        for point in register_points(values.kernel, values.indices.free(store), env)
    ]
    operands = {_key(values, *place): values.operand(place[0].value, place[1]) for place in stores}
    done: set[object] = set()
    for store, place in stores:
        if _key(values, store, place) in done:
            continue
        buffer = values.arguments[store.buffer]
        widths = widths_of(buffer.dtype, supports_float4=values.kernel.limits.supports_float4)
        is_image = buffer.dtype.is_image
        vector = vector_at(values.indices, store, place, widths, may_be_masked=is_image)
        lanes = [place] if vector is None else list(_lanes(place, vector))
        keys = [_key(values, store, lane) for lane in lanes]
        done.update(keys)
        _emit(values, store, vector, [operands[key] for key in keys], place, block)


def _emit(
    values: Values,
    store: Store,
    vector: Vector | None,
    operands: list[Operand],
    place: Env,
    block: Block,
) -> None:
    name = values.arguments[store.buffer].name
    if vector is None:
        address, valid = values.indices.at(store, place)
        if valid != 0:
            block.add(StoreGlobal(name, address, valid, operands[0]))
        return
    packed = Register(values.names.fresh("pack"), store.dtype.value, vector.lanes)
    block.add(Define(packed, Pack(tuple(operands), store.dtype.value)))
    block.add(StoreGlobal(name, vector.address, vector.valid, packed, vector.lanes))


def _lanes(place: Env, vector: Vector) -> Iterator[Env]:
    block = place[vector.axis].block
    for lane in range(vector.lanes):
        yield {**place, vector.axis: Place(vector.first + lane, block)}


def _key(values: Values, store: Store, place: Env) -> tuple[Store, tuple[object, ...]]:
    free = values.indices.free(store)
    return store, tuple(place[axis].coordinate for axis in free)
