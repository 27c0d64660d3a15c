"""The reference as an Optimizer: kernelref's own opt layer, under any rule set, in process.

A refusal and a breakage carry the name of the check and, for a release's rule set, how the release
says the same thing, so that reasons can be compared.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from types import FrameType
from typing import NoReturn, TypeAlias, TypeVar

from kernelref.errors import InvalidInput, KernelOptError, Unsupported
from kernelref.ir.ast import Ast
from kernelref.ir.shapetracker import ShapeTracker
from kernelref.opt import heuristics
from kernelref.opt.broke import OptBroke
from kernelref.opt.kernel import Kernel
from kernelref.opt.limits import Limits
from kernelref.opt.opt import Opt, OptOps
from kernelref.opt.rules.ruleset import RuleSet
from kernelref.optimizers.interface import (
    Accepted,
    Answer,
    Broke,
    BufferState,
    Heuristics,
    Refused,
    State,
)

T = TypeVar("T")
Heuristic: TypeAlias = Callable[[Kernel], Iterable[Opt] | Kernel]
"""A user's heuristic: the opts for a kernel, or the kernel with its opts applied."""

HEURISTIC_SECONDS = 20.0
"""How long a user's heuristic may take over one kernel."""

HEURISTICS = {
    Heuristics.REQUIRED: heuristics.required,
    Heuristics.HAND_CODED: heuristics.hand_coded,
    Heuristics.ENGINE: heuristics.engine,
}

_UPSTREAM = {"tensor-core-fits": "no tensor core available"}


class ReferenceOptimizer:
    """The opt layer under `rules`; `heuristic` replaces the hand-coded optimizations."""

    def __init__(
        self, rules: RuleSet, heuristic: Heuristic | None = None, *, name: str = "reference"
    ) -> None:
        self.rule_set = rules
        self.heuristic = heuristic
        self._name = name

    @property
    def name(self) -> str:
        """As on the command line."""
        return self._name

    @property
    def rules(self) -> str:
        """The rule set it follows."""
        return self.rule_set.name

    def open(self, ast: Ast, limits: Limits) -> ReferenceSession | Refused | Broke:
        """Construct a kernel. Raises: Unsupported for what typed axes cannot hold."""
        try:
            return ReferenceSession(Kernel.open(ast, limits, self.rule_set), self)
        except OptBroke as error:
            return _broke(error)

    def close(self) -> None:
        """Nothing is held."""


class ReferenceSession:
    """One kernel; each accepted request replaces it."""

    def __init__(self, kernel: Kernel, optimizer: ReferenceOptimizer) -> None:
        self.kernel = kernel
        self._optimizer = optimizer

    @property
    def state(self) -> State:
        """Where it stands."""
        return state_of(self.kernel)

    def apply(self, opt: Opt) -> Answer:
        """One opt. Raises: Unsupported where a release's counts fit no types of axes."""
        return self._attempt(lambda: self.kernel.apply_opt(opt))

    def optimize(self, how: Heuristics) -> Answer:
        """The heuristics, the user's instead of the hand-coded ones if there is one."""
        run = self._optimizer.heuristic
        if run is not None and how is not Heuristics.REQUIRED:
            return self._attempt(lambda: chosen_by(run, self.kernel))
        return self._attempt(lambda: HEURISTICS[how](self.kernel).kernel)

    def _attempt(self, make: Callable[[], Kernel]) -> Answer:
        try:
            self.kernel = make()
        except KernelOptError as error:
            return _refused(error, self.kernel.rules)
        except OptBroke as error:
            return _broke(error)
        return Accepted(self.state)

    def close(self) -> None:
        """Nothing is held."""


def state_of(kernel: Kernel) -> State:
    """A kernel as every optimizer can tell it."""
    threads = len(kernel.tensor.core.threads) if kernel.has_tensor_core and kernel.tensor else 0
    return State(
        kernel.full_shape, kernel.output_shape, kernel.colors, threads, kernel.applied_opts,
        tuple(map(_buffer_of, kernel.sts)),
    )  # fmt: skip


def _buffer_of(st: ShapeTracker) -> BufferState:
    """None where the release whose view algebra this is raises on being asked."""
    return BufferState(st, _known(st.real_strides), _known(lambda: masked_axes(st)))


def _known(query: Callable[[], T]) -> T | None:
    try:
        return query()
    except Unsupported:
        return None


def masked_axes(st: ShapeTracker) -> frozenset[int]:
    """The axes on which validity depends; nothing needs asking where no view has a mask."""
    if all(view.mask is None for view in st.views):
        return frozenset()
    return frozenset(axis for axis in range(len(st.shape)) if st.axis_is_masked(axis))


