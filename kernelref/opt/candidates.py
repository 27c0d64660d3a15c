"""What may be done next: every legal opt worth trying, and the releases' own search actions.

Source of the actions: tinygrad 0.9.1 engine/search.py (0.9.0 the same), 0.8.0 features/search.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from kernelref.ir.index import Sint, is_possibly_gt, product
from kernelref.opt.axis import GROUPS, LOCALS, UPCASTS, AxisType
from kernelref.opt.kernel import Kernel
from kernelref.opt.opt import Opt, OptOps
from kernelref.opt.rules.record import SwitchRule, TensorRule
from kernelref.opt.rules.request import Request, origin
from kernelref.opt.rules.ruleset import RuleSet
from kernelref.opt.rules.sets import TINYGRAD_0_8_0
from kernelref.opt.rules.table import RULES
from kernelref.opt.rules.transform import first_fault

TENSOR_CHOICES = 9


def candidates(kernel: Kernel) -> tuple[Opt, ...]:
    """Every opt that the kernel's rule set permits, with the amounts worth trying of its record.

    An amount that is the whole axis is left out where 0 stands for it. Under a release's rule set
    one may still be Unsupported: permitted there, but with counts that no types of axes fit.
    """
    return tuple(opt for op in kernel.rules.checks for opt in _legal(kernel, op))


def _legal(kernel: Kernel, op: OptOps) -> Iterator[Opt]:
    rule = RULES[op]
    match rule.family:
        case SwitchRule():
            if first_fault(Request.of(kernel, Opt(op))) is None:
                yield Opt(op)
        case TensorRule():
            for level in rule.amounts:
                for choice in range(TENSOR_CHOICES):
                    opt = Opt(op, choice, level)
                    if isinstance(kernel.attempt(opt), Kernel):
                        yield opt
        case _:
            start = origin(kernel, rule.origin)
            for axis in range(len(kernel.axes) - start):
                extent = kernel.full_shape[start + axis]
                for amount in rule.amounts:
                    opt = Opt(op, axis, amount)
                    is_repeated = amount == extent and 0 in rule.amounts
                    if not is_repeated and first_fault(Request.of(kernel, opt)) is None:
                        yield opt


def _grid(op: OptOps, amounts: tuple[int, ...], axes: int) -> tuple[Opt, ...]:
    return tuple(Opt(op, axis, amount) for amount in amounts for axis in range(axes))


_LOCAL_ACTIONS = _grid(OptOps.LOCAL, (2, 3, 4, 8, 13, 16, 29), 5)

ACTIONS_0_9: tuple[Opt, ...] = (
    *_grid(OptOps.UPCAST, (0, 2, 3, 4, 5, 7), 6),
    *_grid(OptOps.UNROLL, (0, 4, 7), 5),
    *_LOCAL_ACTIONS,
    *_grid(OptOps.GROUPTOP, (13, 16, 28, 29, 32, 49, 64, 256), 3),
    *_grid(OptOps.GROUP, (0, 4, 8, 16), 3),
    *_grid(OptOps.PADTO, (32,), 7),
    Opt(OptOps.LOCAL, 0, 32),
    Opt(OptOps.UPCASTMID, 1, 4),
    Opt(OptOps.TC, 0, 0),
    *_grid(OptOps.TC, (2,), 9),
)
ACTIONS_0_8_0: tuple[Opt, ...] = (
    *_grid(OptOps.UPCAST, (0, 2, 3, 4, 7), 6),
    *_grid(OptOps.UNROLL, (0, 4), 4),
    *_LOCAL_ACTIONS,
    *_grid(OptOps.GROUPTOP, (13, 16, 29, 32, 256), 3),
    *_grid(OptOps.PADTO, (32,), 7),
    Opt(OptOps.LOCAL, 0, 32),
    Opt(OptOps.UPCASTMID, 1, 4),
    Opt(OptOps.GROUP, 0, 4),
    Opt(OptOps.GROUP, 0, 8),
    Opt(OptOps.GROUP, 1, 8),
)
MOST_UPCAST = 256
MOST_WORK_ITEMS = 1024
MOST_WORK_ITEMS_0_8_0 = 256


def search_actions(rules: RuleSet) -> tuple[Opt, ...]:
    """The actions of the release that `rules` copies; 0.9.1's for the sound rule set."""
    return ACTIONS_0_8_0 if rules.name == TINYGRAD_0_8_0.name else ACTIONS_0_9


def search_children(kernel: Kernel) -> tuple[tuple[Opt, Kernel], ...]:
    """What the release's search would try next from `kernel`: each action with its kernel.

    Skipped: an axis that is not there, and an amount that is the whole axis where the action with
    amount 0 exists. Kept: at most 256 upcast elements (a tensor core's tile not counted) and 1,024
    work-items (0.8.0: 256). An action that falls over is left out (in 0.9 it ends the search).
    """
    actions = search_actions(kernel.rules)
    children: list[tuple[Opt, Kernel]] = []
    for opt in actions:
        if _is_skipped(kernel, opt, actions):
            continue
        child = kernel.attempt(opt)
        if isinstance(child, Kernel) and _is_kept(child):
            children.append((opt, child))
    return tuple(children)


def _is_skipped(kernel: Kernel, opt: Opt, actions: tuple[Opt, ...]) -> bool:
    """*differs from what one expects:* amount 0 is looked up at the position in the kernel (0.9),
    or the extent at the opt's own number (0.8.0); both are odd where an opt counts from elsewhere.
    """
    if opt.axis is None or opt.op is OptOps.TC:
        return False
    is_oldest = kernel.rules.name == TINYGRAD_0_8_0.name
    axis = opt.axis if is_oldest else Request.of(kernel, opt).axis
    if axis >= len(kernel.axes):
        return True
    return kernel.full_shape[axis] == opt.amt and Opt(opt.op, axis, 0) in actions


def _is_kept(kernel: Kernel) -> bool:
    upcast = _extent(kernel, UPCASTS)
    if kernel.has_tensor_core and kernel.tensor is not None:
        core = kernel.tensor.core
        upcast = upcast // (prod(core.dims) // core.thread_count)
    is_oldest = kernel.rules.name == TINYGRAD_0_8_0.name
    most = MOST_WORK_ITEMS_0_8_0 if is_oldest else MOST_WORK_ITEMS
    work_items = _extent(kernel, LOCALS | GROUPS)
    return not is_possibly_gt(upcast, MOST_UPCAST) and not is_possibly_gt(work_items, most)


def _extent(kernel: Kernel, types: frozenset[AxisType]) -> Sint:
    return product(axis.extent for axis in kernel.axes if axis.type in types)
