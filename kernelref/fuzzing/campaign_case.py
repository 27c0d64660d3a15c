"""One case of a campaign: made from its number, put up the ladder, and told in a few words.

Everything follows from the plan, the number and the steering of its generation, so a case that a
killed campaign had not finished is made again as it was.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from kernelref.cases.case import Case, Inputs, dump_case
from kernelref.codegen.lower import lower
from kernelref.codegen.program import Program
from kernelref.codegen.target import Target
from kernelref.errors import KernelRefError, Unsupported
from kernelref.fuzzing.campaign_check import Ending, Stage, Subject
from kernelref.fuzzing.campaign_features import features_of
from kernelref.fuzzing.campaign_feedback import GENERATION, Steering
from kernelref.fuzzing.campaign_kernels import MOST_POINTS, SAMPLED, Taken, taken_of
from kernelref.fuzzing.campaign_result import FINE, CaseResult, retold
from kernelref.fuzzing.choose import Chooser, SeededChooser
from kernelref.fuzzing.generate import generate_kernel
from kernelref.fuzzing.generate_opts import walk
from kernelref.fuzzing.generate_taste import Taste
from kernelref.ir.ast import Ast
from kernelref.ir.index import bounds
from kernelref.opt.broke import OptBroke
from kernelref.opt.kernel import Kernel
from kernelref.opt.limits import PRESETS, Limits
from kernelref.opt.opt import Opt
from kernelref.opt.rules.sets import SOUND
from kernelref.optimizers.interface import Broke, Refused
from kernelref.optimizers.names import heuristic_of
from kernelref.optimizers.reference import chosen_by, load_heuristic
from kernelref.prove.portfolio import Portfolio
from kernelref.prove.subject import ANY, prove_program, prove_step
from kernelref.prove.subject import Subject as Proof
from kernelref.prove.verdict import Answer
from kernelref.run.outcome import Outcome
from kernelref.run.points import iteration_points, symbols

MOST_OPTS = 6
LIMITS = (
    ("opencl", 60), ("metal", 10), ("amd", 8), ("cuda", 6), ("clang", 8), ("llvm", 8),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Plan:
    """What all cases of a campaign have in common.

    `kernels` are files to take kernels from instead of generating them, `sampled` of them at most;
    `known` are opt sequences to change. `proves`: each step is proved as well. `targets`: the
    devices on which what came through is run.
    """

    seed: int = 0
    optimizer: str = "reference"
    kernels: tuple[str, ...] = ()
    sampled: int = SAMPLED
    known: tuple[tuple[Opt, ...], ...] = ()
    proves: bool = True
    targets: tuple[Target, ...] = ()

    def taken(self) -> Taken:
        """What it takes of its files. Raises: InvalidInput."""
        return taken_of(self.kernels, self.sampled, self.seed)


@dataclass(frozen=True, slots=True)
class Chunk:
    """Numbers of one generation to be done by one worker."""

    numbers: tuple[int, ...]
    steering: Steering


@dataclass(slots=True)
class Attempt:
    """A case under way: what is known of it, should it fail now.

    `asked` is an opt at which an optimizer fell over; `whole` what there was before opts were left
    out.
    """

    plan: Plan
    number: int
    chooser: Chooser
    steering: Steering
    stage: Stage = Stage.GENERATE
    ast: Ast | None = None
    asked: Opt | None = None
    limits: Limits = PRESETS["opencl"]
    kernel: Kernel | None = None
    whole: tuple[Kernel, Ending] | None = None
    refused: int = 0
    points: int = 0
    variables: dict[str, int] = field(default_factory=dict)
    rules: str = SOUND.name
    unproved: list[str] = field(default_factory=list)
    differs: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    since: float = field(default_factory=time.perf_counter)

    def timed(self, stage: Stage) -> None:
        """Enter a stage; the time since the last one goes to that."""
        now = time.perf_counter()
        self.seconds[self.stage.value] = self.seconds.get(self.stage.value, 0.0) + now - self.since
        self.since, self.stage = now, stage

    def result(self, ending: Ending) -> CaseResult:
        """The case as told to the campaign."""
        self.timed(self.stage)
        opts = self.opts
        text = ""
        if self.ast is not None and ending.outcome not in FINE:
            text = dump_case(self.as_case(self.ast, ending))
        return CaseResult(
            self.number,
            ending,
            opts,
            self.refused,
            self.points,
            features_of(self.ast) if self.ast is not None else (),
            tuple(self.unproved),
            self.seconds,
            text,
            differs=tuple(self.differs),
        )

    @property
    def opts(self) -> tuple[Opt, ...]:
        """What was applied, and the opt that could not be."""
        applied = self.kernel.applied_opts if self.kernel is not None else ()
        return applied if self.asked is None else (*applied, self.asked)

    def as_case(self, ast: Ast, ending: Ending) -> Case:
        """A case file's content; it says how the case ended."""
        case = Case(
            ast,
            origin=f"kernelref fuzz, seed {self.plan.seed}, case {self.number}",
            opts=self.opts,
            rules=self.kernel.rules.name if self.kernel is not None else self.rules,
            limits=self.limits,
            vars=tuple(sorted(self.variables.items())),
            inputs=Inputs(self.number),
        )
        return retold(case, ending)


