"""What one side of a step computes at one output point, in numbers: how a suspicion is replayed.

Slow and plain: the AST is read at the side's own axes, a reduction collects all its terms and folds
them. Inputs are a function of buffer and address, so that no buffer has to exist.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from kernelref.errors import Unsupported
from kernelref.ir import semantics
from kernelref.ir.ast import (
    Alu,
    Cast,
    Constant,
    Load,
    Node,
    Reduce,
    Store,
    Value,
    children,
)
from kernelref.ir.dtype import DType
from kernelref.ir.index import Expr, Sint, evaluate
from kernelref.ir.semantics import Array
from kernelref.prove.claim import Values, lift_at
from kernelref.prove.step import Side

Inputs: TypeAlias = Callable[[int, DType, Array], Array]
"""The values that a buffer of a dtype holds at some addresses."""

MOST_TERMS = 1 << 20
"""Terms that one reduction may have here."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A side with what its buffers are for, and numbers for its inputs and symbols."""

    side: Side
    reduces: Sequence[Reduce]
    index: Mapping[Node, int]
    inputs: Inputs
    symbols: Values

    def value(self, root: Value, at: Mapping[int, int]) -> Array:
        """The value of a node where the axes it varies along stand as `at` says.

        Raises: Unsupported for reductions of too many terms.
        """
        with semantics.quiet():
            return self._value(root, at, frozenset()).reshape(())

    def trap(self, root: Value, at: Mapping[int, int]) -> str:
        """The op that is undefined at this point, or ""; reductions are not looked into."""
        with semantics.quiet():
            for node in _until_reductions(root):
                if isinstance(node, Alu):
                    operands = [self._value(source, at, frozenset()) for source in node.src]
                    bad = semantics.undefined_where(node.op, operands, node.src[-1].dtype.value)
                    if bad is not None and bool(np.any(bad)):
                        return f"{node.op.name} of {', '.join(str(o.item()) for o in operands)}"
        return ""

    def terms(self, reduce: Reduce, at: Mapping[int, int]) -> Array:
        """What a reduction receives, one value for each of its iterations."""
        with semantics.quiet():
            return self._terms(reduce, at, frozenset())

    def _value(self, root: Value, at: Mapping[int, int], opened: frozenset[int]) -> Array:
        """Arrays have one dim an axis, of extent 1 but along those opened."""
        known: dict[Value, Array] = {}
        for node in _until_reductions(root):
            known[node] = self._one(node, known, at, opened)
        return known[root]

    def _one(
        self,
        node: Value,
        known: Mapping[Value, Array],
        at: Mapping[int, int],
        opened: frozenset[int],
    ) -> Array:
        match node:
            case Load(buffer, dtype):
                address, valid = self._locate(node, at, opened)
                held = self.inputs(buffer, dtype, np.where(valid, address, 0))
                return np.where(valid, held, dtype.numpy.type(0))
            case Constant(value, dtype):
                _, valid = self._locate(node, at, opened)
                number = evaluate(value, self.symbols) if isinstance(value, Expr) else value
                return np.where(valid, semantics.constant(number, dtype), dtype.numpy.type(0))
            case Alu(op, sources):
                operands = [known[source] for source in sources]
                return np.asarray(semantics.apply(op, operands, sources[-1].dtype.value))
            case Cast(source, dtype, bitcast):
                change = semantics.bitcast if bitcast else semantics.convert
                return np.asarray(change(known[source], source.dtype.value, dtype.value))
            case Reduce(op):
                terms = self._terms(node, at, opened)
                start = semantics.constant(semantics.identity(op, node.dtype), node.dtype)
                return np.asarray(semantics.fold(op, start, terms, node.dtype.value))
        raise AssertionError(f"not a value node: {node!r}")

    def _terms(self, reduce: Reduce, at: Mapping[int, int], opened: frozenset[int]) -> Array:
        """Shapes: terms first, then one dim an axis, those of the reduction of extent 1."""
        axes = sorted(self.side.sums[list(self.reduces).index(reduce)])
        extents = [self._extent(axis) for axis in axes]
        if math.prod(extents) > MOST_TERMS:
            raise Unsupported("long-reduction", f"{math.prod(extents)} terms")
        value = self._value(reduce.value, at, opened | set(axes))
        shape = list(value.shape)
        for axis, extent in zip(axes, extents, strict=True):
            shape[axis] = extent
        full = np.broadcast_to(value, shape)
        front = np.moveaxis(full, axes, range(len(axes)))
        rest = [1 if axis in axes else n for axis, n in enumerate(shape)]
        return front.reshape(-1, *rest)

    def _locate(
        self, node: Load | Constant | Store, at: Mapping[int, int], opened: frozenset[int]
    ) -> tuple[Array, Array]:
        rank = len(self.side.extents)
        point: list[Any] = []
        for axis in range(rank):
            shape = [1] * rank
            if axis in opened:
                shape[axis] = -1
                point.append(np.arange(self._extent(axis)).reshape(shape))
            else:
                point.append(np.full(shape, at.get(axis, 0)))
        access = self.side.accesses[self.index[node]]
        address, valid = access.address(point, lift_at(self.symbols))
        grid = np.broadcast_arrays(np.asarray(address), np.asarray(valid), *point)
        along = access.axes & opened
        keep = tuple(slice(None) if axis in along else slice(0, 1) for axis in range(rank))
        return grid[0][keep], grid[1][keep].astype(bool)

    def _extent(self, axis: int) -> int:
        extent: Sint = self.side.extents[axis]
        return int(evaluate(extent, self.symbols))


def _until_reductions(root: Value) -> list[Value]:
    """The nodes under `root`, sources first; what lies below a reduction is left out."""
    order: dict[Value, None] = {}
    pending: list[tuple[Value, bool]] = [(root, False)]
    while pending:
        node, is_open = pending.pop()
        if is_open or (isinstance(node, Reduce) and node not in order):
            order[node] = None
        elif node not in order:
            pending.append((node, True))
            pending.extend((source, False) for source in reversed(children(node)))
    return list(order)
