"""`run --optimizer tinygrad==0.9.1`: a release's own text on our device, in our buffers.

The release opens the AST, applies the opts (its own choice of them, too) and renders; the text runs
as it is, and the oracle that knows no schedule judges the result. What the device lacks is found
before the run, since the text cannot be adapted to it.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from kernelref.codegen.lower import lower
from kernelref.codegen.target import FULL, Target
from kernelref.errors import Unsupported
from kernelref.fuzzing.campaign_check import LEAVES_TRACES
from kernelref.ir.ast import Ast, Load, postorder
from kernelref.ir.dtype import BFLOAT16, DOUBLE, HALF
from kernelref.jobs.conform_draw import Drawer
from kernelref.jobs.opt_choice import Actions, Listed, Named, OptChoice, RandomWalk
from kernelref.jobs.run_groups import weighted_points
from kernelref.jobs.run_prepare import Prepared, Ready, is_worth_optimising
from kernelref.jobs.run_report import Ending, Pair
from kernelref.jobs.run_subject import Expected, Subject
from kernelref.opt.kernel import Kernel
from kernelref.opt.limits import Limits
from kernelref.opt.opt import Opt
from kernelref.optimizers.installed import InstalledOptimizer, InstalledSession
from kernelref.optimizers.interface import Accepted, Answer, Broke, Heuristics, Refused
from kernelref.optimizers.launch import launch_of
from kernelref.optimizers.names import opened_release
from kernelref.run.device_limits import check_buffers, check_group
from kernelref.run.devices import INTERPRETER
from kernelref.run.job import KernelLaunch
from kernelref.run.outcome import Outcome

MOST_WORK = 1 << 31
"""Weighted points of a launch beyond which it is not run: its groups cannot be chosen."""

WALKS = 50
"""Walks over the search actions that follow the single actions."""


@dataclass(frozen=True, slots=True)
class Scheduled:
    """One sequence of opts: the kernel after it, what was refused, or why there is none.

    `asked` counts the opts of a list that was to be followed; 0 where opts were chosen or drawn.
    """

    session: InstalledSession | None
    refused: tuple[tuple[Opt, str], ...] = ()
    broke: str = ""
    asked: int = 0


def prepare_release(
    subject: Subject,
    name: str,
    choice: OptChoice,
    limits: Limits,
    targets: tuple[Target, ...],
    expects: str = Outcome.PASS.value,
    release: InstalledOptimizer | None = None,
) -> Iterator[Prepared]:
    """One prepared pair for each sequence of opts and each device.

    `expects` is the outcome that the kernel's case says it has. Where that is BROKE, an opt of a
    list at which the release falls over, or that it refuses after it changed its kernel, is how it
    broke. `release` a process of the release
    to ask instead of this process's own.
    Raises: InvalidInput, ReleaseMissingError, WorkerError; Unsupported when the release has no
    words for the AST, or when it says no one thing.
    """
    release = release or opened_release(name)
    check_order(subject.source.ast)
    expected = subject.expected
    for scheduled in schedules(
        release,
        subject.source.ast,
        subject.source.opts,
        choice,
        limits,
        salt=subject.source.name,
        is_to_break=expects == Outcome.BROKE.value,
    ):
        for target in targets:
            pair = Pair(subject.name, target.name, expects=expects)
            yield _prepared(subject, scheduled, pair, target, expected, limits)
        if scheduled.session is not None:
            scheduled.session.close()


def _prepared(
    subject: Subject,
    scheduled: Scheduled,
    pair: Pair,
    target: Target,
    expected: Callable[[], tuple[Expected, ...]],
    limits: Limits,
) -> Prepared:
    if scheduled.session is None:
        return Ending(pair, Outcome.BROKE, scheduled.broke)
    applied = scheduled.session.state.applied_opts
    pair = replace(pair, opts=applied, refused=scheduled.refused, asked=scheduled.asked)
    rendered = scheduled.session.render()
    if isinstance(rendered, Broke):
        return Ending(pair, Outcome.BROKE, f"rendering: {rendered.kind}: {rendered.reason}")
    shared = shared_nbytes(rendered.text)
    if shared > limits.shared_max:
        says = f"the text declares {shared:,} bytes of __local memory, of {limits.shared_max:,}"
        return Ending(pair, Outcome.OUT_OF_MEMORY, says)
    try:
        check_dtypes(subject.source.ast, target)
        if "__WMMA" in rendered.text:
            raise Unsupported("tensor-core-text", "it calls a function that OpenCL C lacks")
        launch = launch_of(rendered, subject.source.ast, subject.variables, label=subject.name)
        check_outputs(subject.source.ast, launch)
        work = weighted_points(subject.points, len(postorder(subject.source.ast)))
        if work > MOST_WORK:
            raise Unsupported("large-launch", f"{work:,} points in the release's own text")
        check_group(launch.local or (1, 1, 1), target)
        check_buffers([b.elements * b.dtype.itemsize for b in launch.buffers], target)
    except Unsupported as error:
        return Ending(pair, Outcome.UNSUPPORTED, error.detail, reason=error.reason)
    points = {e.number: e.addresses for e in expected()}
    stored = {e.number: subject.stored(e.output) for e in expected()}
    buffers = (
        replace(b, points=points.get(b.number), stored=stored.get(b.number)) for b in launch.buffers
    )
    return Ready(
        pair=pair,
        launch=replace(
            launch,
            buffers=tuple(buffers),
            optimise=is_worth_optimising(work, launch.source),
        ),
        program=None,
        recipe=subject.recipe,
        expected=expected(),
        rung=subject.recipe.plan.rung,
        points=subject.points,
        work=work,
    )


_LOCAL_ARRAY = re.compile(r"__local\s+(?:unsigned\s+)?([a-z]+)(\d*)\s+\w+\[(\d+)\]")
_NBYTES = {"char": 1, "uchar": 1, "bool": 1, "short": 2, "ushort": 2, "half": 2, "long": 8,
           "ulong": 8, "double": 8}  # fmt: skip


def shared_nbytes(text: str) -> int:
    """Bytes of the arrays that an OpenCL text shares between the work-items of a group."""
    return sum(
        _NBYTES.get(name, 4) * int(lanes or 1) * int(count)
        for name, lanes, count in _LOCAL_ARRAY.findall(text)
    )


def check_outputs(ast: Ast, launch: KernelLaunch) -> None:
    """Raises: Unsupported when the text leaves out a buffer that it may leave as it was.

    A release drops the store of what was loaded from the same place.
    """
    taken = {buffer.number for buffer in launch.buffers}
    loaded = {node.buffer for node in postorder(ast) if isinstance(node, Load)}
    for store in ast:
        if store.buffer not in taken and store.buffer in loaded:
            raise Unsupported("store-left-out", f"the text takes no buffer {store.buffer}")


def check_dtypes(ast: Ast, target: Target) -> None:
    """Raises: Unsupported when the release's text needs what the device or OpenCL lacks."""
    if target.name == INTERPRETER:
        raise Unsupported("text-in-interpreter", "the interpreter runs Programs, not text")
    dtypes = {node.dtype for node in postorder(ast)}
    if BFLOAT16 in dtypes:
        raise Unsupported("bfloat16-text", "the release prints a type that OpenCL C lacks")
    if HALF in dtypes and not target.native_half:
        raise Unsupported("half-arithmetic", target.name)
    if DOUBLE in dtypes and not target.double:
        raise Unsupported("double", target.name)
    if any(dtype.is_image for dtype in dtypes) and not target.images:
        raise Unsupported("images", target.name)


