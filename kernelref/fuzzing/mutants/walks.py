"""Drawn opts for the suite: sequences of legal ones, and requests of which some are refused."""

from __future__ import annotations

import random

from kernelref.fuzzing.mutants.question import Request
from kernelref.opt.candidates import candidates
from kernelref.opt.kernel import Kernel
from kernelref.opt.opt import Opt, OptOps
from kernelref.opt.rules.request import origin
from kernelref.opt.rules.table import RULES

LEGAL = 5
ANY = 8
RARE = 0.1
AMOUNTS = (0, 1, 2, 3, 4, 5, 7, 8, 9, 16, 32, 33)


def legal_walk(kernel: Kernel, rng: random.Random) -> tuple[Request, ...]:
    """Opts that are legal one after the other, all kinds alike."""
    for _ in range(LEGAL):
        by_op: dict[OptOps, list[Opt]] = {}
        for opt in candidates(kernel):
            by_op.setdefault(opt.op, []).append(opt)
        if not by_op:
            break
        taken = kernel.attempt(rng.choice(by_op[rng.choice(list(by_op))]))
        if isinstance(taken, Kernel):
            kernel = taken
    return tuple(map(request_of, kernel.applied_opts))


def any_walk(kernel: Kernel, rng: random.Random) -> tuple[Request, ...]:
    """Requests on axes that are there or nearly, legal or not."""
    chosen: list[Request] = []
    for _ in range(ANY):
        opt = _any_opt(kernel, rng)
        chosen.append(request_of(opt))
        taken = kernel.attempt(opt)
        if isinstance(taken, Kernel):
            kernel = taken
    return tuple(chosen)


def _any_opt(kernel: Kernel, rng: random.Random) -> Opt:
    """Now and then NOLOCALS or TC; else an amount that often divides, on an axis mostly there."""
    if rng.random() < RARE:
        return rng.choice(
            (Opt(OptOps.NOLOCALS), Opt(OptOps.TC, rng.randrange(2), rng.randrange(3)))
        )
    op = rng.choice([op for op in OptOps if op not in (OptOps.NOLOCALS, OptOps.TC)])
    if rng.random() < RARE:
        return Opt(op, rng.choice((-1, len(kernel.axes))), rng.choice(AMOUNTS))
    position = rng.randrange(max(1, len(kernel.axes)))
    extent = kernel.full_shape[position] if kernel.axes else 1
    divisors = [n for n in range(2, 33) if isinstance(extent, int) and extent % n == 0]
    amount = rng.choice(divisors if divisors and rng.random() < 0.5 else AMOUNTS)
    return Opt(op, max(0, position - origin(kernel, RULES[op].origin)), amount)


def request_of(opt: Opt) -> Request:
    """An opt as plain values."""
    return opt.op.value, opt.axis, opt.amt
