"""Random movement ops: our View algebra against numpy, and against installed releases.

Every sequence runs under SOUND, where each claim must equal numpy's, and under the algebra of each
release asked, where each claim must equal the release's. Where a release itself differs from
numpy, that is counted as `wrong`: it is the release's fault, copied.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from kernelref.errors import Unsupported
from kernelref.ir.shapetracker import ShapeTracker
from kernelref.ir.view import ViewAlgebra
from kernelref.jobs.benchmarks.movement import (
    Movement,
    MovementCase,
    buffer_of,
    moved,
    random_case,
    tracked,
)
from kernelref.jobs.benchmarks.view_checks import element_map, first_fault
from kernelref.optimizers.process import Worker
from kernelref.optimizers.releases import release
from kernelref.optimizers.wire import read_st

MOST_FINDINGS = 20


def run(
    cases: int,
    seed: int,
    *,
    releases: Iterable[str] = ("0.8.0", "0.9.0", "0.9.1"),
    longest: int = 8,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, Any]:
    """Counts: `cases`, `steps`, `merges`; per release `steps`, `equal`, `wrong`; `findings`.

    Raises: ReleaseMissingError when a release is neither installed nor installable.
    """
    rng = random.Random(seed)
    counts: Counter[str] = Counter()
    findings: list[str] = []
    compared = {version: _Comparison(version) for version in releases}
    try:
        for done in range(cases):
            case = random_case(rng, longest=longest)
            found = check_case(case, counts)
            if found is not None:
                findings.append(found)
            for comparison in compared.values():
                found = comparison.check(case)
                if found is not None:
                    findings.append(found)
            if progress is not None:
                progress(done + 1, cases)
    finally:
        for comparison in compared.values():
            comparison.close()
    return {
        "cases": cases,
        "steps": counts["steps"],
        "merges": counts["merges"],
        "several_views": counts["several_views"],
        "masked": counts["masked"],
        "faults": len(findings),
        "releases": {version: dict(c.counts) for version, c in compared.items()},
        "findings": findings[:MOST_FINDINGS],
    }


def check_case(case: MovementCase, counts: Counter[str]) -> str | None:
    """The first claim of SOUND that numpy contradicts, over all steps of a case."""
    st, array = ShapeTracker.from_shape(case.start), buffer_of(case.start)
    for i, op in enumerate(case.ops):
        st, array = tracked(st, op), moved(array, op)
        counts["steps"] += 1
        counts["several_views"] += len(st.views) > 1
        counts["masked"] += any(view.mask is not None for view in st.views)
        counts["merges"] += st.simplify() is not st
        found = first_fault(st, case.start, array)
        if found is not None:
            return f"{MovementCase(case.start, case.ops[: i + 1])}: {found}; {st.views}"
    return None


class _Comparison:
    """One release's worker and the algebra that copies it."""

    def __init__(self, version: str) -> None:
        self.version = version
        self.algebra = ViewAlgebra(f"tinygrad-{version}")
        self.worker = Worker(release(version))
        self.counts: Counter[str] = Counter(steps=0, equal=0, wrong=0, raised=0)

    def close(self) -> None:
        """End the worker."""
        self.worker.close()

    def check(self, case: MovementCase) -> str | None:
        """The first step after which our copy and the release differ."""
        ops = [[name, *([argument] if name != "simplify" else [])] for name, argument in case.ops]
        answers = self.worker.call("movement", start=list(case.start), ops=ops)
        st, array = ShapeTracker.from_shape(case.start, self.algebra), buffer_of(case.start)
        for i, (op, answer) in enumerate(zip(case.ops, answers[1:], strict=False)):
            self.counts["steps"] += 1
            if "raised" in answer:
                return self._check_raises(st, op, answer["raised"])
            st, array = tracked(st, op), moved(array, op)
            self.counts["wrong"] += element_map(st, array) is not None
            difference = _first_difference(st, answer)
            if difference is not None:
                so_far = MovementCase(case.start, case.ops[: i + 1])
                return f"{self.version}: {so_far}: {difference}"
            self.counts["equal"] += 1
        return None

    def _check_raises(self, st: ShapeTracker, op: Movement, told: str) -> str | None:
        """Where the release raises, our copy says so."""
        self.counts["raised"] += 1
        try:
            tracked(st, op)
        except Unsupported:
            self.counts["equal"] += 1
            return None
        return f"{self.version}: {op} on {st.views} raises {told} in the release only"


def _first_difference(st: ShapeTracker, answer: dict[str, Any]) -> str | None:
    """Which fact the release gives otherwise."""
    theirs = read_st(answer["views"])
    if st.views != theirs.views:
        return f"views {st.views}, the release has {theirs.views}"
    ours: dict[str, Callable[[], object]] = {
        "real_strides": lambda: list(st.real_strides()),
        "real_strides_ignoring_masks": lambda: list(st.real_strides(ignore_valid=True)),
        "unit_stride_axes": lambda: list(st.unit_stride_axes()),
        "unit_stride_axes_ignoring_masks": lambda: list(st.unit_stride_axes(ignore_valid=True)),
        "masked": lambda: _masked_axes(st),
        "real_size": st.claimed_size,
    }
    for name, claim in ours.items():
        try:
            found = claim()
        except Unsupported as error:
            found = {"raised": str(error)}
        told = answer[name]
        if found != told and not ("raised" in str(found) and "raised" in str(told)):
            return f"{name} {found}, the release has {told}; {st.views}"
    return None


def _masked_axes(st: ShapeTracker) -> list[int]:
    if all(view.mask is None for view in st.views):
        return []
    return [axis for axis in range(len(st.shape)) if st.axis_is_masked(axis)]
