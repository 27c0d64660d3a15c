"""One kernel under proof: each opt sequence that `--opts` means, from any optimizer."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from kernelref.cases.case import Case
from kernelref.cases.sources import KernelSource
from kernelref.codegen.target import Target
from kernelref.errors import InvalidInput, KernelOptError, Unsupported
from kernelref.jobs.choices import Choices, choices_for
from kernelref.jobs.prove_changed import prove_changed
from kernelref.jobs.run_release import schedules as release_schedules
from kernelref.jobs.run_schedules import Schedule, schedules
from kernelref.opt.broke import OptBroke
from kernelref.opt.kernel import Kernel
from kernelref.opt.opt import Opt
from kernelref.opt.rules.sets import RULE_SETS
from kernelref.optimizers.dialect import translate
from kernelref.optimizers.installed import InstalledOptimizer
from kernelref.optimizers.interface import State
from kernelref.optimizers.names import heuristic_of, opened_release
from kernelref.optimizers.reference import chosen_by, load_heuristic
from kernelref.prove.certificate import certificate_to_json
from kernelref.prove.generalise import Generalised, generalise
from kernelref.prove.portfolio import DEFAULT, Portfolio
from kernelref.prove.step import opts_step
from kernelref.prove.subject import ANY, Subject, prove, prove_step
from kernelref.prove.verdict import Answer, EngineFault, Obligation, Verdict

REFERENCE = "reference"


@dataclass(frozen=True, slots=True)
class Settings:
    """What all kernels of a run have in common."""

    opts: str = "own"
    rules: str | None = None
    limits: str | None = None
    optimizer: str = REFERENCE
    portfolio: Portfolio = DEFAULT
    wants_certificate: bool = False
    generalises: bool = False
    target: Target = ANY


@dataclass(frozen=True, slots=True)
class Finished:
    """What came of one kernel with one sequence of opts.

    `reason`: why nothing was proved of it, by the name under which that is counted, and `detail`
    in a sentence; `fault`: what went wrong in kernelref. `blame` is the first opt that is refuted
    by itself. Of a changed release `differs` says what the published one has otherwise,
    `inherited` what it is refuted in as well. Units: `seconds`.
    """

    kernel: str
    opts: tuple[Opt, ...] = ()
    refused: tuple[tuple[Opt, str], ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    reason: str = ""
    detail: str = ""
    fault: str = ""
    blame: str = ""
    seconds: float = 0.0
    certificate: Any = None
    generalised: tuple[Generalised, ...] = ()
    differs: str = ""
    inherited: frozenset[tuple[str, Obligation]] = frozenset()

    @property
    def index_seconds(self) -> float:
        """What the index obligations took."""
        return sum(v.seconds for v in self.verdicts if v.obligation is Obligation.INDEX)


@dataclass(frozen=True, slots=True)
class Proposed:
    """A kernel after some opts, as a Subject; or why there is none, and after which."""

    subject: Subject | None
    refused: tuple[tuple[Opt, str], ...] = ()
    reason: str = ""
    detail: str = ""
    opts: tuple[Opt, ...] = ()


def prove_kernel(settings: Settings, source: KernelSource) -> Iterator[Finished]:
    """Every sequence of one kernel; what goes wrong is a result too."""
    name = str(source.place)
    if settings.portfolio.smt2 is not None:
        settings = replace(settings, portfolio=_dumping(settings.portfolio, source))
    try:
        choices = choices_for(
            source, opts=settings.opts, rules=settings.rules, limits=settings.limits
        )
        if settings.optimizer.startswith("tinygrad"):
            release = opened_release(settings.optimizer)
            if not release.release.is_genuine:
                yield from _changed(settings, release, source, choices)
                return
        for proposed in _proposals(settings, source, choices):
            yield _finish(settings, source, choices, name, proposed)
    except (OptBroke, KernelOptError) as error:
        yield Finished(name, reason=f"{type(error).__name__} {error.check}", detail=str(error))
    except Unsupported as error:
        yield Finished(name, reason=error.reason, detail=error.detail)


def _dumping(portfolio: Portfolio, source: KernelSource) -> Portfolio:
    """A folder for each kernel, named by file and line."""
    assert portfolio.smt2 is not None
    path, line = source.place.path, source.place.line
    name = path.name if line is None else f"{path.name}.{line}"
    return replace(portfolio, smt2=portfolio.smt2 / name)


def _changed(
    settings: Settings, release: InstalledOptimizer, source: KernelSource, choices: Choices
) -> Iterator[Finished]:
    if settings.wants_certificate:
        raise InvalidInput("of a release as published, or of the reference", where="--certificate")
    if settings.target != ANY:
        raise InvalidInput("of a release as published, or of the reference", where="--device")
    ast = translate(source.ast, release.dialect)
    try:
        for one in prove_changed(release, ast, source, choices, settings.portfolio):
            yield Finished(
                str(source.place), one.opts, one.refused, one.verdicts, one.reason, one.detail,
                blame=one.blame, seconds=one.seconds, differs=one.differs,
                inherited=one.inherited,
            )  # fmt: skip
    except EngineFault as error:
        yield Finished(str(source.place), fault=f"{type(error).__name__}: {error}")


def _finish(
    settings: Settings, source: KernelSource, choices: Choices, name: str, proposed: Proposed
) -> Finished:
    subject = proposed.subject
    if subject is None:
        return Finished(
            name, proposed.opts, proposed.refused, reason=proposed.reason, detail=proposed.detail
        )
    opts = subject.final.applied_opts
    begin = time.perf_counter()
    try:
        verdicts = prove(subject, settings.portfolio, target=settings.target)
        seconds = time.perf_counter() - begin
        blame = _blame(subject, verdicts, settings.portfolio)
    except EngineFault as error:
        return Finished(name, opts, proposed.refused, fault=f"{type(error).__name__}: {error}")
    certificate = None
    if settings.wants_certificate:
        case = source.case or Case(source.ast)
        rules, limits = subject.opened.rules.name, choices.limits
        kept = replace(case, ast=subject.opened.ast, opts=opts, rules=rules, limits=limits)
        certificate = certificate_to_json(kept, settings.optimizer, subject, verdicts)
    return Finished(
        name,
        opts,
        proposed.refused,
        verdicts,
        blame=blame,
        seconds=seconds,
        certificate=certificate,
        generalised=_generalised(settings, subject),
    )


def _generalised(settings: Settings, subject: Subject) -> tuple[Generalised, ...]:
    """For which sizes each opt is right by itself, if that was asked for."""
    found: list[Generalised] = []
    kernel = subject.opened
    for opt in subject.final.applied_opts if settings.generalises else ():
        found.append(generalise(kernel, opt, settings.portfolio))
        kernel = kernel.apply_opt(opt)
    return tuple(found)


def _blame(subject: Subject, verdicts: tuple[Verdict, ...], portfolio: Portfolio) -> str:
    """The first opt that is refuted when it is proved by itself; "" when none is to blame."""
    refuted = any(v.answer is Answer.REFUTED and v.step == "opts" for v in verdicts)
    if not refuted or subject.final_sts is not None:
        return ""
    kernel = subject.opened
    for opt in subject.final.applied_opts:
        one = Subject.of(kernel, [opt])
        step = opts_step(str(opt), kernel, one.final, one.moves)
        if any(v.answer is Answer.REFUTED for v in prove_step(step, kernel, portfolio)):
            return str(opt)
        kernel = one.final
    return ""


# Whose opts, and whose ShapeTrackers.


def _proposals(settings: Settings, source: KernelSource, choices: Choices) -> Iterator[Proposed]:
    if settings.optimizer == REFERENCE:
        kernel = Kernel.open(source.ast, choices.limits, choices.rules)
        salt = str(source.place)
        own = source.opts or ()
        for found in schedules(kernel, own, choices.opts, salt=salt, is_strict=False):
            yield _of_schedule(kernel, found)
    elif heuristic := heuristic_of(settings.optimizer):
        kernel = Kernel.open(source.ast, choices.limits, choices.rules)
        yield _of_schedule(kernel, Schedule(chosen_by(load_heuristic(heuristic), kernel)))
    else:
        yield from _of_release(settings.optimizer, source, choices)


def _of_schedule(opened: Kernel, found: Schedule) -> Proposed:
    if found.stop is not None:
        reason = f"{type(found.stop).__name__} {found.stop.check}"
        applied = found.kernel.applied_opts
        return Proposed(None, found.refused, reason, str(found.stop), applied)
    subject = Subject.of(opened, found.kernel.applied_opts)
    final = found.kernel
    # The ShapeTrackers are those that the schedule ended with, however it got there; all else must
    # follow from the opts that it says it applied, or it is not the kernel that would be proved.
    if replace(subject.final, sts=final.sts) != final:
        says = "the kernel is not the one that the opts it says it applied make"
        return Proposed(None, found.refused, "hidden-steps", says, final.applied_opts)
    if subject.final.sts != final.sts:
        subject = replace(subject, final_sts=final.sts)
    return Proposed(subject, found.refused)


def _of_release(name: str, source: KernelSource, choices: Choices) -> Iterator[Proposed]:
    """The release's own ShapeTrackers, against the axis map of the opts that it says it applied."""
    release = opened_release(name)
    ast = translate(source.ast, release.dialect)
    opened = Kernel.open(ast, choices.limits, RULE_SETS[release.rules])
    before = _state(release.open(ast, choices.limits))
    for found in release_schedules(release, ast, source.opts, choices.opts, choices.limits):
        if found.session is None or before is None:
            yield Proposed(None, found.refused, "release-broke")
            continue
        yield _of_states(opened, before, found.session.state, found.refused)
        found.session.close()


def _state(session: Any) -> State | None:
    state = getattr(session, "state", None)
    if isinstance(state, State) and hasattr(session, "close"):
        session.close()
        return state
    return None


def _of_states(
    opened: Kernel, before: State, after: State, refused: tuple[tuple[Opt, str], ...]
) -> Proposed:
    try:
        subject = Subject.of(opened, after.applied_opts)
    except (KernelOptError, OptBroke) as error:
        reason = f"reference-refuses {error.check}"
        return Proposed(None, refused, reason, str(error), after.applied_opts)
    if subject.final.full_shape != after.full_shape or opened.full_shape != before.full_shape:
        says = f"the release has {after.full_shape}, the rules {subject.final.full_shape}"
        return Proposed(None, refused, "axes-differ", says, after.applied_opts)
    if not len(before.buffers) == len(after.buffers) == len(opened.sts):
        says = f"the release has {len(after.buffers)}, the rules {len(opened.sts)}"
        return Proposed(None, refused, "buffers-differ", says, after.applied_opts)
    return Proposed(
        replace(
            subject,
            opened_sts=tuple(buffer.st for buffer in before.buffers),
            final_sts=tuple(buffer.st for buffer in after.buffers),
        ),
        refused,
    )
