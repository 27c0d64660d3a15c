"""`kernelref fuzz`: a campaign of generated kernels under generated opts."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from kernelref.cases.case import read_case
from kernelref.cases.corpus import corpus_files
from kernelref.errors import Unsupported
from kernelref.fuzzing.campaign import Campaign, Pace
from kernelref.fuzzing.campaign_case import Plan
from kernelref.fuzzing.campaign_features import is_pair
from kernelref.fuzzing.campaign_kernels import SAMPLED, Taken
from kernelref.fuzzing.campaign_result import CaseResult
from kernelref.fuzzing.campaign_store import Store, StoredFinding
from kernelref.jobs.fuzz_devices import DeviceRung
from kernelref.jobs.fuzz_work import DaskExecutor, process_pool, work
from kernelref.jobs.progress import Progress, silent
from kernelref.jobs.run import target_named
from kernelref.jobs.writable import check_folder
from kernelref.opt.opt import Opt
from kernelref.optimizers.names import open_optimizer
from kernelref.run.devices import DEFAULT_DEVICE, INTERPRETER, device_kind, report

SEVERITY = (
    "WRONG_VALUE", "UNWRITTEN", "OUT_OF_BOUNDS", "UNINITIALISED", "RACE", "BARRIER_DIVERGENCE",
    "INDEX_OVERFLOW", "TRAP", "CRASH", "TIMEOUT", "OUT_OF_MEMORY", "BUILD_ERROR", "BROKE",
)  # fmt: skip

CHUNK = 16
DEVICE_CHUNK = 4
"""Cases that a worker is given at a time; few where a device is what they will wait for."""


@dataclass(frozen=True, slots=True)
class FuzzRequest:
    """What `fuzz` was asked for. Units: `budget` seconds, `cases` in the store at the end."""

    optimizer: str = "reference"
    devices: tuple[str, ...] = (INTERPRETER,)
    kernels: tuple[str, ...] = ()
    sample: int | None = None
    budget: float | None = None
    cases: int | None = None
    seed: int = 0
    jobs: int | None = None
    store: Path | None = None
    scheduler: str | None = None


def fuzz(request: FuzzRequest, progress: Progress = silent) -> dict[str, Any]:
    """Run a campaign; the object that `fuzz --json` prints.

    Raises: InvalidInput, DeviceError, ReleaseMissingError; Unsupported when no kernel is usable.
    """
    if request.store is not None:
        check_folder(request.store, "--store")
    open_optimizer(request.optimizer).close()
    with tempfile.TemporaryDirectory(prefix="kernelref-fuzz-") as scratch:
        plan = Plan(
            seed=request.seed,
            optimizer=request.optimizer,
            kernels=request.kernels,
            sampled=request.sample or SAMPLED,
            known=known_sequences(),
            targets=tuple(target_named(name) for name in request.devices if name != INTERPRETER),
        )
        # A campaign starts from readable kernels; a file without any leaves no store behind.
        taken = plan.taken()
        if plan.kernels and not taken.kernels and not taken.unreadable:
            said = ", ".join(f"{number} {reason}" for reason, number in taken.counted().items())
            raise Unsupported("no-kernels", f"of {taken.looked_at} looked at: {said}")
        with (
            Store(request.store or Path(scratch), plan) as store,
            DeviceRung(request.optimizer, plan.targets) as devices,
        ):
            return _Run(request, store, progress, devices, taken).finish()


def known_sequences() -> tuple[tuple[Opt, ...], ...]:
    """The opt sequences of the corpus, to draw from and to change."""
    found = (read_case(path).opts for path in corpus_files())
    return tuple(dict.fromkeys(opts for opts in found if opts))


def default_devices(optimizer: str) -> tuple[str, ...]:
    """Where cases run when nobody says: a release's own text needs a device, if one is here."""
    if not optimizer.startswith("tinygrad") or report(device_kind(DEFAULT_DEVICE)).info is None:
        return (INTERPRETER,)
    return INTERPRETER, DEFAULT_DEVICE


