"""The order of the steps: required, hand-coded, and the engine's with tensor cores.

Source: tinygrad 0.9.1 codegen/kernel.py, hand_coded_optimizations; engine/realize.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kernelref.opt.heuristics import grouping, images, upcasts, work_groups
from kernelref.opt.heuristics.session import Session, Settings
from kernelref.opt.heuristics.tensor_cores import apply_tensor_cores
from kernelref.opt.kernel import Kernel
from kernelref.opt.rules.ruleset import RuleSet
from kernelref.opt.rules.sets import TINYGRAD_0_8_0


def _never(before: Kernel, after: Kernel) -> bool:
    return False


def _changed(before: Kernel, after: Kernel) -> bool:
    return before.applied_opts != after.applied_opts


def _grouped(before: Kernel, after: Kernel) -> bool:
    return after.group_dims != 0


@dataclass(frozen=True, slots=True)
class HeuristicStep:
    """One step. `ends(before, after)` says whether the steps after it are left out."""

    name: str
    run: Callable[[Session], None]
    ends: Callable[[Kernel, Kernel], bool] = _never


REQUIRED = HeuristicStep("required", images.required_vector)
HAND_CODED: tuple[HeuristicStep, ...] = (
    REQUIRED,
    HeuristicStep("matrix-vector", grouping.matrix_vector, _changed),
    HeuristicStep("group-top", grouping.group_top),
    HeuristicStep("upcast-mid", grouping.upcast_mid),
    HeuristicStep("image-buffers", images.image_buffers, _grouped),
    HeuristicStep("masked-axes", upcasts.masked_axes),
    HeuristicStep("broadcast-axes", upcasts.broadcast_axes),
    HeuristicStep("unroll-reduce", upcasts.unroll_reduce),
    HeuristicStep("last-axis", upcasts.last_axis),
    HeuristicStep("locals", work_groups.locals_or_none),
)


def settings_for(rules: RuleSet) -> Settings:
    """The settings that a rule set's release has by default."""
    return Settings(tries_groups=rules.name != TINYGRAD_0_8_0.name)


def _run(session: Session, steps: tuple[HeuristicStep, ...]) -> None:
    for step in steps:
        before = session.kernel
        step.run(session)
        if step.ends(before, session.kernel):
            return


def _session(kernel: Kernel, settings: Settings | None) -> Session:
    chosen = settings_for(kernel.rules) if settings is None else settings
    return Session(kernel, chosen, skips=not kernel.rules.is_release)


def required(kernel: Kernel, settings: Settings | None = None) -> Session:
    """What an image output requires."""
    session = _session(kernel, settings)
    _run(session, (REQUIRED,))
    return session


def hand_coded(kernel: Kernel, settings: Settings | None = None) -> Session:
    """The hand-coded optimizations: the optimized kernel is `session.kernel`.

    Under the sound rule set an opt that is refused is skipped and collected in `session.skipped`.
    Raises: under a release's rule set what escapes from the release, KernelOptError or OptBroke.
    """
    session = _session(kernel, settings)
    _run(session, HAND_CODED)
    return session


def engine(kernel: Kernel, settings: Settings | None = None) -> Session:
    """The engine's order: required, a tensor core, and hand-coded only when that is refused."""
    session = required(kernel, settings)
    if not apply_tensor_cores(session, use_tensor_cores=kernel.limits.tc):
        _run(session, HAND_CODED)
    return session
