"""The opt sequences that `--opts` means for one kernel under the reference optimizer."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from kernelref.errors import KernelOptError, Unsupported
from kernelref.jobs.opt_choice import Actions, Listed, Named, OptChoice, RandomWalk
from kernelref.opt.broke import OptBroke
from kernelref.opt.candidates import candidates, search_children
from kernelref.opt.heuristics import Session, engine, hand_coded, required
from kernelref.opt.kernel import Kernel
from kernelref.opt.opt import Opt, OptOps

WALKS = 50
"""Walks over the search actions that follow the single actions."""

HEURISTICS: dict[str, Callable[[Kernel], Session]] = {
    "required": required,
    "hand-coded": hand_coded,
    "engine": engine,
}


@dataclass(frozen=True, slots=True)
class Schedule:
    """A kernel after a sequence of opts, with what was refused on the way and skipped.

    `stop` is what ended the sequence early, if something did: the kernel is as it was then.
    `asked` counts the opts of a list that was to be followed; 0 where opts were chosen or drawn.
    """

    kernel: Kernel
    refused: tuple[tuple[Opt, str], ...] = ()
    stop: KernelOptError | OptBroke | None = None
    asked: int = 0


def schedules(
    kernel: Kernel, own: tuple[Opt, ...], choice: OptChoice, *, salt: str = "", is_strict: bool
) -> Iterator[Schedule]:
    """Each sequence. `salt` names the kernel, so that random sequences differ between kernels.

    `is_strict`: a refused opt ends the sequence; otherwise it is skipped.
    """
    match choice:
        case Named("own"):
            yield listed(kernel, own, is_strict=is_strict)
        case Named("none"):
            yield Schedule(kernel)
        case Named(name):
            yield _chosen(kernel, HEURISTICS[name])
        case Listed(opts):
            yield listed(kernel, opts, is_strict=is_strict)
        case RandomWalk(seed, length):
            yield Schedule(_walk(kernel, random.Random(f"{seed} {salt}"), length, _any_opt))
        case Actions(depth):
            yield from (Schedule(child) for _, child in search_children(kernel))
            for walk in range(WALKS if depth > 1 else 0):
                rng = random.Random(f"{walk} {salt}")
                yield Schedule(_walk(kernel, rng, rng.randint(2, depth), _any_action))


def listed(kernel: Kernel, opts: tuple[Opt, ...], *, is_strict: bool) -> Schedule:
    """The opts one by one. Raises: Unsupported."""
    refused: list[tuple[Opt, str]] = []
    for opt in opts:
        answer = kernel.attempt(opt)
        match answer:
            case Kernel():
                kernel = answer
            case Unsupported():
                raise answer
            case _ if is_strict:
                return Schedule(kernel, tuple(refused), answer, len(opts))
            case _:
                refused.append((opt, answer.check))
    return Schedule(kernel, tuple(refused), asked=len(opts))


def _chosen(kernel: Kernel, heuristic: Callable[[Kernel], Session]) -> Schedule:
    """What a heuristic chooses; a refusal that escapes it ends it, as in the release."""
    try:
        session = heuristic(kernel)
    except (KernelOptError, OptBroke) as error:
        return Schedule(kernel, stop=error)
    return Schedule(session.kernel, tuple((_opt_of(e), e.check) for e in session.skipped))


def _opt_of(error: KernelOptError) -> Opt:
    assert isinstance(error.opt, Opt)
    return error.opt


def _walk(
    kernel: Kernel,
    rng: random.Random,
    length: int,
    step: Callable[[Kernel, random.Random], Kernel | None],
) -> Kernel:
    """Up to `length` steps; it ends where no step is left."""
    for _ in range(length):
        child = step(kernel, rng)
        if child is None:
            break
        kernel = child
    return kernel


def _any_opt(kernel: Kernel, rng: random.Random) -> Kernel | None:
    """A legal opt: first its kind, so that kinds with few choices are not rare."""
    by_op: dict[OptOps, list[Opt]] = {}
    for opt in candidates(kernel):
        by_op.setdefault(opt.op, []).append(opt)
    while by_op:
        op = rng.choice(list(by_op))
        child = kernel.attempt(rng.choice(by_op[op]))
        if isinstance(child, Kernel):
            return child
        del by_op[op]
    return None


def _any_action(kernel: Kernel, rng: random.Random) -> Kernel | None:
    """An action that the release's search would keep."""
    children = search_children(kernel)
    return rng.choice(children)[1] if children else None
