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

from kernelref.ir.shapetracker import ShapeTracker
from kernelref.jobs.benchmarks.movement import (
    MOST_POINTS,
    Indices,
    Movement,
    MovementCase,
    buffer_of,
    indices_of,
    moved,
    random_case,
    random_op,
    random_stack,
    tracked,
)
from kernelref.jobs.benchmarks.release_views import ReleaseViews
from kernelref.jobs.benchmarks.view_checks import first_fault, inverse
from kernelref.optimizers.releases import VERSIONS, release

MOST_FINDINGS = 20


def run(
    cases: int,
    seed: int,
    *,
    releases: Iterable[str] = VERSIONS,
    longest: int = 8,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, Any]:
    """Counts: `cases`, `steps`, `merges`, `several_views`, `masked`, `stacks`, `faults`.

    With every fourth case goes a sequence that starts from a random stack of Views. Under
    `releases`, per version: `steps`, `equal`, `wrong`, `raised`. `findings` holds the first faults
    in words. A fault is a claim that numpy or a release contradicts.

    Raises: ReleaseMissingError when a release is neither installed nor installable.
    """
    rng = random.Random(seed)
    counts: Counter[str] = Counter(steps=0, merges=0, several_views=0, masked=0, stacks=0, faults=0)
    findings: list[str] = []
    compared = [ReleaseViews(release(version)) for version in releases]
    try:
        for done in range(cases):
            case = random_case(rng, longest=longest)
            start, array = ShapeTracker.from_shape(case.start), buffer_of(case.start)
            found = [
                check_case(case, counts),
                *(other.check(start, case.ops, array) for other in compared),
                check_stack(rng, counts) if done % 4 == 3 else None,
            ]
            counts["faults"] += sum(fault is not None for fault in found)
            findings += [fault for fault in found if fault is not None]
            if progress is not None:
                progress(done + 1, cases)
    finally:
        for other in compared:
            other.close()
    return {
        "cases": cases,
        **counts,
        "releases": {other.version: dict(other.counts) for other in compared},
        "findings": findings[:MOST_FINDINGS],
    }


def check_case(case: MovementCase, counts: Counter[str]) -> str | None:
    """The first claim of SOUND that numpy contradicts, over all steps of a case."""
    st, array = ShapeTracker.from_shape(case.start), buffer_of(case.start)
    for i, op in enumerate(case.ops):
        st, array = tracked(st, op), moved(array, op)
        found = _step_fault(st, array, counts) or inverse(st, case.start, array)
        if found is not None:
            return f"{MovementCase(case.start, case.ops[: i + 1])}: {found}; {st.views}"
    return None


def check_stack(rng: random.Random, counts: Counter[str]) -> str | None:
    """The same for up to four ops on a random stack of Views, and for the stack itself."""
    start = st = random_stack(rng)
    array = indices_of(st)
    counts["stacks"] += 1
    ops: list[Movement] = []
    while True:
        found = _step_fault(st, array, counts)
        if found is not None:
            return f"{start.views} {ops}: {found}; {st.views}"
        op = random_op(rng, array.shape)
        if len(ops) == 4 or moved(array, op).size > MOST_POINTS:
            return None
        ops.append(op)
        st, array = tracked(st, op), moved(array, op)


def _step_fault(st: ShapeTracker, array: Indices, counts: Counter[str]) -> str | None:
    counts["steps"] += 1
    counts["several_views"] += len(st.views) > 1
    counts["masked"] += any(view.mask is not None for view in st.views)
    counts["merges"] += st.simplify() is not st
    return first_fault(st, array)