def chosen_by(heuristic: Heuristic, kernel: Kernel) -> Kernel:
    """The kernel that a user's heuristic makes, or after the opts that it lists.

    Raises: OptBroke for whatever else the heuristic does: it asks for an opt that is not legal,
    raises, gives no opts, ends the process, takes longer than HEURISTIC_SECONDS. What it prints
    goes to stderr.
    """
    with contextlib.redirect_stdout(sys.stderr), _alarm(HEURISTIC_SECONDS), _staying():
        try:
            return _made(heuristic(kernel), kernel)
        except OptBroke:
            raise
        except KernelOptError as error:
            raise _fault("asks-for-illegal-opt", str(error), "legal opts", error) from error
        except (Exception, SystemExit, _HeuristicTimeout) as error:
            # A user's function may fail in any way, and every one is an answer about it.
            says = f"{type(error).__name__}: {error}"
            raise _fault("heuristic-fails", says, "opts, or a kernel", error) from error


def _made(made: object, kernel: Kernel) -> Kernel:
    if isinstance(made, Kernel):
        if made.ast != kernel.ast:
            raise _fault("kernel-of-another-ast", "a kernel of another AST", "this kernel's AST")
        if (made.rules, made.limits) != (kernel.rules, kernel.limits):
            raise _fault("kernel-of-other-rules", "other rules or limits", "this kernel's")
        return made
    if not isinstance(made, Iterable) or isinstance(made, str | bytes):
        raise _fault("no-opts", f"a {type(made).__name__}", "opts, or a kernel")
    for opt in made:
        if not isinstance(opt, Opt) or not isinstance(opt.op, OptOps):
            raise _fault("no-opts", f"{opt!r:.60} among the opts", "an Opt")
        if not all(part is None or type(part) is int for part in (opt.axis, opt.amt)):
            raise _fault("no-opts", f"{opt!r:.60}", "an Opt of ints")
        kernel = kernel.apply_opt(opt)
    return kernel


def _fault(check: str, found: str, needed: str, error: BaseException | None = None) -> OptBroke:
    kind = "TypeError" if error is None else type(error).__name__.lstrip("_")
    return OptBroke(check, found=found, needed=needed, opt="the heuristic", error=kind)


class _HeuristicTimeout(BaseException):  # no error: nothing in a user's function may catch it
    """A heuristic took too long."""


@contextlib.contextmanager
def _staying() -> Iterator[None]:
    """Keep `os._exit` from ending this process unseen: status 0 is how a worker ends that is done.

    Raises: SystemExit where it is called.
    """

    def leave(status: int) -> NoReturn:
        raise SystemExit(status)

    before, os._exit = os._exit, leave
    try:
        yield
    finally:
        os._exit = before


@contextlib.contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    """Raise in the middle of what takes longer; only a process's main thread has an alarm."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(number: int, frame: FrameType | None) -> None:
        raise _HeuristicTimeout(f"not done after {seconds:.0f} s")

    before = signal.signal(signal.SIGALRM, ring)
    left, _ = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, left)
        signal.signal(signal.SIGALRM, before)


def _refused(error: KernelOptError, rules: RuleSet) -> Refused:
    return Refused(upstream_words(error, rules), check=error.check)


def upstream_words(error: KernelOptError, rules: RuleSet) -> str:
    """How the release whose rules these are says it; our own sentence where it says nothing."""
    if error.check in _UPSTREAM:
        return _UPSTREAM[error.check]
    checks = rules.checks.get(error.opt.op, ()) if isinstance(error.opt, Opt) else ()
    for check in checks:
        if check.name == error.check and check.upstream and not check.breaks:
            return check.upstream
    return str(error)


def _broke(error: OptBroke) -> Broke:
    return Broke(error.error, str(error), check=error.check)


def load_heuristic(spec: str) -> Heuristic:
    """The function that MODULE:FUNCTION names. Raises: InvalidInput."""
    module_name, _, function_name = spec.partition(":")
    if not all(part.isidentifier() for part in module_name.split(".")):
        raise InvalidInput(f"{module_name!r} is no module", where=f"reference:{spec}")
    try:
        module = importlib.import_module(module_name)
    except Exception as error:  # a user's module may fail in any way
        message = f"cannot import {module_name}: {type(error).__name__}: {error}"
        raise InvalidInput(message, where=f"reference:{spec}") from error
    found = getattr(module, function_name, None)
    if not callable(found):
        message = f"{module_name} has no function {function_name!r}"
        raise InvalidInput(message, where=f"reference:{spec}")
    heuristic: Heuristic = found
    return heuristic