def check_order(ast: Ast) -> None:
    """Raises: Unsupported, `in-place-hazard`, where what comes out depends on who runs first.

    Such a kernel reads where another of its own work-items writes, under any opts; that it is not
    made is the scheduler's business, and no fault of a text.
    """
    stored = {store.buffer for store in ast}
    if any(isinstance(node, Load) and node.buffer in stored for node in postorder(ast)):
        try:
            lower(Kernel.open(ast), FULL)
        except Unsupported as error:
            if error.reason == "in-place-hazard":
                raise


# Sequences.


def schedules(
    release: InstalledOptimizer,
    ast: Ast,
    own: tuple[Opt, ...] | None,
    choice: OptChoice,
    limits: Limits,
    *,
    salt: str = "",
    is_to_break: bool = False,
) -> Iterator[Scheduled]:
    """Each sequence that the choice means, on a kernel of its own.

    `salt` names the kernel, so that random sequences differ between kernels. `is_to_break`: an opt
    of a list at which the release falls over, or which leaves traces, ends it. Raises: Unsupported.
    """
    match choice:
        case Named("own"):
            yield _listed(release.open(ast, limits), own or (), is_to_break)
        case Named("none"):
            yield _listed(release.open(ast, limits), ())
        case Named(name):
            yield _chosen(release.open(ast, limits), Heuristics(name))
        case Listed(opts):
            yield _listed(release.open(ast, limits), opts, is_to_break)
        case RandomWalk(seed, length):
            yield _random(
                release,
                release.open(ast, limits),
                Drawer(_seed(f"{seed} {salt}"), release.actions()),
                length,
            )
        case Actions(depth):
            yield from _actions(release, ast, limits, depth, salt)


