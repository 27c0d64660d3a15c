"""Applying an opt: what `Kernel.apply_opt` does."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kernelref.opt.opt import Opt
from kernelref.opt.rules.record import SwitchRule, TensorRule
from kernelref.opt.rules.step import Step
from kernelref.opt.rules.tensor import shape_for_tensor_core
from kernelref.opt.rules.transform import accept, take

if TYPE_CHECKING:
    from kernelref.opt.kernel import Kernel


def apply_opt(kernel: Kernel, opt: Opt) -> tuple[Kernel, tuple[Step, ...]]:
    """The kernel after `opt`, and the steps that led there.

    Raises: KernelOptError when a check of the kernel's rule set does not hold; OptBroke where the
    release that it copies falls over instead.
    """
    request = accept(kernel, opt)
    steps: tuple[Step, ...] = ()
    match request.rule.family:
        case SwitchRule():
            after = replace(kernel, use_locals=False)
        case TensorRule():
            after, steps = shape_for_tensor_core(kernel, opt)
        case _:
            after, step = take(kernel, request)
            steps = (step,)
    return replace(after, applied_opts=(*kernel.applied_opts, opt)), steps
