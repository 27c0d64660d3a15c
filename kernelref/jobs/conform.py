"""`conform`: does the reference, under a release's rule set, do what the release does?

Over kernels: construction, and the opts and state that the hand-coded optimizations and the engine
come to. Over opt sequences: after every opt the same answer, for the same reason, and the same
state. Both sides are asked through one interface; `conform_draw` says what is asked,
`conform_compare` what is compared, `conform_deviations` which differences are known.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from kernelref.cases.sources import (
    KernelSource,
    Place,
    Unreadable,
    list_kernels,
    read_kernels,
    sample,
)
from kernelref.errors import InvalidInput, Unsupported
from kernelref.jobs.choices import limits_of, rules_of
from kernelref.jobs.conform_compare import compare
from kernelref.jobs.conform_deviations import Step, deviation_of
from kernelref.jobs.conform_draw import Drawer
from kernelref.jobs.conform_pools import Named, Pools
from kernelref.jobs.conform_report import ConformReport, Finding
from kernelref.jobs.progress import Progress, silent
from kernelref.opt.limits import Limits
from kernelref.opt.opt import Opt
from kernelref.optimizers.dialect import translate
from kernelref.optimizers.installed import InstalledOptimizer
from kernelref.optimizers.interface import (
    Accepted,
    Answer,
    Broke,
    Heuristics,
    Refused,
    Session,
    State,
)
from kernelref.optimizers.names import open_optimizer
from kernelref.optimizers.reference import ReferenceOptimizer


def conform(
    optimizer: str,
    kernels: Sequence[str],
    *,
    count: int | None = None,
    seed: int = 0,
    sequences: int = 0,
    length: int = 8,
    limits: Sequence[str] = ("opencl",),
    progress: Progress = silent,
) -> dict[str, Any]:
    """Compare the reference with `optimizer`; the object that `conform --json` prints.

    `count` kernels are sampled by `seed`; `sequences` in all are spread over them and the limits.
    Raises: InvalidInput, ReleaseMissingError, WorkerError when no worker can start.
    """
    presets = {name: limits_of(name) for name in limits}
    release = open_optimizer(optimizer)
    if not isinstance(release, InstalledOptimizer):
        message = "the reference is what is compared; name a release"
        raise InvalidInput(message, where=f"--optimizer {optimizer}")
    try:
        job = Conform(release, presets, seed, progress)
        job.run(kernels, count, sequences, length)
        return job.report.as_json()
    finally:
        release.close()


Opened: TypeAlias = tuple[Session, Session]
"""The reference's session and the release's."""


@dataclass(frozen=True, slots=True)
class Unopened:
    """A kernel that at least one side does not construct; whether they agree on that."""

    agrees: bool


class Conform:
    """One comparison under way."""

    def __init__(
        self,
        release: InstalledOptimizer,
        limits: dict[str, Limits],
        seed: int,
        progress: Progress = silent,
    ) -> None:
        self.release = release
        self.reference = ReferenceOptimizer(rules_of(release.rules))
        self.limits = limits
        self.seed = seed
        self.progress = progress
        self.report = ConformReport(release.name, release.rules, tuple(limits), seed)

    def run(
        self, specs: Sequence[str], count: int | None, sequences: int, length: int
    ) -> ConformReport:
        """Heuristics on every kernel, then the walks."""
        started = time.monotonic()
        listed = list_kernels(specs)
        places = sample(listed, count, self.seed)
        self.report.listed = len(listed)
        try:
            self._compare(places, sequences, length)
        except KeyboardInterrupt:
            # What is known so far is still told; the command line ends with its own code.
            self.report.interrupted = True
        self.report.seconds = time.monotonic() - started
        return self.report

    def _compare(self, places: Sequence[Place], sequences: int, length: int) -> None:
        kept: list[Named] = []
        for number, source in enumerate(read_kernels(places)):
            self.progress(number, len(places), "heuristics")
            named = self._readable(source)
            if named is not None and self._heuristics(named):
                kept.append(named)
        if sequences and kept:
            self._walks(kept, sequences, length)

    def _readable(self, source: KernelSource | Unreadable) -> Named | None:
        """The kernel in the release's own words, which both sides are given."""
        self.report.read += 1
        if isinstance(source, Unreadable):
            if isinstance(source.error, Unsupported):
                self.report.unsupported[source.error.reason] += 1
            else:
                self.report.unreadable.append(str(source.error))
            return None
        try:
            return Named(str(source.place), translate(source.ast, self.release.dialect))
        except Unsupported as error:
            self.report.unsupported[error.reason] += 1
            return None

    # Heuristics.

    def _heuristics(self, kernel: Named) -> bool:
        """Compare construction and heuristics under all limits; whether the kernel opens."""
        equal = dict.fromkeys((Heuristics.HAND_CODED, Heuristics.ENGINE), True)
        opens = False
        for name in self.limits:
            for how in equal:
                opened = self._open(kernel, name)
                if isinstance(opened, Unsupported):
                    self.report.unsupported[opened.reason] += 1
                    return False
                if isinstance(opened, Unopened):
                    equal[how] &= opened.agrees
                else:
                    opens = True
                    equal[how] &= self._optimized(kernel, name, how, *opened)
        self.report.kernels += 1
        self.report.unopened += not opens
        self.report.hand_coded_equal += equal[Heuristics.HAND_CODED]
        self.report.engine_equal += equal[Heuristics.ENGINE]
        return opens

    def _open(self, kernel: Named, limits: str) -> Opened | Unopened | Unsupported:
        """Both sessions, equal at the start."""
        try:
            ours = self.reference.open(kernel.ast, self.limits[limits])
            theirs = self.release.open(kernel.ast, self.limits[limits])
        except Unsupported as error:
            return error
        failures = Refused | Broke
        mine = ours if isinstance(ours, failures) else Accepted(ours.state)
        other = theirs if isinstance(theirs, failures) else Accepted(theirs.state)
        difference = compare(mine, other)
        if difference is None and not isinstance(ours, failures):
            assert not isinstance(theirs, failures)
            return ours, theirs
        if difference is not None:
            self.report.found(Finding(kernel.name, limits, "construction", (), difference))
        if not isinstance(theirs, failures):
            theirs.close()
        return Unopened(agrees=difference is None)

    def _optimized(
        self, kernel: Named, limits: str, how: Heuristics, ours: Session, theirs: Session
    ) -> bool:
        before = theirs.state
        mine, other = _answered(ours, how), _answered(theirs, how)
        difference = compare(mine, other)
        theirs.close()
        if difference is None:
            return True
        step = Step(self.release.rules, before, None, mine, other, difference)
        self._explain(step, Finding(kernel.name, limits, how.value, _opts(other), difference))
        return False

    def _explain(self, step: Step, finding: Finding) -> None:
        deviation = deviation_of(step)
        if deviation is None:
            self.report.found(finding)
        else:
            self.report.deviations[deviation.name] += 1

    # Walks.

    def _walks(self, kernels: Sequence[Named], sequences: int, length: int) -> None:
        ops = tuple(self.reference.rule_set.checks)
        drawer = Drawer(self.seed, self.release.actions(), ops)
        pools = Pools.of(kernels, self.limits, self.reference)
        for number in range(sequences):
            self.progress(number, sequences, "sequences")
            kernel, limits = pools.choose(drawer.rng, number)
            opened = self._open(kernel, limits)
            if isinstance(opened, Unopened | Unsupported):
                continue
            self.report.sequences += 1
            self._walk(kernel, limits, drawer, opened, length)
            opened[1].close()

    def _walk(
        self, kernel: Named, limits: str, drawer: Drawer, opened: Opened, length: int
    ) -> None:
        ours, theirs = opened
        is_image = kernel.ast[0].dtype.is_image
        has_cores = bool(self.limits[limits].tensor_cores)
        start = drawer.start(has_cores=has_cores)
        if start is not None and compare(_answered(ours, start), _answered(theirs, start)):
            return  # seen, and counted, where heuristics are compared
        state = theirs.state
        for number in range(length):
            is_start = number == 0 and has_cores and not state.applied_opts
            opt = drawer.draw(state, is_start=is_start, is_image=is_image)
            mine, other = _applied(ours, opt), _applied(theirs, opt)
            self.report.steps += 1
            difference = compare(mine, other)
            if difference is not None:
                finding = Finding(
                    kernel.name, limits, "opt", (*state.applied_opts, opt), difference
                )
                self._explain(
                    Step(self.release.rules, state, opt, mine, other, difference), finding
                )
                if isinstance(mine, Accepted) or isinstance(other, Accepted):
                    return
                continue
            self.report.step(opt, mine, other)
            if isinstance(other, Accepted):
                drawer.accepted[opt.op] += 1
                state = other.state


def _applied(session: Session, opt: Opt) -> Answer:
    """A side's answer; Unsupported is one: typed axes cannot hold what would follow, or a worker
    has no words for it."""
    try:
        return session.apply(opt)
    except Unsupported as error:
        return Broke("Unsupported", str(error), check=error.reason)


def _answered(session: Session, how: Heuristics) -> Answer:
    try:
        return session.optimize(how)
    except Unsupported as error:
        return Broke("Unsupported", str(error), check=error.reason)


def _opts(answer: Answer) -> tuple[Opt, ...]:
    state: State | None = answer.state
    return () if state is None else state.applied_opts
