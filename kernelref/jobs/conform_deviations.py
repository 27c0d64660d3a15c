"""Deviations: differences from a release that are known, named and justified.

Each is one record here and one section of `docs/deviations.md`. A difference that none of them
explains is a finding.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kernelref.jobs.conform_compare import Difference
from kernelref.opt.opt import Opt, OptOps
from kernelref.optimizers.interface import Accepted, Answer, Broke, Refused, State

ALL_RELEASES = frozenset({"tinygrad-0.8.0", "tinygrad-0.9.0", "tinygrad-0.9.1"})


@dataclass(frozen=True, slots=True)
class Step:
    """What a deviation may look at: the state before, the opt (None: heuristics), both answers."""

    rules: str
    before: State
    opt: Opt | None
    reference: Answer
    release: Answer
    difference: Difference


@dataclass(frozen=True, slots=True)
class Deviation:
    """A named difference. `explains` says whether a step's difference is this one."""

    name: str
    rules: frozenset[str]
    says: str
    explains: Callable[[Step], bool]


def _contradicts_itself(step: Step) -> bool:
    """The release accepts, and then cannot colour its own axes: its counts fit no shape."""
    return (
        isinstance(step.reference, Broke)
        and step.reference.check == "counters-do-not-fit"
        and isinstance(step.release, Accepted)
        and step.release.state.colors is None
    )


def _mid_of_a_grouped_axis(step: Step) -> bool:
    """UPCASTMID asked for an axis that lies among the groups already."""
    opt, colors = step.opt, step.before.colors or ()
    if opt is None or opt.op is not OptOps.UPCASTMID or not _contradicts_itself(step):
        return False
    return opt.axis is not None and 0 <= opt.axis < len(colors) and (
        colors[opt.axis] in ("white", "green"))  # fmt: skip


def _unroll_before_first_reduce(step: Step) -> bool:
    """UNROLL with a negative axis takes an axis that is not reduced."""
    opt = step.opt
    if opt is None or opt.op is not OptOps.UNROLL or not _contradicts_itself(step):
        return False
    return opt.axis is None or opt.axis < 0


def _group_unrolled_whole(step: Step) -> bool:
    """UNROLL of a whole group axis, after which the count of groups or locals is one too many."""
    opt, colors = step.opt, step.before.colors or ()
    if opt is None or opt.op is not OptOps.UNROLL or not _contradicts_itself(step):
        return False
    first_reduce = sum(color in ("blue", "BLUE", "cyan") for color in colors)
    axis = first_reduce + (opt.axis or 0)
    return axis < len(colors) and colors[axis] in ("green", "white")


def _padto_meets_aliases(step: Step) -> bool:
    """PADTO after a tensor core is refused for the extent 1 of an operand's alias."""
    return (
        step.opt is not None
        and step.opt.op is OptOps.PADTO
        and step.before.warp_axes > 0
        and step.difference.what in ("answer", "reason")
        and isinstance(step.release, Refused)
        and step.release.reason.startswith("pad adds more than double")
    )


DEVIATIONS: tuple[Deviation, ...] = (
    Deviation(
        "upcastmid-of-grouped-axis", ALL_RELEASES,
        "UPCASTMID takes an axis that is grouped already; more groups are counted than axes exist",
        _mid_of_a_grouped_axis,
    ),
    Deviation(
        "unroll-negative-axis", ALL_RELEASES,
        "UNROLL with a negative axis is accepted and leaves a count below zero",
        _unroll_before_first_reduce,
    ),
    Deviation(
        "unrolled-group-miscounted", ALL_RELEASES,
        "a group axis is unrolled whole: 0.8.0 goes on counting it, 0.9 counts a local too many "
        "when a mid-reduce upcast follows it",
        _group_unrolled_whole,
    ),
    Deviation(
        "padto-meets-tensor-core-aliases", frozenset({"tinygrad-0.8.0"}),
        "PADTO after a tensor core is refused for the extent 1 of an operand's shared alias",
        _padto_meets_aliases,
    ),
)  # fmt: skip


def deviation_of(step: Step) -> Deviation | None:
    """The first deviation that explains the step's difference."""
    for deviation in DEVIATIONS:
        if step.rules in deviation.rules and deviation.explains(step):
            return deviation
    return None