def new_attempt(plan: Plan, number: int, steering: Steering) -> Attempt:
    """A case to begin with."""
    return Attempt(plan, number, SeededChooser(f"{plan.seed}/{number}"), steering)


def guarded(attempt: Attempt, ladder: Callable[[Attempt], Ending]) -> CaseResult:
    """Go up a ladder; an exception on the way is an ending at that stage."""
    try:
        ending = ladder(attempt)
    except Unsupported as error:
        ending = Ending(attempt.stage, Outcome.UNSUPPORTED, error.detail, error.reason)
    except OptBroke as error:
        ending = Ending(attempt.stage, Outcome.BROKE, str(error), error.check)
    except KernelRefError as error:
        ending = Ending(attempt.stage, Outcome.HARNESS_ERROR, str(error), type(error).__name__)
    except Exception as error:  # a fault of ours is a finding like any other
        text = f"{type(error).__name__}: {error}"
        ending = Ending(attempt.stage, Outcome.HARNESS_ERROR, text, type(error).__name__)
    return attempt.result(ending)


def reference_ladder(attempt: Attempt) -> Ending:
    """Generate, open, interpret; choose opts, prove, interpret again."""
    ast = choose_kernel(attempt)
    attempt.timed(Stage.OPEN)
    kernel = attempt.kernel = Kernel.open(ast, attempt.limits, SOUND)
    attempt.timed(Stage.ORACLE)
    subject = Subject.of(ast, attempt.number, attempt.variables)
    if subject.oracle.undefined:
        return Ending(Stage.ORACLE, Outcome.HARNESS_ERROR, "undefined in C", "undefined")
    attempt.timed(Stage.PLAIN)
    plain = subject.run(kernel, Stage.PLAIN)
    if plain.outcome is not Outcome.PASS:
        return plain
    attempt.timed(Stage.OPTS)
    attempt.kernel = optimised(attempt, kernel)
    attempt.timed(Stage.LOWER)
    program = lower(attempt.kernel, ANY)
    if attempt.plan.proves:
        attempt.timed(Stage.PROOF)
        ending = proved(kernel, attempt.kernel, program, attempt.unproved.append)
        if ending.outcome is not Outcome.PASS:
            return _shrunk(attempt, kernel, ending, lambda after: proved(kernel, after))
    attempt.timed(Stage.OPTIMISED)
    ending = subject.judged(program, Stage.OPTIMISED)
    if ending.outcome in FINE:
        return ending
    return _shrunk(attempt, kernel, ending, lambda after: subject.run(after, Stage.OPTIMISED, ANY))


