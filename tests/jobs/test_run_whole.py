"""Every element that a kernel stores must be written, and no other, whatever is compared."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from kernelref.codegen.lower import lower
from kernelref.codegen.program import Program, StoreGlobal
from kernelref.codegen.target import FULL, POCL, Target
from kernelref.ir.ast import Store
from kernelref.ir.builder import buffer, kernel
from kernelref.ir.dtype import FLOAT, UINT8
from kernelref.ir.index import lt
from kernelref.ir.shapetracker import ShapeTracker
from kernelref.ir.view import View
from kernelref.jobs import run_prepare
from kernelref.jobs.run_host import _told
from kernelref.jobs.run_judge import judged
from kernelref.jobs.run_prepare import Ready, prepare
from kernelref.jobs.run_report import Ending, Pair
from kernelref.jobs.run_subject import Subject
from kernelref.opt.kernel import Kernel
from kernelref.run.devices import INTERPRETER, device_kind, report
from kernelref.run.isolate import DevicePool
from kernelref.run.outcome import Outcome
from tests.jobs.run_cases import source_of

INTERP = replace(FULL, name=INTERPRETER)
LARGE = kernel(buffer(1, (2000, 1000)) * 2.0)
EVERY_OTHER = ShapeTracker((View.create((8,), (2,), 1),))

needs_pocl = pytest.mark.skipif(
    report(device_kind("pocl")).info is None, reason="the device pocl is not here"
)
TARGETS = pytest.mark.parametrize(
    "target", [INTERP, pytest.param(POCL, marks=needs_pocl)], ids=lambda target: target.name
)


def ending_of(subject: Subject, target: Target) -> Ending:
    """What `run` says, all in this process but the device."""
    kernel = Kernel.open(subject.source.ast)
    told = _told(prepare(subject, kernel, Pair(subject.name, target.name), target))
    if not isinstance(told, Ready):
        return told
    with DevicePool(target.name) as pool:
        (result,) = pool.run((told.with_data(),))
    return judged(told, result)


def with_store(program: Program, change) -> Program:
    *before, store = program.body
    assert isinstance(store, StoreGlobal)
    return replace(program, body=(*before, *change(store)))


def planted(monkeypatch, change) -> None:
    monkeypatch.setattr(
        run_prepare, "lower", lambda kernel, target: with_store(lower(kernel, target), change)
    )


@TARGETS
def test_what_is_not_compared_must_be_written_too(tmp_path, monkeypatch, target):
    subject = Subject.of(source_of(tmp_path, LARGE), seed=0)
    assert ending_of(subject, target).outcome is Outcome.PASS
    (expected,) = subject.expected()
    column = min(set(range(1000)) - set((expected.addresses % 1000).tolist()))

    def drop(store):
        at = store.address % 1000
        return (replace(store, guard=lt(at, column) + lt(column, at)),)

    planted(monkeypatch, drop)
    ending = ending_of(subject, target)
    assert ending.outcome is Outcome.UNWRITTEN
    assert f"{column}" in ending.detail


@TARGETS
def test_what_is_not_stored_must_be_left_alone(tmp_path, monkeypatch, target):
    (plain,) = kernel(buffer(1, (8,)) * 2.0)
    ast = (Store(0, FLOAT, EVERY_OTHER, plain.value),)
    subject = Subject.of(source_of(tmp_path, ast), seed=0)
    assert subject.stored(0).tolist() == [*range(1, 16, 2)]
    assert ending_of(subject, target).outcome is Outcome.PASS

    planted(monkeypatch, lambda store: (store, replace(store, address=store.address - 1)))
    ending = ending_of(subject, target)
    assert ending.outcome is Outcome.OUT_OF_BOUNDS
    assert ending.detail == "buffer 0: [0] was written, which the kernel does not store"


@needs_pocl
def test_a_large_output_may_hold_what_poison_looks_like(tmp_path):
    bytes_of = kernel(buffer(1, (1 << 20, 2), UINT8).permute(1, 0))
    assert ending_of(Subject.of(source_of(tmp_path, bytes_of), seed=0), POCL).outcome.name == "PASS"


def test_groups_that_do_not_run_must_store_all_the_same(tmp_path, monkeypatch):
    wide = buffer(1, (1024, 1)).expand((1024, 20_000))
    subject = Subject.of(source_of(tmp_path, kernel(wide.sum(1))), seed=0)
    whole = prepare(subject, Kernel.open(subject.ast), Pair("k", INTERPRETER), INTERP)
    assert isinstance(whole, Ready)
    assert whole.launch.ranges is not None
    run = set(np.asarray(whole.expected[0].addresses).tolist())
    idle = next(element for element in range(1024) if element not in run)

    def drop(store):
        return (replace(store, guard=lt(store.address, idle) + lt(idle, store.address)),)

    planted(monkeypatch, drop)
    ending = ending_of(subject, INTERP)
    assert ending.outcome is Outcome.UNWRITTEN
    assert ending.detail == f"buffer 0: no group stores element {idle}"
