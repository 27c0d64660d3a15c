"""What a changed optimizer did, opt by opt, so that the prover can be asked about it.

Its own state after each opt is taken (`stated`), a map from state to state is found (`laws`), and
the maps together are what `prove` is asked to prove. `Explained.verdicts` says what came of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kernelref.errors import KernelOptError, Unsupported
from kernelref.ir.ast import Ast
from kernelref.opt.axismap import AxisMap
from kernelref.opt.broke import OptBroke
from kernelref.opt.kernel import Kernel
from kernelref.opt.limits import Limits
from kernelref.opt.opt import Opt
from kernelref.opt.rules.apply import attempt
from kernelref.opt.rules.sets import RULE_SETS
from kernelref.optimizers.installed import InstalledOptimizer, InstalledSession
from kernelref.optimizers.interface import Accepted, State
from kernelref.optimizers.laws import composed, construction_law, law_between, loses_points
from kernelref.optimizers.stated import ContradictionError, shown, stated
from kernelref.prove.portfolio import Portfolio
from kernelref.prove.step import law_step, opts_step
from kernelref.prove.subject import Subject, prove, prove_program, prove_step
from kernelref.prove.verdict import Answer, Failure, Obligation, Open, Part, Verdict, Witness, judge

CONSTRUCTION = "construction"
OPTS = "opts"


@dataclass(frozen=True, slots=True)
class Explained:
    """A kernel after opts in another optimizer's hands.

    `subject` is None where no map was found: `stuck` says at which step, and why, and `wrong` what
    is wrong without any map: a state that contradicts itself. `blame` is the first opt that no map
    explains; `parts` are the opts by themselves, with the kernels around them and the map.
    """

    subject: Subject | None
    stuck: tuple[str, str] = ("", "")
    blame: str = ""
    wrong: Witness | None = None
    parts: tuple[tuple[Opt, Kernel, Kernel, AxisMap], ...] = ()

    def verdicts(self, portfolio: Portfolio) -> Iterator[Verdict]:
        """Every obligation; where there is no map, that one is open, or refuted by `wrong`."""
        if self.subject is None:
            step, why = self.stuck
            part: Part = Open(why) if self.wrong is None else Failure(self.wrong)
            yield judge(step, Obligation.BIJECTION, [part], portfolio)
            return
        opened = self.subject.opened
        yield from prove_step(self.subject.construction(), opened, portfolio)
        yield from prove_step(self.subject.opts(), opened, portfolio)
        yield from prove_program(self.subject.final, portfolio)

    def permitted(self, portfolio: Portfolio) -> frozenset[tuple[str, Obligation]]:
        """What the blamed opt is refuted in where the release carries it out, on the same axes.

        So a fault that the release permits is told from one that the change brought, also where
        earlier opts made other axes than the release's.
        """
        blame = self.blamed(portfolio)
        for opt, before, _, _ in self.parts:
            taken = attempt(before, opt) if str(opt) == blame else None
            if isinstance(taken, tuple):
                step = opts_step(OPTS, before, taken[0], taken[1])
                return refuted(tuple(prove_step(step, before, portfolio)))
        return frozenset()

    def blamed(self, portfolio: Portfolio) -> str:
        """The first opt that is refuted by itself; "" when none is to blame."""
        for opt, before, after, law in () if self.blame else self.parts:
            step = law_step(str(opt), before, after, law)
            if refuted(tuple(prove_step(step, before, portfolio))):
                return str(opt)
        return self.blame


def explained(
    release: InstalledOptimizer, ast: Ast, limits: Limits, opened: State, final: State
) -> Explained:
    """What lies between two states of one kernel. Raises: Unsupported, WorkerError."""
    rules = RULE_SETS[release.rules]
    step, opt = CONSTRUCTION, ""
    kernels: list[Kernel] = []
    try:
        kernels.append(stated(ast, opened, limits, rules))
        states = states_after(release, ast, limits, final)
        for applied, state in zip(final.applied_opts, states, strict=True):
            step, opt = OPTS, str(applied)
            kernels.append(stated(ast, state, limits, rules))
    except ContradictionError as error:
        wrong = Witness(error.subject, error.says, (), error.expected, error.found)
        return Explained(None, (step, str(error)), opt, wrong)
    law = construction_law(kernels[0])
    if law is None:
        why = f"axes {_shape(kernels[0])} are no merge of the AST's, in order"
        return Explained(None, (CONSTRUCTION, why))
    return _between(kernels, final.applied_opts, law)


def _between(kernels: Sequence[Kernel], opts: Sequence[Opt], first: AxisMap) -> Explained:
    """The laws of the opts in a row."""
    blame = ""
    parts: list[tuple[Opt, Kernel, Kernel, AxisMap]] = []
    for before, after, opt in zip(kernels[:-1], kernels[1:], opts, strict=True):
        law = law_between(before, after, opt)
        if law is None:
            why = f"{opt}: no split or padding of {_shape(before)} gives {_shape(after)}"
            lost = loses_points(before, after)
            wrong = None if lost is None else Witness("points", str(opt), (), *lost)
            return Explained(None, (OPTS, why), str(opt), wrong)
        if not law.fits:
            blame = blame or str(opt)
        parts.append((opt, before, after, law.map))
    total = composed(kernels[0], [law for _, _, _, law in parts])
    subject = Subject(kernels[0], kernels[-1], (), laws=(first, total))
    return Explained(subject, blame=blame, parts=tuple(parts))


def states_after(
    release: InstalledOptimizer, ast: Ast, limits: Limits, final: State
) -> list[State]:
    """The state after each opt that a kernel says was applied, each applied again.

    Raises: Unsupported where that does not lead to the same kernel.
    """
    found: list[State] = []
    session = release.open(ast, limits)
    if not isinstance(session, InstalledSession):
        raise Unsupported("replay-differs", session.reason)
    try:
        for opt in final.applied_opts:
            answer = session.apply(opt)
            if not isinstance(answer, Accepted):
                raise Unsupported("replay-differs", f"{opt}: {answer.reason}")
            found.append(answer.state)
    finally:
        session.close()
    if found and not _is_same(found[-1], final):
        raise Unsupported("replay-differs", "the opts recorded lead to another kernel")
    return found


def _is_same(left: State, right: State) -> bool:
    mine = [buffer.st.views for buffer in left.buffers]
    return left.full_shape == right.full_shape and mine == [b.st.views for b in right.buffers]


def _shape(kernel: Kernel) -> str:
    return shown(kernel.full_shape)


# Against the release that the optimizer was made from, as we know it.


@dataclass(frozen=True, slots=True)
class Copy:
    """Our copy of the release, put through the same opts. `failure` is how it fell over."""

    kernel: Kernel | None
    opened: Kernel | None = None
    failure: KernelOptError | OptBroke | Unsupported | None = None

    @property
    def fell(self) -> bool:
        """Whether the release itself falls over here, or goes on in a state that is none."""
        return isinstance(self.failure, OptBroke | Unsupported)


def copy_of(
    release: InstalledOptimizer,
    ast: Ast,
    limits: Limits,
    opts: Sequence[Opt],
    start: Kernel | None = None,
) -> Copy:
    """The release's own kernel after these opts, as far as it permits them; from `start` if given.

    `start` is the changed optimizer's kernel without opts: the same opts mean something else on
    other axes, and what the release permits there is no fault of the change either.
    """
    opened = start
    try:
        if start is None:
            opened = Kernel.open(ast, limits, RULE_SETS[release.rules])
        assert opened is not None
        kernel = opened
        for opt in opts:
            kernel = kernel.apply_opt(opt)
    except (KernelOptError, OptBroke, Unsupported) as error:
        return Copy(None, opened, error)
    return Copy(kernel, opened)


def difference(copy: Copy, kernel: Kernel) -> str:
    """What a kernel has that the release's own does not have after the same opts; "" if alike."""
    if copy.kernel is None:
        assert copy.failure is not None
        name = copy.failure.reason if isinstance(copy.failure, Unsupported) else copy.failure.check
        return f"accepts {name}"
    ours = copy.kernel
    if ours.full_shape != kernel.full_shape:
        return "axes"
    if ours.colors != kernel.colors:
        return "types of axes"
    if [st.views for st in ours.sts] != [st.views for st in kernel.sts]:
        return "views"
    return ""


def refuted_of(copy: Copy, portfolio: Portfolio) -> frozenset[tuple[str, Obligation]]:
    """In what the copy is refuted; in nothing where there is none."""
    if copy.kernel is None or copy.opened is None:
        return frozenset()
    return refuted(prove(Subject.of(copy.opened, copy.kernel.applied_opts), portfolio))


def refuted(verdicts: Sequence[Verdict]) -> frozenset[tuple[str, Obligation]]:
    """What is refuted, by step and obligation."""
    return frozenset((v.step, v.obligation) for v in verdicts if v.answer is Answer.REFUTED)
