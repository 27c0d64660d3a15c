"""What is here: devices, solvers, releases; what will be skipped, and why."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import platform
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kernelref.optimizers import releases
from kernelref.run import devices
from kernelref.run.device import DeviceInfo

SOLVERS = {
    "z3": ("z3-solver", "pip install 'kernelref[prove]'"),
    "cvc5": ("cvc5", "pip install 'kernelref[crosscheck]'"),
    "bitwuzla": ("bitwuzla", "pip install bitwuzla"),
}
"""Module -> its distribution, and how to get it."""


@dataclass(frozen=True, slots=True)
class Item:
    """One thing that is here or not. `detail` describes it, or says how to get it."""

    name: str
    is_here: bool
    detail: str


@dataclass(frozen=True, slots=True)
class Health:
    """Everything that `doctor` looked at."""

    kernelref: str
    python: str
    devices: tuple[Item, ...]
    solvers: tuple[Item, ...]
    releases: tuple[Item, ...]

    @property
    def skipped(self) -> tuple[str, ...]:
        """What cannot be done here, one sentence each."""
        return tuple(_skipped(self))

    def as_json(self) -> dict[str, Any]:
        """The object that `doctor --json` prints."""
        groups = {"devices": self.devices, "solvers": self.solvers, "releases": self.releases}
        return {
            "verb": "doctor",
            "kernelref": self.kernelref,
            "python": self.python,
            **{
                name: [{"name": i.name, "here": i.is_here, "detail": i.detail} for i in items]
                for name, items in groups.items()
            },
            "skipped": list(self.skipped),
        }


def examine() -> Health:
    """Look, without loading a solver or starting a release."""
    return Health(
        kernelref=importlib.metadata.version("kernelref"),
        python=platform.python_version(),
        devices=tuple(_devices()),
        solvers=tuple(_solvers()),
        releases=tuple(_releases()),
    )


def _devices() -> Iterator[Item]:
    for answer in devices.inventory():
        if answer.info is None:
            yield Item(answer.name, False, f"{answer.problem}; try: {answer.remedy}")
        else:
            yield Item(answer.name, True, _describe(answer.info))
    yield Item(devices.INTERPRETER, True, "every work-item in lockstep, every rule checked")


def _describe(info: DeviceInfo) -> str:
    has = {"half": info.half, "double": info.double, "images": info.images}
    lacks = [name for name, is_there in has.items() if not is_there]
    without = f", no {', no '.join(lacks)}" if lacks else ""
    return f"{info.platform} {info.version}, {info.device}{without}"


def _solvers() -> Iterator[Item]:
    for module, (distribution, remedy) in SOLVERS.items():
        if importlib.util.find_spec(module) is None:
            yield Item(module, False, remedy)
        else:
            yield Item(module, True, importlib.metadata.version(distribution))


def _releases() -> Iterator[Item]:
    for version in releases.VERSIONS:
        found = releases.installed(version)
        where = str(found.folder) if found else "installed from the package index when first used"
        yield Item(f"tinygrad=={version}", found is not None, where)


def _skipped(health: Health) -> Iterator[str]:
    here = {item.name for item in (*health.devices, *health.solvers) if item.is_here}
    if not any(item.is_here for item in health.devices if item.name != "interp"):
        yield "runs on OpenCL devices: none is here; `--device interp` needs none"
    if "oclgrind" not in here:
        yield "race and memory checks by a second implementation: oclgrind is not here"
    if "z3" not in here:
        yield "proofs that need a solver: z3 is not here; enumeration needs none"
    if not here & {"cvc5", "bitwuzla"}:
        yield "cross-checks of proofs: no second solver is here"
