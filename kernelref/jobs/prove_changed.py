"""`prove --optimizer` of a release that was changed: its own states, by the maps that explain them.

What the published release is refuted in as well is told apart: the change did not bring it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

from kernelref.cases.sources import KernelSource
from kernelref.errors import Unsupported
from kernelref.ir.ast import Ast
from kernelref.jobs.choices import Choices
from kernelref.jobs.run_release import Scheduled, schedules
from kernelref.opt.kernel import Kernel
from kernelref.opt.opt import Opt
from kernelref.optimizers.explain import (
    Copy,
    Explained,
    copy_of,
    difference,
    explained,
    refuted,
    refuted_of,
)
from kernelref.optimizers.installed import InstalledOptimizer, InstalledSession
from kernelref.optimizers.interface import State
from kernelref.prove.portfolio import Portfolio
from kernelref.prove.verdict import Obligation, Verdict


@dataclass(frozen=True, slots=True)
class Changed:
    """One sequence of opts in a changed optimizer's hands.

    `reason`: why nothing was proved of it. `differs`: what the published release has otherwise.
    `inherited` are the refuted obligations in which that release is refuted too.
    """

    opts: tuple[Opt, ...] = ()
    refused: tuple[tuple[Opt, str], ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    blame: str = ""
    differs: str = ""
    inherited: frozenset[tuple[str, Obligation]] = frozenset()
    reason: str = ""
    detail: str = ""
    seconds: float = 0.0


def prove_changed(
    release: InstalledOptimizer, ast: Ast, source: KernelSource, choices: Choices, ask: Portfolio
) -> Iterator[Changed]:
    """Every sequence that the choice means. Raises: Unsupported for the kernel as a whole."""
    limits = choices.limits
    session = release.open(ast, limits)
    if not isinstance(session, InstalledSession):
        copy = copy_of(release, ast, limits, ())
        own = f"broke ({getattr(session, 'kind', 'refusal')}), and the release itself does not"
        yield Changed(reason="release-broke" if copy.fell else own)
        return
    opened = session.state
    session.close()
    for found in schedules(release, ast, source.opts, choices.opts, limits):
        if found.session is None:
            yield Changed(refused=found.refused, reason="release-broke")
            continue
        try:
            yield _proved(release, ast, choices, ask, opened, found)
        except Unsupported as error:
            yield Changed(refused=found.refused, reason=error.reason, detail=error.detail)
        finally:
            found.session.close()


def _proved(
    release: InstalledOptimizer,
    ast: Ast,
    choices: Choices,
    ask: Portfolio,
    opened: State,
    found: Scheduled,
) -> Changed:
    assert found.session is not None
    final = found.session.state
    begin = time.perf_counter()
    told = explained(release, ast, choices.limits, opened, final)
    verdicts = tuple(told.verdicts(ask))
    seconds = time.perf_counter() - begin
    copy = copy_of(release, ast, choices.limits, final.applied_opts)
    inherited: frozenset[tuple[str, Obligation]] = frozenset()
    if refuted(verdicts):
        if told.wrong is not None and copy.fell:
            return Changed(final.applied_opts, found.refused, reason="release-broke")
        known = refuted_of(copy, ask) | told.permitted(ask)
        if told.subject is not None:
            start = told.subject.opened
            known |= refuted_of(
                copy_of(release, ast, choices.limits, final.applied_opts, start), ask
            )
        inherited = refuted(verdicts) & known
    return Changed(
        final.applied_opts,
        found.refused,
        verdicts,
        told.blamed(ask) if refuted(verdicts) else "",
        _differs(copy, told),
        inherited,
        seconds=seconds,
    )


def _differs(copy: Copy, told: Explained) -> str:
    if told.subject is None:
        return ""
    final: Kernel = told.subject.final
    return difference(copy, final)
