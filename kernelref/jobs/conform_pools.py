"""Which kernel and limits a sequence gets: mostly any, some where rare opts can be accepted."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kernelref.cases.case import symbols_of
from kernelref.ir.ast import Alu, Ast, Op, Reduce, postorder
from kernelref.opt.limits import Limits
from kernelref.opt.opt import Opt, OptOps
from kernelref.optimizers.interface import Accepted, Broke, Heuristics, Refused
from kernelref.optimizers.reference import ReferenceOptimizer

MOST_PROBES = 400
"""Kernels that are tried for a pool: enough for variety, few enough to cost nothing."""


@dataclass(frozen=True, slots=True)
class Named:
    """A kernel with the name of its place."""

    name: str
    ast: Ast


Pair = tuple[Named, str]


@dataclass(frozen=True, slots=True)
class Pools:
    """All kernels and limits; image reductions that may upcast in the middle; tensor products;
    kernels with symbolic extents.
    """

    kernels: tuple[Named, ...]
    limits: tuple[str, ...]
    images: tuple[Pair, ...]
    products: tuple[Pair, ...]
    symbolic: tuple[Named, ...]

    @staticmethod
    def of(
        kernels: Sequence[Named], limits: Mapping[str, Limits], reference: ReferenceOptimizer
    ) -> Pools:
        """Probe the kernels with the reference."""
        images = [k for k in kernels if k.ast[0].dtype.is_image and _has_reduce(k.ast)]
        grouping = [name for name, limit in limits.items() if limit.has_local and limit.has_shared]
        products = [k for k in kernels if _multiplies(k.ast)]
        with_cores = [name for name, limit in limits.items() if limit.tensor_cores]
        return Pools(
            tuple(kernels), tuple(limits),
            tuple(
                (kernel, name) for kernel in images[:MOST_PROBES] for name in grouping
                if _groups(reference, kernel, limits[name])
            ),
            tuple(
                (kernel, name) for kernel in products[:MOST_PROBES] for name in with_cores
                if _takes_core(reference, kernel, limits[name])
            ),
            tuple(kernel for kernel in kernels if symbols_of(kernel.ast)),
        )  # fmt: skip

    def choose(self, rng: random.Random, number: int) -> Pair:
        """In twelve: two image reductions, two tensor products, one symbolic kernel, else any."""
        if number % 6 == 0 and self.images:
            return rng.choice(self.images)
        if number % 6 == 3 and self.products:
            return rng.choice(self.products)
        if number % 12 == 1 and self.symbolic:
            return rng.choice(self.symbolic), rng.choice(self.limits)
        return rng.choice(self.kernels), rng.choice(self.limits)


def _groups(reference: ReferenceOptimizer, kernel: Named, limits: Limits) -> bool:
    """Whether it can be grouped at once, with few enough global axes to upcast in the middle."""
    session = reference.open(kernel.ast, limits)
    if isinstance(session, Refused | Broke) or (session.state.colors or ()).count("blue") > 2:
        return False
    return isinstance(session.apply(Opt(OptOps.GROUPTOP, 0, 0)), Accepted)


def _takes_core(reference: ReferenceOptimizer, kernel: Named, limits: Limits) -> bool:
    """Whether a tensor core fits: by its opt, or in 0.8.0, which has none, in the engine."""
    session = reference.open(kernel.ast, limits)
    if isinstance(session, Refused | Broke):
        return False
    if OptOps.TC in reference.rule_set.checks:
        return isinstance(session.apply(Opt(OptOps.TC, 0, 2)), Accepted)
    session.optimize(Heuristics.ENGINE)
    return session.state.warp_axes > 0


def _has_reduce(ast: Ast) -> bool:
    return any(isinstance(node, Reduce) for node in postorder(ast))


def _multiplies(ast: Ast) -> bool:
    """Whether something multiplied is reduced."""
    below = postorder([node.value for node in postorder(ast) if isinstance(node, Reduce)])
    return any(isinstance(node, Alu) and node.op is Op.MUL for node in below)
