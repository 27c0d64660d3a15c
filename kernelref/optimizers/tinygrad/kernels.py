"""The calls a worker answers: open, apply, hand-coded, actions, render, movement.

Opened kernels live in a table under a number. Before an opt is applied the kernel's fields are
remembered; after a refusal or a breakage they are compared (`changed`) and put back, so that a walk
goes on from the state before. Runs in the worker process only.
"""

from __future__ import annotations

import contextlib
import copy
import gc
import traceback
from collections.abc import Callable
from typing import Any

from .facts import actions_of, attempt, movement, state_of, summary_of
from .plain import op_names, read_ast


class Kernels:
    """Opened kernels of one release."""

    def __init__(self, family: Any) -> None:
        self.family = family
        self.opened: dict[int, tuple[Any, dict[str, Any]]] = {}
        self.next = 0

    def calls(self) -> dict[str, Callable[..., Any]]:
        """What a request may call, by name."""
        return {
            "open": self.open, "apply": self.apply, "close": self.close, "fork": self.fork,
            "optimize": self.optimize, "state": self.state, "actions": self.actions,
            "acted": self.acted, "render": self.render, "movement": self.movement,
        }  # fmt: skip

    def hello(self) -> dict[str, Any]:
        """Who answers."""
        opts = sorted(self.family.kernel_module.OptOps.__members__)
        return {"family": self.family.name, "ops": op_names(), "opts": opts}

    def open(self, ast: dict[str, Any], limits: dict[str, Any]) -> dict[str, Any]:
        """Construct a kernel from an AST under limits: its number and its state."""
        stores = read_ast(self.family, ast)
        self.family.prepare(limits)
        options = self.family.options(limits)
        try:
            return self._keep(self.family.construct(stores, options), limits)
        except Exception as error:
            return self._failure(error, None)

    def fork(self, kernel: int) -> dict[str, Any]:
        """The release's own copy of a kernel."""
        return self._keep(self._of(kernel).copy(), self.opened[kernel][1])

    def close(self, kernel: int) -> None:
        """Forget a kernel."""
        del self.opened[kernel]

    def state(self, kernel: int) -> dict[str, Any]:
        """Where a kernel stands."""
        return state_of(self._of(kernel))

    def apply(self, kernel: int, opt: list[Any]) -> dict[str, Any]:
        """One opt: accepted with the state after it, refused, or broke."""
        target = self._of(kernel)
        request = self.family.opt(opt)
        return self._attempt(target, lambda: self.family.apply(target, request))

    def optimize(self, kernel: int, how: str) -> dict[str, Any]:
        """`required`, `hand-coded`, or `engine` (required, tensor cores, then hand-coded)."""
        target = self._of(kernel)
        return self._attempt(target, lambda: self.family.optimize(target, how), restore=False)

    def actions(self) -> list[list[Any]]:
        """The release's search actions, in its order."""
        return actions_of(self.family.search.actions)

    def acted(self, kernel: int) -> dict[str, Any]:
        """Which actions its search would keep on this kernel, by position in `actions`."""
        try:
            kept = self.family.search.get_linearizer_actions(
                self._of(kernel).copy(), include_0=False
            )
        except Exception as error:
            return self._failure(error, None)
        return {"answer": "accepted", "actions": [index - 1 for index in kept]}

    def render(self, kernel: int) -> dict[str, Any]:
        """OpenCL text, launch sizes and argument order; or what the release raised."""
        try:
            return {"answer": "accepted", **self.family.render(self._of(kernel).copy())}
        except Exception as error:
            return self._failure(error, None)

    def movement(self, start: list[Any], ops: list[list[Any]]) -> list[dict[str, Any]]:
        """The ShapeTracker after each of a list of movement ops, from views or from a shape."""
        return movement(start, ops)

    def _of(self, number: int) -> Any:
        """The kernel, with what the release keeps in globals set to its limits."""
        kernel, limits = self.opened[number]
        self.family.prepare(limits)
        return kernel

    def _keep(self, kernel: Any, limits: dict[str, Any]) -> dict[str, Any]:
        self.next += 1
        self.opened[self.next] = (kernel, limits)
        return {"answer": "accepted", "kernel": self.next, "state": state_of(kernel)}

    def _attempt(
        self, target: Any, action: Callable[[], object], *, restore: bool = True
    ) -> dict[str, Any]:
        """What came of an action; a kernel whose state cannot be told any more broke in it."""
        before, remembered = summary_of(target), _remember(target)
        try:
            action()
            return {"answer": "accepted", "state": state_of(target)}
        except Exception as error:
            answer = self._failure(error, target)
        answer["changed"] = attempt(lambda: summary_of(target)) != before
        if restore:
            target.__dict__.clear()
            target.__dict__.update(remembered)
        else:
            with contextlib.suppress(Exception):
                answer["state"] = state_of(target)
        return answer

    def _failure(self, error: Exception, kernel: Any) -> dict[str, Any]:
        refused = kernel is not None and self.family.is_refusal(error, kernel)
        frames = traceback.extract_tb(error.__traceback__)
        message = str(error)
        if isinstance(error, RecursionError | MemoryError):
            error.__traceback__ = None
            gc.collect()
        return {
            "answer": "refused" if refused else "broke",
            "type": type(error).__name__,
            "message": message[:2000],
            "where": frames[-1].name if frames else "",
        }


def _remember(kernel: Any) -> dict[str, Any]:
    """The kernel's fields; the containers and records it changes in place are copied."""
    return {name: _copied(value) for name, value in vars(kernel).items()}


def _copied(value: Any) -> Any:
    if isinstance(value, list | dict) or type(value).__name__ == "TensorCoreOptions":
        return copy.copy(value)
    return value
