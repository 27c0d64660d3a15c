"""What the device rungs of a campaign share: whose cases are run, and what could not be."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from kernelref.cases.case import Case
from kernelref.cases.sources import KernelSource, Place
from kernelref.errors import Unsupported
from kernelref.fuzzing.campaign_case import Attempt
from kernelref.ir.tinygrad_repr import Dialect
from kernelref.jobs.run_prepare import Prepared
from kernelref.jobs.run_report import PUBLISHED
from kernelref.jobs.run_report import Ending as Ran
from kernelref.jobs.run_subject import Subject
from kernelref.run.outcome import Outcome

RUNS_ON_DEVICES = frozenset({Outcome.PASS, Outcome.WRONG_VALUE, Outcome.UNWRITTEN})
"""Endings on the host after which a device is asked. Of a release, wrong ones too: its own text."""


def subject_of(attempt: Attempt, case: Case) -> Subject:
    """A case with its inputs, those that its file draws. Raises: Unsupported; InvalidInput."""
    place = Place(Path(str(attempt.number)))
    source = KernelSource(place, case.ast, None, Dialect.V0_9_1, case)
    return Subject.of(source, seed=0)


def is_own(item: Prepared) -> bool:
    """Whether it is of the optimizer under test, and not of the published release beside it."""
    return item.pair.base != PUBLISHED


def not_run(items: Iterable[Prepared]) -> tuple[str, ...]:
    """The devices that cannot run what they were given, each with its reason."""
    return tuple(
        f"{item.pair.device}: {item.reason}"
        for item in items
        if isinstance(item, Ran) and item.outcome is Outcome.UNSUPPORTED
    )


def not_run_anywhere(attempt: Attempt, error: Unsupported) -> tuple[str, ...]:
    """Every device, with the one reason."""
    return tuple(f"{target.name}: {error.reason}" for target in attempt.plan.targets)
