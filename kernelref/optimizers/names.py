"""Optimizers by name: reference, reference:MODULE:FUNCTION, tinygrad==VERSION, tinygrad@PATH."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

from kernelref.errors import InvalidInput, Unsupported
from kernelref.opt.rules.ruleset import RuleSet
from kernelref.opt.rules.sets import SOUND
from kernelref.optimizers.installed import InstalledOptimizer
from kernelref.optimizers.interface import Optimizer
from kernelref.optimizers.reference import ReferenceOptimizer, load_heuristic
from kernelref.optimizers.releases import checkout, release


def heuristic_of(name: str) -> str:
    """MODULE:FUNCTION of a user's heuristic; "" for every other optimizer."""
    return name.removeprefix("reference:") if name.startswith("reference:") else ""


def open_optimizer(name: str, *, rules: RuleSet = SOUND, timeout: float = 60.0) -> Optimizer:
    """The optimizer of that name; `rules` are the reference's, a release has its own.

    Units: `timeout` seconds for one answer of a worker.
    Raises: InvalidInput, ReleaseMissingError.
    """
    if name == "reference":
        return ReferenceOptimizer(rules)
    if heuristic := heuristic_of(name):
        return ReferenceOptimizer(rules, load_heuristic(heuristic), name=name)
    if name.startswith("tinygrad=="):
        return InstalledOptimizer(release(name.removeprefix("tinygrad==")), timeout=timeout)
    if name.startswith("tinygrad@"):
        return InstalledOptimizer(checkout(name.removeprefix("tinygrad@")), timeout=timeout)
    raise InvalidInput(
        f"unknown optimizer {name!r}; known are reference, reference:MODULE:FUNCTION, "
        "tinygrad==VERSION, tinygrad@PATH"
    )


@lru_cache(maxsize=4)
def opened_release(name: str) -> InstalledOptimizer:
    """The release, with its worker, once in this process. Raises: Unsupported for the reference."""
    return _release(name)


@contextmanager
def fresh_release(name: str) -> Iterator[InstalledOptimizer]:
    """The release in a process that has seen no kernel yet, and that ends with the block.

    What a release keeps between kernels (constants, views) can make one depend on those before it.
    Raises: Unsupported for the reference; WorkerError when no process can start.
    """
    optimizer = _release(name)
    try:
        optimizer.worker.ensure_started()
        yield optimizer
    finally:
        optimizer.close()


def _release(name: str) -> InstalledOptimizer:
    optimizer = open_optimizer(name)
    if not isinstance(optimizer, InstalledOptimizer):
        raise Unsupported("optimizer", f"{name} renders nothing of its own")
    return optimizer