def _seed(text: str) -> int:
    """A seed that depends on the whole text, the same in every process."""
    return random.Random(text).getrandbits(32)


def _listed(
    session: InstalledSession | Refused | Broke,
    opts: tuple[Opt, ...],
    is_to_break: bool = False,
) -> Scheduled:
    if not isinstance(session, InstalledSession):
        return Scheduled(None, broke=session.reason)
    refused: list[tuple[Opt, str]] = []
    for opt in opts:
        answer = session.apply(opt)
        if is_to_break and isinstance(answer, Refused) and answer.changed:
            session.close()
            return Scheduled(None, broke=f"{LEAVES_TRACES}: {opt}: {answer.reason}")
        if is_to_break and isinstance(answer, Broke):
            session.close()
            return Scheduled(None, broke=f"{answer.kind}: {opt}: {answer.reason}")
        if not isinstance(answer, Accepted):
            refused.append((opt, answer.reason))
    return Scheduled(session, tuple(refused), asked=len(opts))


def _chosen(session: InstalledSession | Refused | Broke, how: Heuristics) -> Scheduled:
    if not isinstance(session, InstalledSession):
        return Scheduled(None, broke=session.reason)
    answer: Answer = session.optimize(how)
    if isinstance(answer, Accepted):
        return Scheduled(session)
    return Scheduled(None, broke=f"{how.value}: {answer.reason}")


def _random(
    release: InstalledOptimizer,
    session: InstalledSession | Refused | Broke,
    drawer: Drawer,
    length: int,
) -> Scheduled:
    if not isinstance(session, InstalledSession):
        return Scheduled(None, broke=session.reason)
    known = release.opts()
    drawer.ops = tuple(op for op in drawer.ops if op in known)
    session.optimize(Heuristics.REQUIRED)
    for _ in range(length):
        session.apply(drawer.draw(session.state, is_start=False, is_image=False))
    return Scheduled(session)


def _actions(
    release: InstalledOptimizer, ast: Ast, limits: Limits, depth: int, salt: str
) -> Iterator[Scheduled]:
    """Every single action that the search keeps, then seeded walks of kept actions.

    As in the releases' search, what an image output requires comes before them.
    """
    root = _chosen(release.open(ast, limits), Heuristics.REQUIRED)
    if root.session is None:
        yield root
        return
    kept = root.session.kept_actions()
    root.session.close()
    if isinstance(kept, Broke):
        yield Scheduled(None, broke=f"search: {kept.kind}: {kept.reason}")
        return
    actions = release.actions()
    for index in kept:
        single = _chosen(release.open(ast, limits), Heuristics.REQUIRED)
        if single.session is not None:
            single.session.apply(actions[index])
        yield single
    if depth < 2:
        return
    for walk in range(WALKS):
        yield _walk(release, ast, limits, random.Random(f"{walk} {salt}"), depth)


def _walk(
    release: InstalledOptimizer, ast: Ast, limits: Limits, rng: random.Random, depth: int
) -> Scheduled:
    walk = _chosen(release.open(ast, limits), Heuristics.REQUIRED)
    actions = release.actions()
    for _ in range(rng.randint(2, depth)):
        kept = () if walk.session is None else walk.session.kept_actions()
        if walk.session is None or isinstance(kept, Broke) or not kept:
            break
        walk.session.apply(actions[rng.choice(kept)])
    return walk
