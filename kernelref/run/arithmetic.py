"""What the oracle computes with: a way to carry a value, and one op on such values.

`Exact` carries each value as its dtype holds it, rounded after every op. `errorbound.Bounded`
carries a float64 reference and an error bound. The walk over the AST is the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

import numpy as np

from kernelref.ir import semantics
from kernelref.ir.ast import Op, Reduce
from kernelref.ir.dtype import DType
from kernelref.ir.semantics import Array

T = TypeVar("T")


class Arithmetic(Protocol[T]):
    """A carrier of values. Shapes: all values broadcast against each other."""

    def lift(self, values: Array, dtype: DType) -> T:
        """Loaded or constant values of `dtype`, which are exact."""
        ...

    def apply(self, op: Op, operands: Sequence[T], dtype: DType) -> T:
        """One element-wise op; `dtype` is the operands' (WHERE: of the last two)."""
        ...

    def convert(self, value: T, source: DType, target: DType, *, bitcast: bool = False) -> T:
        """A cast, or with `bitcast` the same bits."""
        ...

    def start(self, node: Reduce) -> T:
        """A reduction of no terms yet."""
        ...

    def fold(self, node: Reduce, so_far: T, terms: T, steps_first: Callable[[Array], Array]) -> T:
        """More terms, in order; `steps_first` brings an array to (steps, *points)."""
        ...

    def finish(self, node: Reduce, so_far: T) -> T:
        """The result, when all terms are folded."""
        ...

    def arrays(self, value: T) -> tuple[Array, ...]:
        """The arrays that `value` consists of."""
        ...


class Exact:
    """Every dtype's own values, rounded after each op, reductions in order.

    `undefined` counts the points at which C leaves an op undefined, by op and dtype.
    """

    def __init__(self) -> None:
        self.undefined: Counter[str] = Counter()

    def lift(self, values: Array, dtype: DType) -> Array:
        """The values themselves."""
        return values

    def apply(self, op: Op, operands: Sequence[Array], dtype: DType) -> Array:
        """`semantics.apply`."""
        self._count(f"{op.name} of {dtype}", semantics.undefined_where(op, operands, dtype))
        return semantics.apply(op, operands, dtype)

    def convert(
        self, value: Array, source: DType, target: DType, *, bitcast: bool = False
    ) -> Array:
        """`semantics.convert` or `semantics.bitcast`."""
        if bitcast:
            return semantics.bitcast(value, source, target)
        undefined = semantics.conversion_undefined_where(value, source, target)
        self._count(f"CAST of {source} to {target}", undefined)
        return semantics.convert(value, source, target)

    def start(self, node: Reduce) -> Array:
        """The identity."""
        return semantics.constant(semantics.identity(node.op, node.dtype), node.dtype)

    def fold(
        self,
        node: Reduce,
        so_far: Array,
        terms: Array,
        steps_first: Callable[[Array], Array],
    ) -> Array:
        """`semantics.fold`."""
        return semantics.fold(node.op, so_far, steps_first(terms), node.dtype)

    def finish(self, node: Reduce, so_far: Array) -> Array:
        """Nothing is left to do."""
        return so_far

    def arrays(self, value: Array) -> tuple[Array, ...]:
        """The values."""
        return (value,)

    def _count(self, what: str, undefined: Array | None) -> None:
        if undefined is not None and undefined.any():
            self.undefined[what] += int(np.count_nonzero(undefined))
