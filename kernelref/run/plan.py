"""In which order the oracle computes the nodes of an AST, and when it may forget a value.

A reduction that iterates cuts the AST: what lies below it is a plan of its own, carried out once
per box of its terms. Reductions over the same axes share one such plan, so that a node below
several of them is computed once per box. Each iterating reduction makes an extent 1 that was not,
so plans nest no deeper than the kernel has dims.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kernelref.ir.ast import Reduce, Value, children
from kernelref.ir.index import Sint

Extent = Callable[[Sint], int]


@dataclass(frozen=True, slots=True)
class Reductions:
    """Reductions over the same dims (`dims` with their `extents`) and the plan for their terms."""

    nodes: tuple[Reduce, ...]
    dims: tuple[int, ...]
    extents: tuple[int, ...]
    terms: Plan


@dataclass(frozen=True, slots=True)
class Plan:
    """How to compute `roots`: first the reductions, then the steps, each with what dies after it.

    `most_alive` counts values held at one time, those of nested plans too.
    """

    roots: tuple[Value, ...]
    reductions: tuple[Reductions, ...]
    steps: tuple[tuple[Value, tuple[Value, ...]], ...]
    most_alive: int

    @property
    def iterations(self) -> int:
        """Terms of the longest reduction, nested ones multiplied."""
        each = (math.prod(r.extents) * r.terms.iterations for r in self.reductions)
        return max(each, default=1)

    @property
    def iterated(self) -> tuple[int, ...]:
        """Every dim that some reduction iterates over."""
        nested = (dim for r in self.reductions for dim in (*r.dims, *r.terms.iterated))
        return tuple(sorted(set(nested)))


def make_plan(roots: Sequence[Value], extent: Extent) -> Plan:
    """The plan for `roots`; `extent` gives a symbolic extent its value."""
    order = _order(roots, extent)
    groups: dict[tuple[tuple[int, int], ...], list[Reduce]] = {}
    for node in order:
        if isinstance(node, Reduce) and (dims := iterated_dims(node, extent)):
            groups.setdefault(dims, []).append(node)
    reductions = tuple(
        Reductions(
            tuple(nodes),
            tuple(dim for dim, _ in dims),
            tuple(size for _, size in dims),
            make_plan(tuple(node.value for node in nodes), extent),
        )
        for dims, nodes in groups.items()
    )
    reduced = {node for r in reductions for node in r.nodes}
    steps = _steps([node for node in order if node not in reduced], roots)
    alive = most = len(reduced)
    for _, dead in steps:
        alive += 1
        most = max(most, alive)
        alive -= len(dead)
    nested = max((r.terms.most_alive + len(r.nodes) for r in reductions), default=0)
    return Plan(tuple(roots), reductions, steps, most + nested)


def iterated_dims(node: Reduce, extent: Extent) -> tuple[tuple[int, int], ...]:
    """The dims that a reduction really iterates over, with extents: those of its source but 1."""
    sizes = ((dim, extent(node.value.shape[dim])) for dim in sorted(node.axes))
    return tuple((dim, size) for dim, size in sizes if size != 1)


def _order(roots: Sequence[Value], extent: Extent) -> list[Value]:
    """Nodes from sources to readers, not entering reductions that iterate."""
    order: dict[Value, None] = {}
    for root in roots:
        stack = [(root, False)]
        while stack:
            node, is_open = stack.pop()
            if is_open:
                order[node] = None
            elif node not in order:
                stack.append((node, True))
                if not (isinstance(node, Reduce) and iterated_dims(node, extent)):
                    stack.extend((source, False) for source in reversed(children(node)))
    return list(order)


def _steps(
    nodes: Sequence[Value], roots: Sequence[Value]
) -> tuple[tuple[Value, tuple[Value, ...]], ...]:
    """Each node with the values that nobody reads after it."""
    seen = set(roots)
    steps: list[tuple[Value, tuple[Value, ...]]] = []
    for node in reversed(nodes):
        dead = [source for source in dict.fromkeys(children(node)) if source not in seen]
        seen.update(dead)
        steps.append((node, tuple(dead)))
    return tuple(reversed(steps))
