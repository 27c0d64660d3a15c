"""Applying an opt: what `Kernel.apply_opt` does."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kernelref.errors import KernelOptError, Unsupported
from kernelref.opt.opt import Opt
from kernelref.opt.rules.record import SwitchRule, TensorRule
from kernelref.opt.rules.request import Request
from kernelref.opt.rules.tensor import shape_for_tensor_core
from kernelref.opt.rules.transform import Refusal, Taken, first_fault, refusal, take

if TYPE_CHECKING:
    from kernelref.opt.kernel import Kernel


def attempt(kernel: Kernel, opt: Opt) -> Taken | Refusal:
    """The kernel after `opt` and the steps that led there, or the error that says why not.

    KernelOptError when a check of the kernel's rule set does not hold; OptBroke where the release
    that it copies falls over instead; Unsupported where it goes on in a state that typed axes
    cannot hold.
    """
    if opt.op not in kernel.rules.checks:
        return KernelOptError(check="op-exists", opt=opt, found=opt.op.value, needed=kernel.rules)
    request = Request.of(kernel, opt)
    check = first_fault(request)
    if check is not None:
        return refusal(check, request)
    try:
        taken = _carry_out(request)
    except Unsupported as error:
        return error
    if not isinstance(taken, tuple):
        return taken
    after, steps = taken
    return replace(after, applied_opts=(*kernel.applied_opts, opt)), steps


def _carry_out(request: Request) -> Taken | Refusal:
    kernel = request.kernel
    match request.rule.family:
        case SwitchRule():
            return replace(kernel, use_locals=False), ()
        case TensorRule():
            return shape_for_tensor_core(kernel, request.opt)
        case _:
            after, step = take(kernel, request)
            return after, (step,)


def apply_opt(kernel: Kernel, opt: Opt) -> Taken:
    """As `attempt`. Raises: the error that `attempt` gives."""
    taken = attempt(kernel, opt)
    if not isinstance(taken, tuple):
        raise taken
    return taken
