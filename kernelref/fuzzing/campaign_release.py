"""A case whose optimizer is a release as published: its own opts and heuristics, its own views.

The release opens the kernel and is asked for opts of its search's list, or for its heuristics; the
reference goes along under the rule set that copies the release, because typed axes and lowering are
ours. What is lowered has the release's ShapeTrackers, so a wrong value is the release's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from kernelref.errors import Unsupported
from kernelref.fuzzing.campaign_case import (
    MOST_OPTS,
    Attempt,
    choose_kernel,
    fell,
    replayed,
    same_failure,
)
from kernelref.fuzzing.campaign_changed import Changed
from kernelref.fuzzing.campaign_check import LEAVES_TRACES, Ending, Stage, Subject
from kernelref.fuzzing.campaign_result import FINE
from kernelref.fuzzing.generate_opts import is_moderate
from kernelref.fuzzing.generate_taste import Taste
from kernelref.ir.ast import Op
from kernelref.opt.kernel import Kernel
from kernelref.opt.opt import Opt
from kernelref.opt.rules.sets import RULE_SETS
from kernelref.optimizers.dialect import translate
from kernelref.optimizers.installed import InstalledOptimizer, InstalledSession
from kernelref.optimizers.interface import Accepted, Answer, Broke, Heuristics, Refused
from kernelref.optimizers.names import opened_release
from kernelref.optimizers.reference import ReferenceOptimizer, ReferenceSession
from kernelref.run.outcome import Outcome

HEURISTICS_PERCENT = 30
WITHOUT_TEXT = frozenset({Op.MULACC, Op.SHL, Op.SHR})
"""Ops that no release's scheduler asks for; 0.9.1 has no text for them, 0.9.0 none for MULACC."""
WITHOUT_TEXT_PERCENT = 10


@dataclass(slots=True)
class Pair:
    """One kernel in both hands: the release's session and the reference's that goes along."""

    theirs: InstalledSession
    ours: ReferenceSession

    def kernel(self) -> Kernel:
        """Our axes with the release's ShapeTrackers."""
        kernel = self.ours.kernel
        sts = tuple(
            buffer.st.with_algebra(kernel.rules.algebra) for buffer in self.theirs.state.buffers
        )
        return replace(kernel, sts=sts) if len(sts) == len(kernel.sts) else kernel

    def difference(self) -> str:
        """Whether the two stand apart: then the reference, not the release, is at fault."""
        ours, theirs = self.ours.state, self.theirs.state
        for what in ("full_shape", "colors", "applied_opts"):
            if getattr(ours, what) != getattr(theirs, what):
                return f"{what}: {getattr(ours, what)}, and the release {getattr(theirs, what)}"
        return ""


def with_text(attempt: Attempt) -> Taste:
    """The steering's taste, mostly without the ops that no release has words for."""
    taste = attempt.steering.taste()
    if attempt.chooser.chance(WITHOUT_TEXT_PERCENT):
        return taste
    return replace(taste, ops={o: n for o, n in taste.ops.items() if o not in WITHOUT_TEXT})


def release_ladder(attempt: Attempt, release: InstalledOptimizer | None = None) -> Ending:
    """Open in the release, run without opts, let it optimise, and run again.

    `release` is a process of the plan's release; None: this process's own, which serves all cases.
    """
    release = release or opened_release(attempt.plan.optimizer)
    attempt.ast = ast = translate(choose_kernel(attempt, with_text(attempt)), release.dialect)
    attempt.rules = release.rules
    if not release.release.is_genuine:
        return Changed(attempt, release, ast).ladder()
    rules = RULE_SETS[release.rules]
    attempt.timed(Stage.OPEN)
    theirs = release.open(ast, attempt.limits)
    if isinstance(theirs, Refused | Broke):
        return fell(Stage.OPEN, theirs)
    try:
        ours = ReferenceOptimizer(rules).open(ast, attempt.limits)
        if isinstance(ours, Refused | Broke):
            return Ending(Stage.OPEN, Outcome.HARNESS_ERROR, ours.reason, "reference-differs")
        pair = Pair(theirs, ours)
        attempt.kernel = pair.kernel()
        return _run(attempt, pair, release.actions())
    finally:
        theirs.close()


