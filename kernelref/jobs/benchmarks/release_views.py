"""What an installed release makes of movement ops, beside our copy of its algebra."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from kernelref.errors import Unsupported
from kernelref.ir.shapetracker import ShapeTracker
from kernelref.ir.view import View, ViewAlgebra
from kernelref.jobs.benchmarks.movement import Indices, Movement, moved, tracked
from kernelref.jobs.benchmarks.view_checks import element_map
from kernelref.optimizers.process import Worker
from kernelref.optimizers.releases import Release
from kernelref.optimizers.wire import read_sint, read_st, write_sint, write_st


class ReleaseViews:
    """One release's worker and the algebra that copies it.

    Counts: `steps` compared, `equal` ones, those after which the release itself is `wrong` (its
    elements are not numpy's), those at which it `raised`; `inverses` compared.
    """

    def __init__(self, release: Release) -> None:
        self.version = release.version
        self.algebra = ViewAlgebra(release.rules)
        self.worker = Worker(release)
        self.counts: Counter[str] = Counter(steps=0, equal=0, wrong=0, raised=0, inverses=0)

    def close(self) -> None:
        """End the worker."""
        self.worker.close()

    def check(
        self, start: ShapeTracker, ops: Sequence[Movement], array: Indices | None = None
    ) -> str | None:
        """The first difference between the release and our copy, over all steps.

        `array` is numpy's index array of `start`, to tell where the release is wrong; with it the
        inverse onto its shape is compared at the end.
        """
        st = start.with_algebra(self.algebra)
        wire = [_wire(op) for op in ops]
        if array is not None:
            wire.append(["invert", list(array.shape)])
        buffer = None if array is None else array.shape
        answers = self.worker.call("movement", start=write_st(st), ops=wire)
        done = [str(st.shape)]
        for op, answer in zip(ops, answers[1:], strict=False):
            self.counts["steps"] += 1
            done.append(f"{op[0]}{op[1]}")
            if "raised" in answer:
                return self._check_raises(st, op, answer["raised"])
            st = tracked(st, op)
            if array is not None:
                array = moved(array, op)
                self.counts["wrong"] += element_map(st, array) is not None
            difference = first_difference(st, answer)
            if difference is not None:
                return f"{self.version}: {' '.join(done)}: {difference}; {st.views}"
            self.counts["equal"] += 1
        return None if buffer is None else self._check_inverse(st, buffer, answers[-1], done)

    def _check_inverse(
        self, st: ShapeTracker, buffer: tuple[int, ...], answer: dict[str, Any], done: list[str]
    ) -> str | None:
        self.counts["inverses"] += 1
        try:
            inverse = st.invert(buffer)
        except Unsupported:
            return None if "raised" in answer else f"{self.version}: {done} inverts there only"
        if "raised" in answer or "none" in answer:
            is_same = inverse is None and "none" in answer
        else:
            is_same = inverse is not None and inverse.views == read_st(answer["views"]).views
        return None if is_same else f"{self.version}: {' '.join(done)}: inverse {inverse}, {answer}"

    def _check_raises(self, st: ShapeTracker, op: Movement, told: str) -> str | None:
        """Where the release raises, our copy says so."""
        self.counts["raised"] += 1
        try:
            tracked(st, op)
        except Unsupported:
            self.counts["equal"] += 1
            return None
        return f"{self.version}: {op} on {st.views} raises {told} in the release only"


def _wire(op: Movement) -> list[object]:
    name, argument = op
    return [name] if name == "simplify" else [name, _plain(argument)]


def _plain(argument: Any) -> object:
    return [_plain(a) for a in argument] if isinstance(argument, tuple) else write_sint(argument)


def first_difference(st: ShapeTracker, answer: dict[str, Any]) -> str | None:
    """Which fact the release gives otherwise; where both raise they agree."""
    theirs = read_st(answer["views"]).views
    if _without_empty_masks(st.views) != _without_empty_masks(theirs):
        return f"the release has views {theirs}"
    claims: dict[str, Callable[[], object]] = {
        "real_strides": lambda: list(st.real_strides()),
        "real_strides_ignoring_masks": lambda: list(st.real_strides(ignore_valid=True)),
        "unit_stride_axes": lambda: list(st.unit_stride_axes()),
        "unit_stride_axes_ignoring_masks": lambda: list(st.unit_stride_axes(ignore_valid=True)),
        "masked": lambda: masked_axes(st),
        "real_size": st.claimed_size,
    }
    for name, claim in claims.items():
        told = _read(answer[name])
        try:
            found = claim()
        except Unsupported:
            found = None
        if found != told:
            return f"{name} {found}, the release has {told}"
    return None


def _without_empty_masks(views: tuple[View, ...]) -> tuple[View, ...]:
    """The worker tells a mask of no ranges (0.8.0, shape ()) as none."""
    return tuple(replace(view, mask=view.mask or None) for view in views)


def _read(told: Any) -> object:
    """An answer of the worker; None where the release raised."""
    if isinstance(told, dict):
        return None
    if isinstance(told, list):
        return [None if part is None else read_sint(part) for part in told]
    return told


def masked_axes(st: ShapeTracker) -> list[int]:
    """The axes that are masked; without a mask the release is not asked."""
    if all(view.mask is None for view in st.views):
        return []
    return [axis for axis in range(len(st.shape)) if st.axis_is_masked(axis)]
