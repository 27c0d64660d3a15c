"""A case whose optimizer is a release that somebody changed: judged by what it makes.

Nothing here asks our copy of the release for axes or views: the kernel that is lowered, run and
proved is the one that the optimizer states (`optimizers/stated`), so what is wrong is its own. The
copy is asked last: where the published release ends the same way the fault is not the change's
(`inherited`), and where it does something else with the same result that is told, and no finding.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from kernelref.errors import Unsupported
from kernelref.fuzzing.campaign_case import MOST_OPTS, Attempt, fell
from kernelref.fuzzing.campaign_check import LEAVES_TRACES, Ending, Stage, Subject
from kernelref.fuzzing.campaign_result import FINE
from kernelref.fuzzing.generate_opts import is_moderate
from kernelref.ir.ast import Ast
from kernelref.opt.footprint import footprint
from kernelref.opt.kernel import Kernel
from kernelref.opt.opt import Opt, OptOps
from kernelref.opt.rules.sets import RULE_SETS
from kernelref.optimizers.explain import Copy, copy_of, difference, explained, refuted_of
from kernelref.optimizers.installed import InstalledOptimizer, InstalledSession
from kernelref.optimizers.interface import Accepted, Broke, Heuristics, Refused, State
from kernelref.optimizers.reference import HEURISTICS
from kernelref.optimizers.stated import ContradictionError, stated
from kernelref.prove.portfolio import Portfolio
from kernelref.prove.verdict import Answer
from kernelref.run.outcome import Outcome

HEURISTICS_PERCENT = 30
NEW_PERCENT = 50
LITTLE_SHARED_PERCENT = 20
LITTLE_SHARED = (64, 256, 1024)
"""Units: bytes."""


class Changed:
    """One kernel in a changed optimizer's hands."""

    def __init__(self, attempt: Attempt, release: InstalledOptimizer, ast: Ast) -> None:
        self.attempt = attempt
        self.release = release
        self.rules = RULE_SETS[release.rules]
        self.ast = ast
        self.opened: Kernel | None = None
        if attempt.chooser.chance(LITTLE_SHARED_PERCENT):
            # Kernels of a campaign are small: so must be what they are to overstep.
            little = attempt.chooser.choice(LITTLE_SHARED)
            attempt.limits = replace(attempt.limits, shared_max=little)

    def ladder(self) -> Ending:
        """Open, run without opts, let it optimise, prove and run what it has then."""
        attempt = self.attempt
        attempt.timed(Stage.OPEN)
        session = self.release.open(self.ast, attempt.limits)
        if isinstance(session, Refused | Broke):
            return self._told(fell(Stage.OPEN, session), is_inherited=self._falls())
        try:
            return self._run(session)
        finally:
            session.close()

    def _run(self, session: InstalledSession) -> Ending:
        attempt = self.attempt
        opened = session.state
        try:
            attempt.kernel = self.opened = self._stated(opened)
            attempt.timed(Stage.ORACLE)
            subject = Subject.of(self.ast, attempt.number, attempt.variables)
            attempt.timed(Stage.PLAIN)
            plain = subject.run(attempt.kernel, Stage.PLAIN)
            if plain.outcome is not Outcome.PASS:
                return self._wrong(plain, subject)
            attempt.timed(Stage.OPTS)
            ending = self._optimise(session)
            attempt.kernel = self._stated(session.state)
        except ContradictionError as error:
            attempt.asked = None
            text = Ending(attempt.stage, Outcome.BROKE, str(error), "contradicts itself")
            return self._told(text, is_inherited=self._falls(*session.state.applied_opts))
        if ending is not None:
            return ending
        if self._overflows(attempt.kernel):
            return self._too_much(attempt.kernel)
        attempt.timed(Stage.PROOF)
        ending = self._proved(opened, session.state)
        if ending is not None:
            return ending
        attempt.timed(Stage.OPTIMISED)
        ending = subject.run(attempt.kernel, Stage.OPTIMISED)
        return ending if ending.outcome in FINE else self._wrong(ending, subject)

    def _stated(self, state: State) -> Kernel:
        return stated(self.ast, state, self.attempt.limits, self.rules)

    def _copy(self, opts: tuple[Opt, ...], start: Kernel | None = None) -> Copy:
        return copy_of(self.release, self.ast, self.attempt.limits, opts, start)

    def _is_known(self, opts: tuple[Opt, ...], has: Callable[[Copy], bool]) -> bool:
        """Whether the published release has a fault: on its own axes, or on those made here."""
        if has(self._copy(opts)):
            return True
        return self.opened is not None and has(self._copy(opts, self.opened))

    def _falls(self, *opts: Opt) -> bool:
        return self._is_known(opts, lambda copy: copy.fell)

    # Opts.

    def _optimise(self, session: InstalledSession) -> Ending | None:
        """Heuristics, or actions that its search would keep; how it fell over, if it did."""
        chooser = self.attempt.chooser
        if chooser.chance(HEURISTICS_PERCENT):
            return self._heuristics(
                session, chooser.choice((Heuristics.HAND_CODED, Heuristics.ENGINE))
            )
        # What an image output needs comes before a release's search begins.
        required = session.optimize(Heuristics.REQUIRED)
        if isinstance(required, Broke):
            return self._told(fell(Stage.OPTS, required), is_inherited=self._falls())
        actions = self.release.actions()
        for _ in range(chooser.integer(1, MOST_OPTS)):
            kept = session.kept_actions()
            if isinstance(kept, Broke):
                is_known = self._falls(*session.state.applied_opts)
                return self._told(fell(Stage.OPTS, kept), is_inherited=is_known)
            kernel = self._stated(session.state)
            after = {i: kernel.attempt(actions[i]) for i in kept}
            # What the published release refuses here is new: half of the time it is looked at.
            new = [i for i in kept if not isinstance(after[i], Kernel)]
            moderate = [
                i for i, one in after.items() if isinstance(one, Kernel) and is_moderate(one)
            ]
            chosen = new if new and (not moderate or chooser.chance(NEW_PERCENT)) else moderate
            if not chosen:
                break
            ending = self._asked(session, actions[chooser.choice(chosen)])
            if ending is not None:
                return ending
        return None

    def _heuristics(self, session: InstalledSession, how: Heuristics) -> Ending | None:
        answer = session.optimize(how)
        copy = self._copy(())
        chosen: Kernel | None = None
        is_broken = copy.fell
        if copy.kernel is not None:
            try:
                chosen = HEURISTICS[how](copy.kernel).kernel
            except Exception:
                # However the copy falls over: the release is known to do so here.
                is_broken = True
        if isinstance(answer, Refused):
            # Its own refusal of its own choice escapes from the heuristics.
            answer = Broke("KernelOptError", answer.reason)
        if isinstance(answer, Broke):
            return self._told(fell(Stage.OPTS, answer), is_inherited=is_broken)
        if chosen is not None and chosen.applied_opts != session.state.applied_opts:
            self.attempt.differs.append(f"{how.value} opts")
        return None

    def _asked(self, session: InstalledSession, opt: Opt) -> Ending | None:
        applied = session.state.applied_opts
        match session.apply(opt):
            case Accepted():
                return None
            case Refused(changed=changed, reason=reason):
                self.attempt.refused += 1
                if not changed:
                    return None
                self.attempt.asked = opt
                ending = Ending(Stage.OPTS, Outcome.BROKE, f"{opt}: {reason}", LEAVES_TRACES)
                known = opt.op is OptOps.TC or self.release.release.version == "0.8.0"
                return self._told(ending, is_inherited=known)
            case Broke() as broke:
                self.attempt.asked = opt
                return self._told(fell(Stage.OPTS, broke), is_inherited=self._falls(*applied, opt))

    # Verdicts.

    def _overflows(self, kernel: Kernel) -> bool:
        """Whether it shares more memory than a group has."""
        return footprint(kernel).shared_nbytes > self.attempt.limits.shared_max

    def _too_much(self, kernel: Kernel) -> Ending:
        nbytes, most = footprint(kernel).shared_nbytes, self.attempt.limits.shared_max
        says = f"{nbytes:,} bytes of shared memory, and a group has {most:,}"
        is_known = self._is_known(
            kernel.applied_opts,
            lambda copy: copy.kernel is not None and self._overflows(copy.kernel),
        )
        ending = Ending(Stage.OPTS, Outcome.OUT_OF_MEMORY, says, "shared memory")
        return self._told(ending, is_inherited=is_known)

    def _proved(self, opened: State, final: State) -> Ending | None:
        """The obligations of its own states where they differ; None where nothing is refuted."""
        attempt = self.attempt
        copy = self._copy(final.applied_opts)
        assert attempt.kernel is not None
        differs = difference(copy, attempt.kernel)
        if differs:
            attempt.differs.append(differs)
        if not attempt.plan.proves or not differs:
            # What is the published release's kernel to the last view is right or wrong with it.
            return None
        try:
            told = explained(self.release, self.ast, attempt.limits, opened, final)
        except Unsupported as error:
            attempt.unproved.append(f"bijection {error.reason}")
            return None
        verdicts = tuple(told.verdicts(Portfolio()))
        for verdict in verdicts:
            if verdict.answer in (Answer.UNKNOWN, Answer.UNSUPPORTED):
                attempt.unproved.append(f"{verdict.obligation.value} {verdict.answer.value}")
        wrong = next((v for v in verdicts if v.answer is Answer.REFUTED), None)
        if wrong is None:
            return None
        blame = told.blamed(Portfolio())
        text = f"{blame}: {wrong}" if blame else str(wrong)
        reason = f"{wrong.obligation.value} refuted"
        ending = Ending(Stage.PROOF, Outcome.WRONG_VALUE, text, reason)
        failed = wrong.step, wrong.obligation
        is_known = failed in told.permitted(Portfolio()) or self._is_known(
            final.applied_opts, lambda copy: failed in refuted_of(copy, Portfolio())
        )
        return self._told(ending, is_inherited=is_known)

    def _wrong(self, ending: Ending, subject: Subject) -> Ending:
        """A result that is wrong; whether the release's own kernel has the same fault."""
        kernel = self.attempt.kernel
        assert kernel is not None

        def has(copy: Copy) -> bool:
            own = copy.kernel
            return own is not None and subject.run(own, ending.stage).outcome is ending.outcome

        return self._told(ending, is_inherited=self._is_known(kernel.applied_opts, has))

    def _told(self, ending: Ending, *, is_inherited: bool) -> Ending:
        return replace(ending, inherited=True) if is_inherited else ending
