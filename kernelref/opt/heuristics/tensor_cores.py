"""Applying a tensor core, and what the releases do to the kernel after it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kernelref.errors import KernelOptError
from kernelref.opt.extents import is_multiple
from kernelref.opt.heuristics.session import Session
from kernelref.opt.heuristics.tensor_cores_0_8_0 import apply_tensor_cores_0_8_0
from kernelref.opt.kernel import Kernel
from kernelref.opt.opt import Opt, OptOps
from kernelref.opt.rules.sets import TINYGRAD_0_8_0


def apply_tensor_cores(
    session: Session,
    use_tensor_cores: int = 1,
    extra_opts: Iterable[Opt] | None = None,
    axis: int = 0,
    level: int = 0,
) -> bool:
    """Shape the kernel after a tensor core and go on from there; False when it is refused.

    `use_tensor_cores` is read at this door only: `limits.tc` decides what happens behind it.
    *differs:* after a refusal a sound kernel is as it was; a release keeps what it had applied.
    Source: tinygrad 0.9.1 codegen/kernel.py, apply_tensor_cores.
    """
    before = session.kernel
    if before.rules.name == TINYGRAD_0_8_0.name:
        return apply_tensor_cores_0_8_0(session, use_tensor_cores, extra_opts)
    if not before.limits.tensor_cores and use_tensor_cores != 2:
        return False
    if not _follow(session, [Opt(OptOps.TC, axis, level)]):
        return False
    if _follow(session, _late_opts(session) if extra_opts is None else extra_opts):
        return True
    if not before.rules.is_release:
        session.kernel = before
    return False


def _follow(session: Session, opts: Iterable[Opt]) -> bool:
    """Apply the opts in order, up to the first that is refused; whether none was."""
    for opt in opts:
        answer = session.kernel.attempt(opt)
        match answer:
            case Kernel():
                session.kernel = answer
            case KernelOptError():
                return False
            case _:
                raise answer
    return True


def _late_opts(session: Session) -> Iterator[Opt]:
    """Upcast M, then N, by the largest of 5, 4, 3, 2 that divides; local N by 4 or 2.

    Each is chosen on the kernel that the one before it left.
    """
    for dim in (1, 0):
        place, divisors = _place(session, dim), (5, 4, 3, 2)
        amount = _divisor(session, place, divisors)
        if amount is not None:
            yield Opt(OptOps.UPCAST, place, amount)
    place = _place(session, 0)
    amount = _divisor(session, place, (4, 2))
    if session.kernel.has_tensor_core and amount is not None:
        yield Opt(OptOps.LOCAL, place, amount)


def _place(session: Session, dim: int) -> int | None:
    tensor = session.kernel.tensor
    return None if tensor is None else tensor.axes[dim]


def _divisor(session: Session, place: int | None, divisors: tuple[int, ...]) -> int | None:
    if place is None:
        return None
    extent = session.kernel.full_shape[place]
    return next((amount for amount in divisors if is_multiple(extent, amount)), None)
