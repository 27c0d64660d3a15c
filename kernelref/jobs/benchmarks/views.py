"""Random movement ops: our View algebra against numpy, and against installed releases.

Every sequence runs under SOUND, where each claim must equal numpy's, and under the algebra of each
release asked, where each claim must equal the release's. Where a release itself differs from
numpy, that is counted as `wrong`: it is the release's fault, copied.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from kernelref.ir.shapetracker import ShapeTracker
from kernelref.jobs.benchmarks.movement import (
    Indices,
    Movement,
    MovementCase,
    buffer_of,
    indices_of,
    moved,
    random_case,
    random_stack_case,
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
    `releases`, per version: `steps`, `equal`, `wrong`, `raised`, `inverses`. `findings` holds the
    first faults in words. A fault is a claim that numpy or a release contradicts.

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
            found = [check_case(case, counts)]
            found += [other.check(start, case.ops, array) for other in compared]
            if done % 4 == 3:
                stack, ops = random_stack_case(rng)
                found.append(check_stack(stack, ops, counts))
                found += [other.check(stack, ops) for other in compared]
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


def check_stack(start: ShapeTracker, ops: Sequence[Movement], counts: Counter[str]) -> str | None:
    """The same for ops on a stack of Views, and for the stack itself."""
    st, array = start, indices_of(start)
    counts["stacks"] += 1
    found = _step_fault(st, array, counts)
    for op in ops:
        if found is not None:
            break
        st, array = tracked(st, op), moved(array, op)
        found = _step_fault(st, array, counts)
    return None if found is None else f"{start.views} {list(ops)}: {found}; {st.views}"


def _step_fault(st: ShapeTracker, array: Indices, counts: Counter[str]) -> str | None:
    counts["steps"] += 1
    counts["several_views"] += len(st.views) > 1
    counts["masked"] += any(view.mask is not None for view in st.views)
    counts["merges"] += st.simplify() is not st
    return first_fault(st, array)