def choose_kernel(attempt: Attempt, taste: Taste | None = None) -> Ast:
    """Generate a kernel by the steering's taste or another, or take one of the plan's.

    With it come limits and values for its symbols.
    """
    chooser, plan = attempt.chooser, attempt.plan
    if plan.kernels:
        kernels = plan.taken().kernels
        if not kernels:
            raise Unsupported("no-kernels", f"none of at most {MOST_POINTS:,} points")
        ast = kernels[attempt.number % len(kernels)]
    else:
        ast = generate_kernel(chooser, taste or attempt.steering.taste())
    attempt.ast = ast
    attempt.limits = PRESETS[chooser.weighted(LIMITS)]
    for symbol in sorted(symbols(ast), key=lambda symbol: symbol.name):
        attempt.variables[symbol.name] = chooser.integer(symbol.low, bounds(symbol)[1])
    attempt.points = iteration_points(ast, attempt.variables)
    return ast


def optimised(attempt: Attempt, kernel: Kernel) -> Kernel:
    """The kernel after a walk, or after what a user's heuristic chooses."""
    if heuristic := heuristic_of(attempt.plan.optimizer):
        return chosen_by(load_heuristic(heuristic), kernel)
    chooser = attempt.chooser
    walked = walk(
        chooser,
        kernel,
        length=chooser.integer(1, MOST_OPTS),
        known=attempt.plan.known,
        memory=attempt.steering.memory(),
    )
    attempt.refused = len(walked.refused)
    return walked.kernel


def proved(
    opened: Kernel,
    final: Kernel,
    program: Program | None = None,
    unproved: Callable[[str], None] = lambda text: None,
) -> Ending:
    """The obligations of a kernel; those that are neither proved nor refuted are noted.

    `program` is what `final` was lowered to for ANY, if that was done already.
    """
    proof, portfolio = Proof.of(opened, final.applied_opts), Portfolio()
    for verdict in (
        *prove_step(proof.construction(), opened, portfolio),
        *prove_step(proof.opts(), opened, portfolio),
        *prove_program(final, portfolio, ANY, program),
    ):
        if verdict.answer is Answer.REFUTED:
            name = verdict.obligation.value
            return Ending(Stage.PROOF, Outcome.WRONG_VALUE, str(verdict), f"{name} refuted")
        if verdict.answer is not Answer.PROVED:
            unproved(f"{verdict.obligation.value} {verdict.answer.value}")
    return Ending(Stage.PROOF, Outcome.PASS)


def _shrunk(
    attempt: Attempt, opened: Kernel, ending: Ending, again: Callable[[Kernel], Ending]
) -> Ending:
    """Leave out opts one by one, the last first, while the same failure stays."""
    assert attempt.kernel is not None
    opts = attempt.kernel.applied_opts
    for i in reversed(range(len(opts))):
        fewer = replayed(opened, (*opts[:i], *opts[i + 1 :]))
        found = again(fewer)
        if same_failure(found, ending):
            attempt.kernel, ending, opts = fewer, found, fewer.applied_opts
    return ending


def fell(stage: Stage, answer: Refused | Broke) -> Ending:
    """How an optimizer that did not accept ends a case."""
    if isinstance(answer, Refused):
        return Ending(stage, Outcome.REFUSED, answer.reason)
    return Ending(stage, Outcome.BROKE, answer.reason, f"{answer.kind}: {in_words(answer.reason)}")


def in_words(reason: str) -> str:
    """An error without the numbers and names that differ from case to case."""
    before = ""
    while before != reason:  # the innermost brackets first
        before, reason = reason, re.sub(r"\([^()]*\)|\[[^\[\]]*\]|<[^<>.]*>", " ", reason)
    return re.sub(r"[^a-z]+", " ", reason.lower())[:48].strip()


def same_failure(left: Ending, right: Ending) -> bool:
    """Whether two kernels fail in one way."""
    return (left.stage, left.outcome, left.reason) == (right.stage, right.outcome, right.reason)


def replayed(kernel: Kernel, opts: Sequence[Opt]) -> Kernel:
    """The opts one by one, those left out that do not apply any more."""
    for opt in opts:
        after = kernel.attempt(opt)
        if isinstance(after, Kernel):
            kernel = after
    return kernel


def chunks(numbers: Sequence[int], steering: Steering, size: int) -> list[Chunk]:
    """Numbers of one generation cut into chunks."""
    assert len({number // GENERATION for number in numbers}) <= 1
    return [Chunk(tuple(numbers[i : i + size]), steering) for i in range(0, len(numbers), size)]
