"""Lowering: from a Kernel to a Program. Read `values` next: what is computed where."""

from __future__ import annotations

from kernelref.codegen.lower.block import Block, Env, Place
from kernelref.codegen.lower.inplace import check_in_place
from kernelref.codegen.lower.launch import launch_of
from kernelref.codegen.lower.memory import arguments
from kernelref.codegen.lower.values import Values
from kernelref.codegen.lower.widths import wide_expressions
from kernelref.codegen.program import Guarded, Program, Statement, StoreGlobal
from kernelref.codegen.target import Target
from kernelref.ir.ast import Constant, Load, Store, postorder
from kernelref.ir.index import Expr, Var, as_expr, variables
from kernelref.opt.axis import UPCASTS
from kernelref.opt.kernel import Kernel


def lower(kernel: Kernel, target: Target, name: str = "kernel") -> Program:
    """The Program that computes `kernel` on `target`.

    Law: it stores what the AST means, at every point of the outputs' ShapeTrackers that is valid,
    once; it loads nothing where a ShapeTracker is masked.
    Raises: Unsupported for launches, groups or in-place accesses that no Program can have.
    """
    launch = launch_of(kernel, target)
    buffers = arguments(kernel, target, frozenset())
    root = Block(0)
    values = Values(kernel, buffers, root)
    check_in_place(kernel, values.indices)
    env: dict[int, Place] = {
        axis: Place(coordinate, root) for axis, coordinate in launch.coordinates.items()
    }
    env |= {axis: Place(0, root) for axis in kernel.axes_of(*UPCASTS)}
    for statement in [_store(values, store, env) for store in kernel.ast]:
        for one in statement:
            root.add(one)
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
        wide=wide_expressions(body),
    )


def _store(values: Values, store: Store, env: Env) -> list[Statement]:
    """Stores of one output; the value's own statements come first."""
    statements: list[Statement] = []
    for point in values.register_points(values.indices.free(store), env):
        place = {**env, **point}
        operand = values.operand(store.value, place)
        address, valid = values.indices.at(store, place)
        if valid != 0:
            name = values.arguments[store.buffer].name
            statements.append(StoreGlobal(name, address, valid, operand))
    return statements


def _symbolic(kernel: Kernel) -> tuple[Var, ...]:
    """The symbolic variables of the AST, by name."""
    found: set[Var] = set()
    for node in postorder(kernel.ast):
        if isinstance(node, Load | Constant | Store):
            found |= node.st.variables()
        if isinstance(node, Constant) and isinstance(node.value, Expr):
            found |= variables(node.value)
    return tuple(sorted(found, key=lambda var: var.name))