def _run(attempt: Attempt, pair: Pair, actions: tuple[Opt, ...]) -> Ending:
    assert attempt.ast is not None
    attempt.timed(Stage.ORACLE)
    subject = Subject.of(attempt.ast, attempt.number, attempt.variables)
    attempt.timed(Stage.PLAIN)
    plain = subject.run(pair.kernel(), Stage.PLAIN)
    if plain.outcome is not Outcome.PASS:
        return plain
    opened_kernel = pair.ours.kernel
    attempt.timed(Stage.OPTS)
    stopped = _optimise(attempt, pair, actions)
    attempt.kernel = pair.kernel()
    if stopped is not None:
        return stopped
    attempt.timed(Stage.OPTIMISED)
    ending = subject.run(attempt.kernel, Stage.OPTIMISED)
    if ending.outcome in FINE:
        return ending
    return _shrunk(attempt, opened_kernel, subject, ending)


def _optimise(attempt: Attempt, pair: Pair, actions: tuple[Opt, ...]) -> Ending | None:
    """Heuristics, or actions that the release's search would keep; how it fell over, if it did."""
    chooser = attempt.chooser
    if chooser.chance(HEURISTICS_PERCENT):
        how = chooser.choice((Heuristics.HAND_CODED, Heuristics.ENGINE))
        theirs = pair.theirs.optimize(how)
        pair.ours.optimize(how)
        if isinstance(theirs, Broke):
            return fell(Stage.OPTS, theirs)
        return _apart(pair)
    # What an image output needs comes before a release's search begins.
    required = pair.theirs.optimize(Heuristics.REQUIRED)
    pair.ours.optimize(Heuristics.REQUIRED)
    if isinstance(required, Broke):
        return fell(Stage.OPTS, required)
    for _ in range(chooser.integer(1, MOST_OPTS)):
        kept = pair.theirs.kept_actions()
        if isinstance(kept, Broke):
            return fell(Stage.OPTS, kept)
        moderate = [i for i in kept if _is_moderate_after(pair.ours.kernel, actions[i])]
        if not moderate:
            break
        opt = actions[chooser.choice(moderate)]
        ending = _asked(attempt, pair, opt, pair.theirs.apply(opt))
        if ending is not None:
            return ending
    return _apart(pair)


def _is_moderate_after(kernel: Kernel, opt: Opt) -> bool:
    """Whether what the opt makes is worth waiting for; what the reference refuses is."""
    after = kernel.attempt(opt)
    return not isinstance(after, Kernel) or is_moderate(after)


def _asked(attempt: Attempt, pair: Pair, opt: Opt, theirs: Answer) -> Ending | None:
    """Let the reference follow; an ending where the release fell over or left traces."""
    match theirs:
        case Accepted():
            try:
                pair.ours.apply(opt)
            except Unsupported as error:
                return Ending(Stage.OPTS, Outcome.UNSUPPORTED, error.detail, error.reason)
        case Refused(changed=True):
            # The session stands where it stood; in the release itself the half-done opt stays.
            attempt.asked = opt
            detail = f"{opt}: {theirs.reason}"
            return Ending(Stage.OPTS, Outcome.BROKE, detail, LEAVES_TRACES)
        case Refused():
            attempt.refused += 1
        case Broke():
            attempt.asked = opt
            return fell(Stage.OPTS, theirs)
    return None


def _apart(pair: Pair) -> Ending | None:
    difference = pair.difference()
    if not difference:
        return None
    return Ending(Stage.OPTS, Outcome.HARNESS_ERROR, difference, "reference-differs")


def _shrunk(attempt: Attempt, start: Kernel, subject: Subject, ending: Ending) -> Ending:
    """Leave out opts while the same failure stays, under the rule set that copies the release.

    Without one the last may have to name another axis: all are tried, so that what an opt does
    wrong is not told apart by what came before it.
    """
    assert attempt.kernel is not None
    attempt.whole = attempt.kernel, ending
    opts = attempt.kernel.applied_opts
    for i in reversed(range(len(opts))):
        for fewer in _without(start, opts, i):
            found = subject.run(fewer, Stage.OPTIMISED)
            if same_failure(found, ending):
                attempt.kernel, ending, opts = fewer, found, fewer.applied_opts
                break
    return ending


def _without(start: Kernel, opts: tuple[Opt, ...], i: int) -> Iterator[Kernel]:
    """The kernel without the opt at `i`, as it stands and with the last opt on any axis."""
    fewer = replayed(start, (*opts[:i], *opts[i + 1 :]))
    yield fewer
    last = opts[-1]
    if i == len(opts) - 1 or last.axis is None:
        return
    before = replayed(start, (*opts[:i], *opts[i + 1 : -1]))
    for axis in range(len(before.axes)):
        after = before.attempt(replace(last, axis=axis))
        if isinstance(after, Kernel):
            yield after
