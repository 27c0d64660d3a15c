"""Every fault in docs/deviations.md is a case in corpus/known, and the release shows it."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from kernelref.cases.case import Case, read_case
from kernelref.cases.corpus import corpus_files
from kernelref.errors import Unsupported
from kernelref.jobs.conform_compare import compare
from kernelref.jobs.conform_deviations import DEVIATIONS, Step, deviation_of
from kernelref.opt.limits import PRESETS
from kernelref.opt.opt import Opt, OptOps
from kernelref.opt.rules.sets import RULE_SETS
from kernelref.optimizers.installed import InstalledOptimizer, InstalledSession
from kernelref.optimizers.interface import (
    Accepted,
    Answer,
    Broke,
    Heuristics,
    Refused,
    Rendered,
)
from kernelref.optimizers.launch import launch_of
from kernelref.optimizers.reference import ReferenceOptimizer, ReferenceSession
from kernelref.run.inputs import plan_inputs
from kernelref.run.isolate import DevicePool
from kernelref.run.oracle import Oracle
from kernelref.run.outcome import Outcome
from kernelref.run.tolerance import judge
from tests.optimizers.conftest import found
from tests.optimizers.kernels import matmul

DOCS = Path(__file__).parents[2] / "docs" / "deviations.md"
KNOWN = {path.stem: path for path in corpus_files("known")}
SECTIONS = re.findall(r"^### ([a-z0-9-]+)$", DOCS.read_text(), re.MULTILINE)

WRONG_TEXT = (
    "padded-sum-of-not", "padded-second-reduce", "extent-one-summed-twice",
    "siblings-cut-to-one-length", "bool-arithmetic-in-int", "narrow-arithmetic-in-int",
    "image-read-by-twos", "image-unrolled-by-twos", "index-beyond-int",
)  # fmt: skip
WILD_TEXT = ("padded-output-of-groups",)
AFTER_THE_ENGINE = {"padto-meets-tensor-core-aliases": (Opt(OptOps.PADTO, 0, 2),)}
BREAKS_IN_CONSTRUCTION = ("sibling-reduces-break", "dependent-reduces-break")
BREAKS_IN_RENDERING = (
    "in-place-breaks", "bool-sum-breaks", "shift-without-text", "multiply-accumulate-without-text",
    "image-split-where-it-is-padded",
)  # fmt: skip
LEAVES_TRACES = ("refused-opt-is-recorded", "refused-tensor-core-leaves-padding")
SHOWN_BY_TEXT = (
    "padded-remainder-traps", "padded-quotient-traps", "shared-memory-counts-one-buffer",
    "image-shared-by-twos", "barrier-under-a-guard",
)  # fmt: skip
DOES_NOT_COMPILE = ("variable-named-like-an-id",)


def case_of(name: str) -> Case:
    return read_case(KNOWN[name])


def release_of(case: Case) -> InstalledOptimizer:
    return InstalledOptimizer(found(case.rules.removeprefix("tinygrad-")))


def opened(optimizer: InstalledOptimizer, case: Case) -> InstalledSession:
    session = optimizer.open(case.ast, case.limits)
    assert isinstance(session, InstalledSession)
    return session


def rendered(name: str) -> Rendered:
    case = case_of(name)
    optimizer = release_of(case)
    session = opened(optimizer, case)
    for opt in case.opts:
        assert isinstance(session.apply(opt), Accepted)
    text = session.render()
    optimizer.close()
    assert isinstance(text, Rendered)
    return text


def test_docs_name_the_cases_and_the_deviations() -> None:
    assert len(SECTIONS) == len(set(SECTIONS))
    documented = {name for name in SECTIONS if name in KNOWN}
    assert set(SECTIONS) == documented, "a section without a case"
    own = {name for name in KNOWN if "docs/deviations.md" in case_of(name).origin}
    assert own == documented, "a case without a section"
    assert {deviation.name for deviation in DEVIATIONS} <= documented


def test_every_known_case_is_shown_by_a_test() -> None:
    shown = (
        *(deviation.name for deviation in DEVIATIONS), *WRONG_TEXT, *WILD_TEXT, *LEAVES_TRACES,
        *BREAKS_IN_CONSTRUCTION, *BREAKS_IN_RENDERING, *SHOWN_BY_TEXT, *DOES_NOT_COMPILE,
    )  # fmt: skip
    assert sorted(shown) == sorted(SECTIONS)


@pytest.mark.parametrize("name", [deviation.name for deviation in DEVIATIONS])
def test_deviations(name: str) -> None:
    case = case_of(name)
    optimizer = release_of(case)
    theirs = opened(optimizer, case)
    ours = ReferenceOptimizer(RULE_SETS[case.rules]).open(case.ast, case.limits)
    assert isinstance(ours, ReferenceSession)
    *opts, last = case.opts or AFTER_THE_ENGINE[name]
    if not case.opts:
        assert compare(ours.optimize(Heuristics.ENGINE), theirs.optimize(Heuristics.ENGINE)) is None
    for opt in opts:
        assert compare(ours.apply(opt), theirs.apply(opt)) is None
    before = theirs.state
    mine: Answer
    try:
        mine = ours.apply(last)
    except Unsupported as error:
        mine = Broke("Unsupported", str(error), check=error.reason)
    other = theirs.apply(last)
    difference = compare(mine, other)
    assert difference is not None
    explained = deviation_of(Step(case.rules, before, last, mine, other, difference))
    assert explained is not None
    assert explained.name == name
    if isinstance(other, Accepted):
        assert isinstance(theirs.render(), Broke)
    else:
        assert isinstance(mine, Accepted)
        assert other.changed
    optimizer.close()


@pytest.mark.parametrize("name", BREAKS_IN_CONSTRUCTION)
def test_kernels_that_break_in_construction(name: str) -> None:
    case = case_of(name)
    optimizer = release_of(case)
    assert isinstance(optimizer.open(case.ast, case.limits), Broke)
    optimizer.close()
    copied = ReferenceOptimizer(RULE_SETS[case.rules]).open(case.ast, case.limits)
    assert isinstance(copied, Broke)
    sound = ReferenceOptimizer(RULE_SETS["sound"]).open(case.ast, case.limits)
    assert isinstance(sound, ReferenceSession)


@pytest.mark.parametrize("name", BREAKS_IN_RENDERING)
def test_kernels_that_break_in_rendering(name: str) -> None:
    case = case_of(name)
    optimizer = release_of(case)
    session = opened(optimizer, case)
    was: Rendered | Broke | None = None
    for opt in case.opts:
        was = session.render()
        assert isinstance(session.apply(opt), Accepted)
    assert not case.opts or isinstance(was, Rendered), "the last opt breaks it"
    assert isinstance(session.render(), Broke)
    optimizer.close()


@pytest.mark.parametrize("name", LEAVES_TRACES)
def test_refusals_that_leave_traces(name: str) -> None:
    case = case_of(name)
    optimizer = release_of(case)
    session = opened(optimizer, case)
    before = session.state
    answer = session.apply(case.opts[-1])
    assert isinstance(answer, Refused)
    assert answer.changed
    assert session.state == before, "the worker puts it back"
    optimizer.close()


def test_remainders_of_padding_are_computed() -> None:
    assert "%" in rendered("padded-remainder-traps").text


def test_quotients_of_padding_are_computed_before_the_guard() -> None:
    text = rendered("padded-quotient-traps").text
    quotient, guard = text.index("(val0/val1)"), text.index("if (")
    assert quotient < guard


def test_shared_memory_passes_the_limit() -> None:
    declared = re.findall(
        r"__local float \w+\[(\d+)\]", rendered("shared-memory-counts-one-buffer").text
    )
    nbytes = 4 * sum(map(int, declared))
    assert len(declared) == 2
    assert nbytes > case_of("shared-memory-counts-one-buffer").limits.shared_max


def test_four_elements_are_stored_where_two_have_room() -> None:
    text = rendered("image-shared-by-twos").text
    # Of four work-items the last one stores the elements 6 to 9 of 8.
    assert "__local float temp[8]" in text
    assert "*((__local float4*)(temp+lidx1*2))" in text


def test_a_barrier_stands_where_one_work_item_goes() -> None:
    text = rendered("barrier-under-a-guard").text
    guarded = re.search(r"\n  if \((\w+)\) \{\n    if \(\1\) \{", text)
    assert guarded is not None
    assert re.search(rf"bool {guarded[1]} = \(lidx\d<1\);", text)
    assert "\n    barrier(" in text[guarded.start() :]


@pytest.mark.parametrize("name", DOES_NOT_COMPILE)
def test_texts_that_do_not_compile(name: str) -> None:
    pytest.importorskip("pyopencl")
    case = case_of(name)
    values = dict(case.vars)
    data = plan_inputs(case.ast, case.inputs.domain, values).draw(1)
    launch = launch_of(rendered(name), case.ast, values, label=name)
    buffers = tuple(replace(b, data=data.get(b.number)) for b in launch.buffers)
    with DevicePool() as pool:
        (result,) = pool.run((replace(launch, buffers=buffers),))
    assert result.fault is Outcome.BUILD_ERROR


def test_wrong_values_on_a_device() -> None:
    pytest.importorskip("pyopencl")
    launches, judges = [], []
    for name in (*WRONG_TEXT, *WILD_TEXT):
        case = case_of(name)
        plan = plan_inputs(case.ast, case.inputs.domain, {})
        data = plan.draw(1)
        launch = launch_of(rendered(name), case.ast, {}, label=name)
        buffers = tuple(replace(b, data=data.get(b.number)) for b in launch.buffers)
        launches.append(replace(launch, buffers=buffers))
        judges.append((name, case, Oracle(case.ast, data), plan.rung))
    with DevicePool() as pool:
        results = list(pool.run(launches))
    for (name, case, oracle, rung), result in zip(judges, results, strict=True):
        if name in WILD_TEXT:
            assert result.fault is Outcome.OUT_OF_BOUNDS
            continue
        assert result.fault is None, name
        values = oracle.values(0, bounds=None)
        got = np.asarray(result.outputs[0])
        assert judge(got, values, rung, case.ast[0].dtype) is not None, name


def test_a_copy_shares_its_tensor_core_with_its_parent() -> None:
    optimizer = InstalledOptimizer(found("0.9.1"))
    session = optimizer.open(matmul(16, 16, 16), PRESETS["metal"])
    assert isinstance(session, InstalledSession)
    assert isinstance(session.apply(Opt(OptOps.TC, 0, 0)), Accepted)
    worker, number = optimizer.worker, session._kernel
    before = worker.call("state", kernel=number)["tensor_core_axes"]
    child = worker.call("fork", kernel=number)["kernel"]
    answer = worker.call("apply", kernel=child, opt=["UPCAST", before[0][1], 0])
    assert answer["answer"] == "accepted"
    after = worker.call("state", kernel=number)["tensor_core_axes"]
    assert after != before
    optimizer.close()
