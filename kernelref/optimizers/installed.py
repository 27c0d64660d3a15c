"""A tinygrad release as an Optimizer: translates, asks the worker, reads its answers.

A worker that crashes or hangs while a release's code runs is an answer (`Broke`), and the next
request gets a new worker; sessions opened before it open themselves again.
"""

from __future__ import annotations

from kernelref.errors import InvalidInput, Unsupported
from kernelref.ir.ast import Ast
from kernelref.ir.index import Sint
from kernelref.ir.shapetracker import ShapeTracker
from kernelref.opt.limits import Limits
from kernelref.opt.opt import Opt, OptOps
from kernelref.optimizers.dialect import DIALECTS, translate
from kernelref.optimizers.interface import (
    Accepted,
    Answer,
    Broke,
    BufferState,
    Heuristics,
    Json,
    Refused,
    Rendered,
    State,
)
from kernelref.optimizers.process import Worker, WorkerError
from kernelref.optimizers.releases import Release
from kernelref.optimizers.wire import (
    read_sint,
    read_st,
    write_ast,
    write_limits,
)


class InstalledOptimizer:
    """A release, or a checkout of its family, behind a worker process."""

    def __init__(self, release: Release, *, timeout: float = 60.0) -> None:
        self.release = release
        self.worker = Worker(release, timeout=timeout)
        self.dialect = DIALECTS[release.version]
        self._actions: tuple[Opt, ...] | None = None

    @property
    def name(self) -> str:
        """As on the command line."""
        return self.release.name

    @property
    def rules(self) -> str:
        """The rule set that copies it."""
        return self.release.rules

    def actions(self) -> tuple[Opt, ...]:
        """Its search actions, in its order."""
        if self._actions is None:
            self._actions = tuple(map(read_opt, self.worker.call("actions")))
        return self._actions

    def opts(self) -> frozenset[OptOps]:
        """The opts that the release has."""
        self.worker.ensure_started()
        return frozenset(OptOps(name) for name in self.worker.greeting["opts"])

    def open(self, ast: Ast, limits: Limits) -> InstalledSession | Refused | Broke:
        """Construct a kernel. Raises: Unsupported; WorkerError when no worker can start."""
        wire = write_ast(translate(ast, self.dialect))
        session = InstalledSession(self, wire, write_limits(limits))
        failed = session.reopen()
        return session if failed is None else failed

    def close(self) -> None:
        """End the worker."""
        self.worker.close()


class InstalledSession:
    """One kernel in the worker."""

    def __init__(self, optimizer: InstalledOptimizer, ast: Json, limits: Json) -> None:
        self._optimizer = optimizer
        self._ast = ast
        self._limits = limits
        self._generation = 0
        self._kernel = 0
        self._done: list[tuple[str, Json]] = []
        self._state: State | None = None

    @property
    def state(self) -> State:
        """Where it stands."""
        assert self._state is not None
        return self._state

    def reopen(self) -> Refused | Broke | None:
        """Open (again) in the worker that runs now, and redo what was done; None when it worked."""
        worker = self._optimizer.worker
        try:
            answer = worker.call("open", ast=self._ast, limits=self._limits)
            self._generation = worker.generation
            if answer["answer"] != "accepted":
                return _failed(answer)
            self._kernel = answer["kernel"]
            read = told_state(answer["state"])
            if isinstance(read, Broke):
                return read
            self._state = read
            for name, arguments in self._done:
                worker.call(name, kernel=self._kernel, **arguments)
        except WorkerError as error:
            return _died(error)
        return None

    def apply(self, opt: Opt) -> Answer:
        """One opt; one that the release does not have is refused here."""
        if opt.op not in self._optimizer.opts():
            return Refused("no such opt", check="op-exists")
        return self._request("apply", {"opt": write_opt(opt)})

    def optimize(self, how: Heuristics) -> Answer:
        """The release's own choice of opts."""
        return self._request("optimize", {"how": how.value})

    def render(self) -> Rendered | Broke:
        """The text that the release's OpenCL renderer prints for the kernel as it stands."""
        answer = self._call("render", {})
        if isinstance(answer, Broke):
            return answer
        if answer["answer"] != "accepted":
            return _broke(answer)
        local = answer["local_size"]
        arguments = tuple(argument[1] for argument in answer["arguments"])
        return Rendered(
            answer["name"], answer["text"], _padded(answer["global_size"]),
            None if local is None else _padded(local), arguments,
        )  # fmt: skip

    def kept_actions(self) -> tuple[int, ...] | Broke:
        """Which of the release's actions its search would keep here."""
        answer = self._call("acted", {})
        if isinstance(answer, Broke):
            return answer
        return tuple(answer["actions"]) if answer["answer"] == "accepted" else _broke(answer)

    def close(self) -> None:
        """Forget the kernel, if its worker still lives."""
        if self._generation == self._optimizer.worker.generation:
            try:
                self._optimizer.worker.call("close", kernel=self._kernel)
            except WorkerError:
                self._generation = 0

    def _request(self, name: str, arguments: Json) -> Answer:
        answer = self._call(name, arguments)
        if isinstance(answer, Broke):
            return answer
        if answer["answer"] == "accepted" or (name == "optimize" and "state" in answer):
            read = told_state(answer["state"])
            if isinstance(read, Broke):
                self._generation = 0  # to be opened again, where it stood before
                return read
            self._done.append((name, arguments))
            self._state = read
        return Accepted(self.state) if answer["answer"] == "accepted" else _failed(answer)

    def _call(self, name: str, arguments: Json) -> Json | Broke:
        """The worker's answer, from a worker that holds this kernel."""
        worker = self._optimizer.worker
        try:
            worker.ensure_started()
            if self._generation != worker.generation:
                failed = self.reopen()
                if failed is not None:
                    return failed if isinstance(failed, Broke) else Broke("reopen", failed.reason)
            result: Json = worker.call(name, kernel=self._kernel, **arguments)
        except WorkerError as error:
            return _died(error)
        return result


