"""What `conform` compares with a release, as text: answers, shapes, axis types, strides, masks.

The reference conforms as it is, so a mutant that changes one of these is one that `conform` sees.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator

import numpy as np

from kernelref.cases.case import parse_case
from kernelref.errors import KernelRefError
from kernelref.fuzzing.mutants.question import Request, Subject
from kernelref.ir.shapetracker import ShapeTracker
from kernelref.opt.heuristics import Session, engine, hand_coded
from kernelref.opt.kernel import Kernel
from kernelref.opt.limits import PRESETS
from kernelref.opt.opt import Opt, OptOps
from kernelref.opt.rules.ruleset import RuleSet
from kernelref.opt.rules.sets import RULE_SETS, SOUND
from kernelref.optimizers.reference import state_of

RELEASES = tuple(rules for rules in RULE_SETS.values() if rules is not SOUND)
LIMITS = ("opencl", "metal", "cuda")


def states(subject: Subject, walk: tuple[Request, ...]) -> Iterator[tuple[str, str]]:
    """Names and states: of the kernel as constructed, after each request, after the heuristics."""
    for rules in RELEASES:
        for limits in LIMITS:
            name = f"{subject.case} {rules.name} {limits}"
            yield name, _whole(subject, rules, limits, walk)


def _whole(subject: Subject, rules: RuleSet, limits: str, walk: tuple[Request, ...]) -> str:
    try:
        ast = parse_case(subject.text).ast
        kernel = Kernel.open(ast, PRESETS[limits], rules)
        told = [_state(kernel)]
        told += [_after(how, kernel) for how in (hand_coded, engine)]
        for op, axis, amount in walk:
            taken = kernel.attempt(Opt(OptOps[op], axis, amount))
            if isinstance(taken, Kernel):
                kernel = taken
                told.append(_state(kernel))
            else:
                told.append(f"{type(taken).__name__}: {getattr(taken, 'check', '')}")
    except KernelRefError as error:
        return f"{type(error).__name__}: {error}"
    except Exception as error:
        # A mutant may do anything; that it falls over is a state too.
        return type(error).__name__
    return f"{zlib.crc32(repr(told).encode()):08x}"


def _after(heuristics: Callable[[Kernel], Session], kernel: Kernel) -> str:
    try:
        return _state(heuristics(kernel).kernel)
    except KernelRefError as error:
        return f"{type(error).__name__}: {error}"


def _state(kernel: Kernel) -> str:
    state = state_of(kernel)
    facts = [(b.real_strides, b.masked, b.last_strides, _places(b.st)) for b in state.buffers]
    shapes = (state.full_shape, state.output_shape, state.colors, state.warp_axes)
    return repr((*shapes, state.applied_opts, facts))


def _places(st: ShapeTracker) -> str:
    """The index function, as `conform` sees it: by its values, not by its views."""
    extents = [n for n in st.shape if isinstance(n, int)]
    if len(extents) < len(st.shape) or any(view.is_symbolic for view in st.views):
        return repr(st.views)
    address, valid = st.address(np.ogrid[tuple(slice(n) for n in extents)])
    places = np.broadcast_to(np.where(valid, address, -1), extents)
    return f"{zlib.crc32(np.ascontiguousarray(places, np.int64).tobytes()):08x}"
