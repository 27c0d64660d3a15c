"""Lowering: from a Kernel to a Program. Read `values` next: what is computed where."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kernelref.codegen.lower.block import Block, Env, Place
from kernelref.codegen.lower.indices import Indices
from kernelref.codegen.lower.inplace import check_in_place, is_in_place
from kernelref.codegen.lower.launch import Launch, launch_of
from kernelref.codegen.lower.memory import arguments
from kernelref.codegen.lower.reductions import Reductions
from kernelref.codegen.lower.stores import emit_stores, texel_outputs
from kernelref.codegen.lower.values import Values
from kernelref.codegen.lower.widths import leaves_int32, wide_expressions
from kernelref.codegen.program import Guarded, Program
from kernelref.codegen.target import Target
from kernelref.errors import Unsupported
from kernelref.ir.ast import Constant, Load, Node, Reduce, Store, children
from kernelref.ir.index import Expr, Var, and_, as_expr, lt, simplify, variables
from kernelref.opt.axis import GROUPS, LOCALS, UPCASTS, AxisType
from kernelref.opt.kernel import Kernel

_RESERVED = re.compile(r"(gidx|lidx|axis|gaxis|laxis|g|r)\d+|flat")


def lower(kernel: Kernel, target: Target, name: str = "k") -> Program:
    """The Program that computes `kernel` on `target`.

    Law: it stores what the AST means, at every point of the outputs' ShapeTrackers that is valid,
    once; it loads nothing where a ShapeTracker is masked.
    Raises: Unsupported for launches, groups or in-place accesses that no Program can have.
    """
    launch = launch_of(kernel, target)
    indices = Indices(kernel)
    check_in_place(kernel, indices)
    root = Block(0)
    env = _registers(kernel, root) | _parallel(kernel, launch, root)
    buffers = arguments(kernel, target, texel_outputs(indices, env))
    reductions = Reductions(kernel, _work_items(kernel, launch, root))
    values = Values(kernel, indices, buffers, root, reductions.steps)
    _reduce_together(kernel, values, reductions, env)
    _store_alone(kernel, launch, values)
    inside = tuple(root.statements)
    guarded = inside if launch.guard == 1 else (Guarded(as_expr(launch.guard), inside),)
    body = (*launch.prelude, *guarded)
    return Program(
        name=name,
        buffers=tuple(buffers.values()),
        variables=_symbolic(kernel),
        groups=launch.groups,
        local=launch.local,
        body=body,
        shared=tuple(reductions.arrays.values()),
        wide=wide_expressions(body),
    )


def _registers(kernel: Kernel, block: Block) -> dict[int, Place]:
    """The axes that are registers where results are stored, at their first coordinate."""
    return {axis: Place(0, block) for axis in kernel.axes_of(*UPCASTS, AxisType.GROUP_UPCAST)}


def _parallel(kernel: Kernel, launch: Launch, block: Block) -> dict[int, Place]:
    """The axes that the launch spreads, wherever results are stored."""
    axes = kernel.axes_of(AxisType.GLOBAL, *LOCALS)
    return {axis: Place(launch.coordinates[axis], block) for axis in axes}


def _work_items(kernel: Kernel, launch: Launch, block: Block) -> dict[int, Place]:
    axes = kernel.axes_of(*LOCALS, *GROUPS)
    return {axis: Place(launch.coordinates[axis], block) for axis in axes}


def _reduce_together(kernel: Kernel, values: Values, reductions: Reductions, env: Env) -> None:
    """What takes all work-items of a group, up to the last barrier."""
    for node in _outermost_reduces(kernel):
        if reductions.is_shared(node):
            values.run(reductions.part(values, node, env))
        elif reductions.holds_shared(node):
            values.operand(node, env)
    if kernel.axes_of(*GROUPS) and is_in_place(kernel):
        # All of them may have read what the first one is about to overwrite.
        reductions.is_unseen = True
    reductions.synchronise(values.outermost)


def _store_alone(kernel: Kernel, launch: Launch, values: Values) -> None:
    """What follows the last barrier, by the first work-item of those that share a reduction."""
    root = values.outermost
    first = [lt(launch.coordinates[axis], 1) for axis in kernel.axes_of(*GROUPS)]
    block = root.inner() if first else root
    values.outermost = block
    emit_stores(values, _registers(kernel, block) | _parallel(kernel, launch, block), block)
    if first:
        root.add(Guarded(as_expr(simplify(and_(*first))), tuple(block.statements)))


def _outermost_reduces(kernel: Kernel) -> Iterator[Reduce]:
    """The reductions that some output reads other than through a reduction, sources first."""
    reached: set[Node] = set()
    pending: list[Node] = list(kernel.ast)
    while pending:
        node = pending.pop()
        if node not in reached:
            reached.add(node)
            pending.extend(() if isinstance(node, Reduce) else children(node))
    return (node for node in kernel.reduces if node in reached)


def _symbolic(kernel: Kernel) -> tuple[Var, ...]:
    """The symbolic variables of the AST, by name.

    Raises: Unsupported for one that is spelled like an index variable of ours, or beyond 32 bits.
    """
    found: set[Var] = set()
    for node in kernel.index:
        if isinstance(node, Load | Constant | Store):
            found |= node.st.variables()
        if isinstance(node, Constant) and isinstance(node.value, Expr):
            found |= variables(node.value)
    for var in found:
        if _RESERVED.fullmatch(var.name):
            raise Unsupported("variable-name", var.name)
        if leaves_int32(var):
            raise Unsupported("variable-beyond-int", var.name)
    return tuple(sorted(found, key=lambda var: var.name))
