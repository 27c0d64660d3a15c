"""The obligation `padding`: at padded points a reduction receives nothing that can change it, and
nothing traps. That nothing is stored there is part of `index`.

At a point beyond an axis's end before, every buffer that varies along the axis is masked (that is
part of `index`), so its loads and constants give 0; what else there is to know follows by ranges.
Where ranges do not settle it, inputs are tried: one with which the result differs is a witness.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kernelref.errors import Unsupported
from kernelref.ir import semantics
from kernelref.ir.ast import (
    Alu,
    Ast,
    Cast,
    Constant,
    Load,
    Node,
    Op,
    Reduce,
    ReduceOp,
    Store,
    Value,
    postorder,
)
from kernelref.ir.dtype import DType
from kernelref.ir.index import Expr, bounds
from kernelref.ir.semantics import Array
from kernelref.prove import ranges
from kernelref.prove.measure import Measure
from kernelref.prove.obligations import Factor, factors
from kernelref.prove.ranges import PLUS_ZERO, ZERO, Range, anything, hull
from kernelref.prove.step import Side, Step
from kernelref.prove.verdict import Failure, Open, Part, Shown, Witness

ENGINE = "evaluation"
TRIALS = 60
_MAY_TRAP = frozenset({Op.DIV, Op.IDIV, Op.MOD, Op.RECIP, Op.SHL, Op.SHR})


def padding(step: Step, ast: Ast) -> Iterator[Part]:
    """The parts of the obligation, one for each padded axis."""
    padded = [factor for factor in factors(step.map) if factor.guard]
    if not padded:
        yield Shown(ENGINE, "no padded points")
    for factor in padded:
        yield from _of_factor(step, ast, factor)


@dataclass(frozen=True, slots=True)
class Padded:
    """What values are at points that are padded along one factor of the map."""

    step: Step
    ast: Ast
    factor: Factor

    @property
    def side(self) -> Side:
        """The side after."""
        return self.step.fine

    def varies(self, node: Load | Constant | Store) -> bool:
        """Whether a buffer varies along the padded axes: it is masked there."""
        return bool(self.side.accesses[self.step.index[node]].axes & set(self.factor.fine))

    def sums(self, reduce: Reduce) -> bool:
        """Whether a reduction runs over the padded axes."""
        number = list(self.step.reduces).index(reduce)
        return bool(self.side.sums[number] & set(self.factor.fine))


def _of_factor(step: Step, ast: Ast, factor: Factor) -> Iterator[Part]:
    where = Padded(step, ast, factor)
    real = _evaluate(where, is_padded=False)
    at_padding = _evaluate(where, is_padded=True, real=real)
    touched = _touched(where)
    axes = ", ".join(map(str, factor.coarse))
    for node in postorder(ast):
        if isinstance(node, Reduce) and where.sums(node):
            received = at_padding[node.value]
            if _is_harmless(node, received, real[node.value]):
                continue
            yield _try_inputs(where, f"{node.op.name} over axis {axes} receives {received}")
            return
        if isinstance(node, Alu) and _may_trap(node, at_padding, touched):
            yield _try_to_trap(where, node)
            return
    yield Shown(ENGINE, f"padding of axis {axes}")


def _is_harmless(reduce: Reduce, padded: Range, real: Range) -> bool:
    """Whether the reduction is the same with the padded value among its terms."""
    if reduce.op is ReduceOp.SUM:
        return padded.is_zero
    return not padded.nan and padded.high <= max(real.low, reduce.dtype.value.lowest)


def _evaluate(
    where: Padded, *, is_padded: bool, real: Mapping[Node, Range] | None = None
) -> dict[Node, Range]:
    """A range for every node, at points that are padded along the factor, or at real ones."""
    found: dict[Node, Range] = {}
    for node in postorder(where.ast):
        match node:
            case Load(_, dtype) | Constant(_, dtype) if is_padded and where.varies(node):
                found[node] = PLUS_ZERO
            case Load(_, dtype):
                found[node] = anything(dtype)
            case Constant(value, dtype):
                found[node] = _constant(node, value, dtype)
            case Alu(op, sources):
                operands = [found[source] for source in sources]
                found[node] = ranges.applied(op, operands, sources[-1].dtype)
            case Cast(source, dtype, bitcast):
                found[node] = ranges.converted(found[source], source.dtype, dtype, bitcast=bitcast)
            case Reduce(op) if real is not None and where.sums(node):
                found[node] = real[node]
            case Reduce(op, source):
                found[node] = ranges.reduced(op, found[source], node.dtype)
            case Store():
                continue
    return found


def _constant(node: Constant, value: bool | int | float | Expr, dtype: DType) -> Range:
    if isinstance(value, Expr):
        low, high = bounds(value)
        known = hull(ranges.literal(low, dtype), ranges.literal(high, dtype))
    else:
        known = ranges.literal(value, dtype)
    is_masked = any(view.mask is not None for view in node.st.views)
    return hull(known, ZERO) if is_masked else known


def _touched(where: Padded) -> set[Node]:
    """The nodes whose value at a padded point depends on something masked there."""
    found: set[Node] = set()
    for node in postorder(where.ast):
        match node:
            case Load() | Constant():
                is_touched = where.varies(node)
            case Reduce(_, source):
                is_touched = source in found and not where.sums(node)
            case Alu(_, sources):
                is_touched = any(source in found for source in sources)
            case Cast(source):
                is_touched = source in found
            case _:
                is_touched = False
        if is_touched:
            found.add(node)
    return found


def _may_trap(node: Alu, values: Mapping[Node, Range], touched: set[Node]) -> bool:
    """Whether an op may do at a padded point what it does at no real one."""
    dtype = node.src[-1].dtype.value
    if node.op not in _MAY_TRAP or not dtype.is_int:
        return False
    left, right = node.src[0], node.src[-1]
    divisor = values[right]
    if right in touched:
        if node.op in (Op.SHL, Op.SHR):
            return divisor.low < 0 or divisor.high >= dtype.bits
        if divisor.holds(0):
            return True
    is_touched = left in touched or right in touched
    return is_touched and divisor.holds(-1) and values[left].holds(dtype.lowest)


@dataclass(frozen=True, slots=True)
class Fill:
    """Inputs: every buffer holds one value everywhere."""

    values: Mapping[int, float]

    def __str__(self) -> str:
        return ", ".join(f"buffer {n} full of {v}" for n, v in self.values.items()) or "no inputs"

    def __call__(self, buffer: int, dtype: DType, address: Array) -> Array:
        """What a buffer holds at some addresses."""
        value = self.values[buffer]
        kind = dtype.value
        if not kind.is_float:
            value = min(max(int(value), kind.lowest), kind.highest) if abs(value) < 1e30 else 1
        return np.full(np.shape(address), value, dtype.numpy)


_FILLS = (1.0, 0.0, -1.0, 2.0, -3.0, 0.5, 7.0, -100.0, 100.0, -1e9, 1e9)
_WILD_FILLS = (float("inf"), float("-inf"), float("nan"))


def _fills(ast: Ast) -> Iterator[Fill]:
    """Inputs to try: the same everywhere, then mixed; infinities and NaN last."""
    numbers = sorted({node.buffer for node in postorder(ast) if isinstance(node, Load)})
    rng = random.Random(0)
    for value in _FILLS:
        yield Fill(dict.fromkeys(numbers, value))
    for _ in range(TRIALS):
        yield Fill({number: rng.choice(_FILLS) for number in numbers})
    for _ in range(TRIALS if numbers else 0):
        yield Fill({number: rng.choice((*_FILLS, *_WILD_FILLS)) for number in numbers})


def _measures(where: Padded, fill: Fill) -> tuple[Measure, Measure]:
    step = where.step
    symbols = {var.name: var.low for var in step.symbols}
    before, after = (
        Measure(side, step.reduces, step.index, fill, symbols) for side in (step.coarse, step.fine)
    )
    return before, after


def _try_inputs(where: Padded, suspicion: str) -> Part:
    """Inputs with which an output differs before and after; at the first point of all axes."""
    try:
        for fill in _fills(where.ast):
            before, after = _measures(where, fill)
            for store in where.ast:
                wanted, found = before.value(store.value, {}), after.value(store.value, {})
                if not _same(wanted, found):
                    says = f"{suspicion}; with {fill} the right result and the one it has are"
                    subject = f"output {store.buffer}"
                    return Failure(Witness(subject, says, (), wanted.item(), found.item()))
    except Unsupported as error:
        return Open(f"{suspicion}; {error}")
    return Open(f"{suspicion}, and no inputs that were tried show it")


def _same(wanted: Array, found: Array) -> bool:
    a, b = float(wanted), float(found)
    return bool(np.isclose(a, b, rtol=1e-3, atol=1e-6, equal_nan=True))


def _try_to_trap(where: Padded, node: Alu) -> Part:
    """Inputs with which an op is undefined at the last point of the padded axes."""
    suspicion = f"{node.op.name} of {node.src[0].dtype} at a padded point"
    extents = where.side.extents
    at = {axis: extents[axis] for axis in where.factor.fine}
    point = {axis: n - 1 for axis, n in at.items() if isinstance(n, int)}
    try:
        for fill in _fills(where.ast):
            after = _measures(where, fill)[1]
            found = _trap(after, node, node.src, point)
            if found:
                says = f"{suspicion}; with {fill}"
                place = tuple(point.get(axis, 0) for axis in range(len(extents)))
                return Failure(Witness("a padded point", says, place, "no trap", found))
    except Unsupported as error:
        return Open(f"{suspicion}; {error}")
    return Open(f"{suspicion}, and no inputs that were tried trap")


def _trap(after: Measure, node: Alu, sources: Sequence[Value], point: Mapping[int, int]) -> str:
    """The operands for which the op is undefined here, in words, or ""."""
    operands = [after.value(source, point) for source in sources]
    bad = semantics.undefined_where(node.op, operands, sources[-1].dtype.value)
    if bad is None or not bool(np.any(bad)):
        return ""
    return f"a trap on {', '.join(str(operand.item()) for operand in operands)}"