class _Run:
    """One invocation: the campaign, and what is told of it."""

    def __init__(
        self,
        request: FuzzRequest,
        store: Store,
        progress: Progress,
        devices: DeviceRung,
        taken: Taken,
    ) -> None:
        self.request = request
        self.taken = taken
        self.store = store
        self.progress = progress
        self.started = time.monotonic()
        self.before = len(store.numbers())
        self.ended = 0
        self.findings = {finding.key for finding in store.findings()}
        self.features: set[str] = set(store.features())
        jobs = request.jobs or os.cpu_count() or 1
        is_bounded = request.cases is not None or request.budget is not None
        self.campaign = Campaign(
            store.plan,
            store,
            work,
            self._executor(jobs),
            Pace(
                jobs,
                request.cases if is_bounded else 1000,
                request.budget,
                CHUNK if not store.plan.targets else DEVICE_CHUNK,
            ),
            watch=self._watch,
            later=devices,
        )

    def _executor(self, jobs: int) -> Callable[[], Executor]:
        if self.request.scheduler is not None:
            return partial(DaskExecutor, self.request.scheduler)
        return partial(process_pool, jobs)

    def _watch(self, result: CaseResult) -> None:
        self.ended += 1
        self.features.update(result.features)
        if result.is_finding:
            self.findings.add(result.key)
        rate = self.ended / max(time.monotonic() - self.started, 1e-9)
        note = f"{rate:.0f}/s, findings: {len(self.findings)}, features: {len(self.features)}"
        self.progress(self.before + self.ended, self.request.cases, note)

    def finish(self) -> dict[str, Any]:
        """Run, then look into the store."""
        interrupted = False
        try:
            if not self.request.kernels or self.taken.kernels:
                self.campaign.run()
        except KeyboardInterrupt:
            interrupted = True
        return self._told_of_all(interrupted=interrupted)

    def _told_of_all(self, *, interrupted: bool) -> dict[str, Any]:
        store, seconds = self.store, time.monotonic() - self.started
        outcomes = store.outcomes()
        features = store.features()
        pairs = sum(map(is_pair, features))
        points, opts = store.medians()
        findings = sorted(store.findings(), key=_severity)
        return {
            "verb": "fuzz",
            "optimizer": self.request.optimizer,
            "devices": list(self.request.devices),
            "kernels": list(self.request.kernels),
            "listed": self.taken.listed,
            "looked_at": self.taken.looked_at,
            "left_out": self.taken.counted(),
            "unreadable": list(self.taken.unreadable),
            "seed": self.request.seed,
            "store": str(store.path) if self.request.store else None,
            "cases": sum(outcomes.values()),
            "new_cases": self.ended,
            "outcomes": dict(sorted(outcomes.items())),
            "unsupported": dict(sorted(store.unsupported().items())),
            "unproved": dict(sorted(store.unproved().items())),
            "not_run": dict(sorted(store.not_run().items())),
            "differs": dict(sorted(store.differs().items())),
            "inherited": dict(sorted(store.inherited().items())),
            "opts_applied": dict(sorted(store.opts().items())),
            "opts_refused": store.refused(),
            "findings_total": len(findings),
            "findings": [self._told(found) for found in findings],
            "features": len(features) - pairs,
            "feature_pairs": pairs,
            "median_points": points,
            "median_opts": opts,
            "seconds": seconds,
            "cases_per_second": self.ended / seconds if seconds else 0.0,
            "stopped_early": self.campaign.stopped_early or interrupted,
            "interrupted": interrupted,
        }

    def _told(self, found: StoredFinding) -> dict[str, Any]:
        """A kind of finding; its smallest case is written beside the store."""
        path = None
        if self.request.store is not None and found.smallest:
            path = self.store.folder.keep(found.key, found.smallest)
        return {
            "kind": found.key,
            "stage": found.stage,
            "cases": found.cases,
            "first_case": found.first,
            "confirmed": found.confirmed.value,
            "file": None if path is None else str(path),
        }


def _severity(found: StoredFinding) -> tuple[int, int]:
    """Wrong values first, what is broken last."""
    outcome = found.key.split(" ")[0]
    return SEVERITY.index(outcome) if outcome in SEVERITY else len(SEVERITY), found.first
