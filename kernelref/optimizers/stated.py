"""A kernel as another optimizer says it has it: its axes, its types of axes, its ShapeTrackers.

Nothing of our own copy of that optimizer is in it, so a changed optimizer is judged by what it made
and not by how far it stands from the release that it was.
"""

from __future__ import annotations

from kernelref.errors import KernelRefError
from kernelref.ir.ast import Ast, Reduce, postorder
from kernelref.opt.axis import Axis, AxisType
from kernelref.opt.construct import find_buffers
from kernelref.opt.kernel import Kernel
from kernelref.opt.limits import Limits
from kernelref.opt.rules.ruleset import RuleSet
from kernelref.optimizers.interface import State

TYPES = {
    "blue": AxisType.GLOBAL, "BLUE": AxisType.GLOBAL, "cyan": AxisType.LOCAL,
    "green": AxisType.GROUP_REDUCE, "white": AxisType.GROUP_UPCAST, "red": AxisType.REDUCE,
    "yellow": AxisType.UPCAST, "magenta": AxisType.UNROLL,
}  # fmt: skip


class ContradictionError(KernelRefError):
    """A state that is no kernel: what it says of itself does not fit together."""

    def __init__(self, subject: str, says: str, expected: object, found: object) -> None:
        super().__init__(f"{subject}: {says}: {expected} and {found}")
        self.subject = subject
        self.says = says
        self.expected = expected
        self.found = found


def stated(ast: Ast, state: State, limits: Limits, rules: RuleSet) -> Kernel:
    """The kernel of a state; `rules` say which nodes are one buffer, as in its release.

    Law: a reduction runs over every axis on which the output's extent is not the full one.
    Raises: ContradictionError where counts, shapes and buffers do not fit together.
    """
    buffers, index = find_buffers(ast, rules.construction.identity)
    sts = tuple(buffer.st.with_algebra(rules.algebra) for buffer in state.buffers)
    full = state.full_shape
    if len(sts) != len(buffers):
        raise ContradictionError("kernel", "number of buffers", len(buffers), len(sts))
    if state.colors is None or len(state.colors) != len(full):
        types = "none" if state.colors is None else ", ".join(state.colors)
        raise ContradictionError("axes", "a type for each", shown(full), types)
    for number, st in enumerate(sts):
        same = len(st.shape) == len(full)
        if not same or any(n not in (1, m) for n, m in zip(st.shape, full, strict=True)):
            raise ContradictionError(f"buffer {number}", "extents", shown(full), shown(st.shape))
    axes = tuple(
        Axis(extent, TYPES[color])
        for extent, color in zip(state.full_shape, state.colors, strict=True)
    )
    runs_over = tuple(
        full != kept for full, kept in zip(state.full_shape, sts[0].shape, strict=True)
    )
    reduces = tuple(node for node in postorder(ast) if isinstance(node, Reduce))
    return Kernel(
        ast, buffers, sts, axes, reduces, tuple(runs_over for _ in reduces), limits, rules, index,
        applied_opts=state.applied_opts, use_locals="BLUE" not in state.colors,
    )  # fmt: skip


def shown(shape: tuple[object, ...]) -> str:
    """Extents as a person reads them."""
    return f"({', '.join(map(str, shape))})"
