"""The kernels of the catalogue are right, so that golden text is text that works."""

from __future__ import annotations

from dataclasses import replace

from kernelref.codegen.target import FULL
from tests.codegen.running import Trial, failures
from tests.golden.catalogue import CATALOGUE
from tests.run.device_launches import need_device


def trials(*, images: bool) -> list[Trial]:
    """All kernels but those whose text needs half arithmetic, which no CPU device here has."""
    return [
        Trial(
            "k_" + name.replace("-", "_"),
            entry.kernel(),
            replace(entry.target, images=entry.target.images and images),
            entry.variables,
        )
        for name, entry in CATALOGUE.items()
        if entry.target is not FULL
    ]


def test_on_pocl() -> None:
    need_device("pocl")
    assert failures(trials(images=True), "pocl") == {}


def test_on_oclgrind() -> None:
    """Races, divergence and uninitialised reads too.

    Without images: Oclgrind 21.10 takes what read_imagef returns for uninitialised.
    """
    need_device("oclgrind")
    assert failures(trials(images=False), "oclgrind") == {}