def _died(error: WorkerError) -> Broke:
    """A crash or a hang of the release's code.

    Raises: Unsupported where the worker lives and has no words for what was asked; the error itself
    when no worker can start.
    """
    if error.kind in ("crash", "hang"):
        return Broke(error.kind, error.message)
    if error.kind == "call":
        raise Unsupported("no-words-for-it", error.message) from error
    raise error


def told_state(value: Json) -> State | Broke:
    """A worker's `state_of`; a kernel that holds what no kernel can hold is broken."""
    try:
        return read_state(value)
    except (InvalidInput, LookupError, TypeError, ValueError, AttributeError) as error:
        return Broke("unreadable-state", f"{type(error).__name__}: {error}")


def _failed(answer: Json) -> Refused | Broke:
    changed = bool(answer.get("changed", False))
    state = told_state(answer["state"]) if "state" in answer else None
    if isinstance(state, Broke):
        return state
    if answer["answer"] == "refused":
        return Refused(answer["message"], changed, state)
    return Broke(answer["type"], answer["message"], changed, state)


def _broke(answer: Json) -> Broke:
    return Broke(answer["type"], answer["message"])


def _padded(sizes: list[object] | None) -> tuple[Sint, ...]:
    known = [] if sizes is None else [read_sint(size) for size in sizes]
    return (*known, *(1,) * (3 - len(known)))


def write_opt(opt: Opt) -> list[object]:
    """[op, axis, amt]."""
    return [opt.op.value, opt.axis, opt.amt]


def read_opt(value: list[object]) -> Opt:
    """The reverse."""
    match value:
        case [str(op), int() | None as axis, int() | None as amt]:
            return Opt(OptOps(op), axis, amt)
    raise InvalidInput(f"not an opt: {value!r}", where="worker")


def read_state(value: Json) -> State:
    """A worker's `state_of`."""
    colors = value["colors"]
    return State(
        full_shape=tuple(map(read_sint, value["full_shape"])),
        output_shape=tuple(map(read_sint, value["output_shape"])),
        colors=tuple(colors) if isinstance(colors, list) else None,
        warp_axes=value["threads"],
        applied_opts=tuple(map(read_opt, value["applied_opts"])),
        buffers=tuple(map(read_buffer, value["sts"])),
    )


def read_buffer(value: Json) -> BufferState:
    """A worker's `tracker_of`."""
    strides, masked = value["real_strides"], value["masked"]
    st: ShapeTracker = read_st(value["views"])
    return BufferState(
        st,
        tuple(None if s is None else read_sint(s) for s in strides)
        if isinstance(strides, list) else None,
        frozenset(masked) if isinstance(masked, list) else None,
    )  # fmt: skip
