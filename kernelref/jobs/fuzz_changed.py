"""The device rung for a release that was changed: its own text beside the published release's.

What both print alike is not run: whatever it computes, the change did not bring it. Where they
differ both run, and an ending that they share is inherited.
"""

from __future__ import annotations

from dataclasses import replace

from kernelref.cases.case import dump_case
from kernelref.errors import KernelRefError, Unsupported
from kernelref.fuzzing.campaign_case import Attempt, in_words
from kernelref.fuzzing.campaign_check import Ending, Stage
from kernelref.fuzzing.campaign_result import FINE as HOST_FINE
from kernelref.fuzzing.campaign_result import CaseResult, Confirmed, retold
from kernelref.jobs.fuzz_ran import RUNS_ON_DEVICES, is_own, not_run, not_run_anywhere, subject_of
from kernelref.jobs.opt_choice import Listed
from kernelref.jobs.run_beside import is_same, published_name
from kernelref.jobs.run_prepare import Prepared, Ready
from kernelref.jobs.run_release import prepare_release
from kernelref.jobs.run_report import FINE, PUBLISHED, SAME
from kernelref.jobs.run_report import Ending as Ran
from kernelref.jobs.run_subject import Subject
from kernelref.opt.opt import Opt
from kernelref.optimizers.names import fresh_release, opened_release
from kernelref.optimizers.process import WorkerError
from kernelref.run.outcome import Outcome


def is_changed(optimizer: str) -> bool:
    """Whether this is a release, and not as it was published."""
    is_release = optimizer.startswith("tinygrad")
    return is_release and not opened_release(optimizer).release.is_genuine


def with_changed_launches(attempt: Attempt, result: CaseResult) -> CaseResult:
    """The case with a launch of each text that differs from the published release's."""
    if attempt.ast is None or attempt.kernel is None:
        return result
    if result.ending.outcome not in RUNS_ON_DEVICES:
        return result
    case = attempt.as_case(attempt.ast, Ending(Stage.DEVICE, Outcome.WRONG_VALUE))
    try:
        subject = subject_of(attempt, case)
        prepared = _prepared(attempt, subject, attempt.kernel.applied_opts)
    except Unsupported as error:
        return replace(result, not_run=not_run_anywhere(attempt, error))
    except KernelRefError as error:
        ending = Ending(Stage.DEVICE, Outcome.HARNESS_ERROR, str(error), type(error).__name__)
        return replace(result, ending=ending, case=dump_case(retold(case, ending)))
    result = replace(result, not_run=not_run(filter(is_own, prepared)))
    fallen = [item for item in prepared if isinstance(item, Ran) and item.outcome not in FINE]
    if any(map(is_own, fallen)):
        found = finished_changed(replace(result, case=result.case or dump_case(case)), fallen)
        is_text = found.is_finding and found.ending.stage is Stage.DEVICE
        return _confirmed(found, attempt, subject) if is_text else found
    if any(isinstance(item, Ready) and item.pair.base == PUBLISHED for item in prepared):
        result = replace(result, differs=(*result.differs, "text"))
    ready = (item for item in prepared if isinstance(item, Ready))
    launches = tuple(item for item in ready if item.pair.base != SAME)
    if not launches:
        return result
    return replace(result, launches=launches, case=result.case or dump_case(case))


def _confirmed(found: CaseResult, attempt: Attempt, subject: Subject) -> CaseResult:
    """A text that came to no launch, asked of a process that has printed nothing else."""
    plan = attempt.plan
    choice, outcome = Listed(found.opts), found.ending.outcome
    try:
        with fresh_release(plan.optimizer) as release:
            again = list(
                prepare_release(
                    subject, plan.optimizer, choice, attempt.limits, plan.targets, release=release
                )
            )
    except WorkerError:
        return found
    ends = [item.outcome if isinstance(item, Ran) else Outcome.PASS for item in again]
    if outcome in ends:
        return found.marked(Confirmed.FRESH, outcome)
    return found.marked(Confirmed.HISTORY, ends[0])


def _prepared(attempt: Attempt, subject: Subject, opts: tuple[Opt, ...]) -> list[Prepared]:
    """Its own text for each device, and the published release's where that is another."""
    plan, limits = attempt.plan, attempt.limits

    def texts(name: str, opts: tuple[Opt, ...]) -> list[Prepared]:
        return list(prepare_release(subject, name, Listed(opts), limits, plan.targets))

    own = texts(plan.optimizer, opts)
    published = published_name(plan.optimizer)
    if published is None:
        return own
    beside = [texts(published, opts)]
    if any(item.pair.refused for item in beside[0]):
        # It refuses some on its own axes; faults of its text may show without opts as well.
        beside.append(texts(published, ()))
    found: list[Prepared] = []
    for mine, *others in zip(own, *beside, strict=True):
        its = next((other for other in others if is_same(mine, other)), others[-1])
        if isinstance(mine, Ready) and is_same(mine, its):
            found.append(replace(mine, pair=replace(mine.pair, base=SAME)))
        else:
            found += [mine, replace(its, pair=replace(its.pair, base=PUBLISHED))]
    return found


def finished_changed(result: CaseResult, endings: list[Ran]) -> CaseResult:
    """The case with what the devices said of both texts.

    What is refuted or wrong on the host stays so: inputs may hide it from a device.
    """
    own = sorted(filter(is_own, endings), key=lambda ran: ran.pair.device)
    result = replace(result, not_run=(*result.not_run, *not_run(own)))
    said = "; ".join(f"{ran.pair.device}: {ran.outcome.value} {ran.detail}".rstrip() for ran in own)
    if result.ending.outcome not in HOST_FINE:
        detail = f"{result.ending.detail} [{said}]"
        return result.ended(replace(result.ending, detail=detail))
    wrong = [ran for ran in own if ran.outcome not in FINE]
    if not wrong:
        return replace(result, case="")
    published = {ran.pair.device: ran.outcome for ran in endings if ran.pair.base == PUBLISHED}
    inherited = all(published.get(ran.pair.device) is ran.outcome for ran in wrong)
    where = "+".join(sorted({ran.pair.device for ran in wrong}))
    if wrong[0].outcome is Outcome.BROKE:
        where = in_words(wrong[0].detail)
    ending = Ending(Stage.DEVICE, wrong[0].outcome, said, where, inherited=inherited)
    return result.ended(ending)
