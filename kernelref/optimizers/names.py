"""Optimizers by name: `tinygrad==0.9.1`, `tinygrad@PATH` (`reference` comes with the opt layer)."""

from __future__ import annotations

from kernelref.errors import InvalidInput
from kernelref.optimizers.installed import InstalledOptimizer
from kernelref.optimizers.interface import Optimizer
from kernelref.optimizers.releases import checkout, release


def open_optimizer(name: str, *, timeout: float = 60.0) -> Optimizer:
    """The optimizer of that name. Raises: InvalidInput, ReleaseMissingError."""
    if name.startswith("tinygrad=="):
        return InstalledOptimizer(release(name.removeprefix("tinygrad==")), timeout=timeout)
    if name.startswith("tinygrad@"):
        return InstalledOptimizer(checkout(name.removeprefix("tinygrad@")), timeout=timeout)
    raise InvalidInput(
        f"unknown optimizer {name!r}; known are reference, reference:MODULE:FUNCTION, "
        "tinygrad==VERSION, tinygrad@PATH"
    )
