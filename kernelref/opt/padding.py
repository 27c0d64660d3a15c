"""Whether padding an axis can change a result: the expression evaluated at a padded point.

At a point beyond an axis's old end every buffer that varies along the axis is masked, so its loads
and constants give 0; buffers of extent 1 there give what they give at real points. From these the
value that each reduction receives follows, per dtype, as far as it can be known. What cannot be
known is taken for the worst: padding may be refused needlessly, never permitted wrongly.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, assert_never

import numpy as np

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
    postorder,
)
from kernelref.ir.dtype import DType, Kind
from kernelref.ir.index import Expr
from kernelref.ir.semantics import Array
from kernelref.opt.floors import floor_of

if TYPE_CHECKING:
    from kernelref.opt.kernel import Kernel

_ROUNDED = frozenset({Op.EXP2, Op.LOG2, Op.SIN, Op.SQRT, Op.RECIP, Op.DIV})
"""Ops that a device need not round exactly, except where C99 names the result."""
_NAMED_POINTS = (0.0, 1.0, float("inf"), float("-inf"))


@dataclass(frozen=True, slots=True)
class Padded:
    """What is known of a value at a padded point.

    `value` is the value, or None. `touched`: it depends on something masked; otherwise it is a
    value that real points have too. `finite`: an unknown value is not an infinity and not NaN.
    """

    value: Array | None
    touched: bool
    finite: bool = False


@dataclass(frozen=True, slots=True)
class Judgement:
    """Why padding is unsafe, in words: for a reduction, and for an op that may trap; "" if safe."""

    reduction: str = ""
    trap: str = ""


def judge(kernel: Kernel, axis: int) -> Judgement:
    """What goes wrong at padded points of `axis`, if anything may."""
    varying = frozenset(
        node for node, buffer in kernel.index.items() if kernel.sts[buffer].shape[axis] != 1
    )
    running = frozenset(
        reduce
        for reduce, runs_over in zip(kernel.reduces, kernel.iterates, strict=True)
        if runs_over[axis]
    )
    return _judge(kernel.ast, varying, running)


@lru_cache(maxsize=512)
def _judge(ast: Ast, varying: frozenset[Node], running: frozenset[Node]) -> Judgement:
    """`varying`: buffers that are masked at padded points; `running`: reductions over the axis."""
    values: dict[Node, Padded] = {}
    reduction = trap = ""
    with semantics.quiet():
        for node in postorder(ast):
            if isinstance(node, Alu) and not trap and _may_trap(node, values):
                trap = f"{node.op.name} of {node.src[0].dtype} by a padded value"
            if isinstance(node, Reduce) and not reduction and node in running:
                reduction = _fault(node, values[node.value])
            if node in varying and isinstance(node, Load | Constant):
                values[node] = _zero(node.dtype)
            else:
                values[node] = _evaluate(node, values, runs=node in running)
    return Judgement(reduction, trap)


def _fault(reduce: Reduce, padded: Padded) -> str:
    """Why the reduction may change when it also receives this value; "" when it cannot."""
    value = padded.value
    if value is None:
        return f"{reduce.op.name} receives an unknown value"
    match reduce.op:
        case ReduceOp.SUM:
            safe = bool(value == 0)
        case ReduceOp.MAX:
            safe = bool(value == reduce.dtype.value.lowest) or value.item() <= floor_of(
                reduce.value
            )
        case _:
            assert_never(reduce.op)
    return "" if safe else f"{reduce.op.name} receives {value}"


def _may_trap(node: Alu, values: dict[Node, Padded]) -> bool:
    """Whether `node` may do at a padded point what it does at no real one."""
    operands = [values[source] for source in node.src]
    dtype = node.src[-1].dtype.value
    if not any(operand.touched for operand in operands) or dtype.is_float:
        return False
    if node.op not in semantics.DIVISIONS | semantics.SHIFTS:
        return False
    known = [operand.value for operand in operands if operand.value is not None]
    if len(known) == len(operands):
        where = semantics.undefined_where(node.op, known, dtype)
        return where is not None and bool(np.any(where))
    divisor, dividend = operands[-1], operands[0]
    if divisor.touched and divisor.value is None:
        return True
    # 0 // x and 0 % x do at most what real points do with the same x.
    return dividend.touched and dividend.value is None and _may_be_minus_one(divisor, dtype)


def _may_be_minus_one(divisor: Padded, dtype: DType) -> bool:
    if dtype.kind is not Kind.SIGNED:
        return divisor.value is not None and not divisor.value
    return divisor.value is None or bool(divisor.value == -1) or not divisor.value


def _evaluate(node: Node, values: dict[Node, Padded], *, runs: bool) -> Padded:
    """The value of a node that is not masked itself; `runs`: a reduction over the padded axis."""
    match node:
        case Load():
            return Padded(None, touched=False, finite=not node.dtype.value.is_float)
        case Constant():
            return _constant(node)
        case Store(value=value):
            return values[value]
        case Cast():
            return _cast(node, values[node.value])
        case Alu():
            return _alu(node, [values[source] for source in node.src])
        case Reduce():
            return _reduce(node, values[node.value], runs=runs)
        case _:
            assert_never(node)


def _zero(dtype: DType) -> Padded:
    return Padded(semantics.constant(0, dtype), touched=True, finite=True)


def _constant(node: Constant) -> Padded:
    is_masked = any(view.mask is not None for view in node.st.views)
    if isinstance(node.value, Expr) or is_masked:
        return Padded(None, touched=False)
    value = semantics.constant(node.value, node.dtype)
    return Padded(value, touched=False, finite=bool(np.all(np.isfinite(value))))


def _cast(node: Cast, source: Padded) -> Padded:
    from_, to = node.value.dtype.value, node.dtype.value
    if source.value is not None:
        if node.bitcast:
            return Padded(semantics.bitcast(source.value, from_, to), source.touched)
        converted = semantics.convert(source.value, from_, to)
        return Padded(converted, source.touched, bool(np.all(np.isfinite(converted))))
    fits = not from_.is_float and (not to.is_float or to.itemsize >= 4)
    return Padded(None, source.touched, finite=fits and not node.bitcast)


def _alu(node: Alu, operands: list[Padded]) -> Padded:
    touched = any(operand.touched for operand in operands)
    dtype = node.src[-1].dtype.value
    known = [operand.value for operand in operands if operand.value is not None]
    if len(known) == len(operands):
        if node.op in _ROUNDED and dtype.is_float and not _is_exact(node.op, known):
            return Padded(None, touched)
        result = np.asarray(semantics.apply(node.op, known, dtype))
        return Padded(result, touched, bool(np.all(np.isfinite(result))))
    return _partly_known(node, operands, touched=touched)


def _is_exact(op: Op, operands: list[Array]) -> bool:
    """Whether C99 names the result, so that every device gives it."""
    points = operands[:1] if op is not Op.DIV else operands
    return all(float(value) in _NAMED_POINTS for value in points) or (
        op is Op.DIV and float(operands[0]) == 0.0
    )


def _partly_known(node: Alu, operands: list[Padded], *, touched: bool) -> Padded:
    """Ops whose result an operand can decide alone."""
    dtype = node.dtype.value
    unknown = Padded(None, touched, finite=not dtype.is_float)
    match node.op:
        case Op.WHERE if operands[0].value is not None:
            chosen = operands[1] if operands[0].value else operands[2]
            return Padded(chosen.value, touched, chosen.finite)
        case Op.MUL:
            for mine, other in (operands, operands[::-1]):
                if mine.value is not None and not mine.value and other.finite:
                    return Padded(semantics.constant(0, dtype), touched, finite=True)
        case Op.IDIV | Op.MOD | Op.SHL | Op.SHR | Op.DIV if not dtype.is_float:
            if operands[0].value is not None and not operands[0].value:
                return Padded(semantics.constant(0, dtype), touched, finite=True)
        case _:
            pass
    return unknown


def _reduce(node: Reduce, source: Padded, *, runs: bool) -> Padded:
    """A reduction over the padded axis gives what it gave before; others repeat one value."""
    if runs:
        return Padded(None, touched=False, finite=not node.dtype.value.is_float)
    if source.value is not None and (node.op is ReduceOp.MAX or not source.value):
        return source
    return Padded(None, source.touched, finite=not node.dtype.value.is_float)
