"""A release's own text on the default device: right where it is right, wrong where it is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from kernelref.cases.case import Case, write_case
from kernelref.cases.corpus import corpus_root
from kernelref.cases.sources import KernelSource, kernels
from kernelref.codegen.target import FULL, POCL, Target
from kernelref.errors import Unsupported
from kernelref.ir.builder import buffer, kernel
from kernelref.jobs.opt_choice import OptChoice, parse_opts
from kernelref.jobs.run_judge import judged
from kernelref.jobs.run_prepare import Ready
from kernelref.jobs.run_release import check_dtypes, prepare_release, schedules
from kernelref.jobs.run_report import Ending
from kernelref.jobs.run_subject import Subject
from kernelref.opt.limits import OPENCL
from kernelref.opt.opt import Opt, OptOps
from kernelref.optimizers.installed import InstalledSession
from kernelref.optimizers.interface import Broke
from kernelref.optimizers.names import opened_release
from kernelref.optimizers.releases import ReleaseMissingError, release
from kernelref.run.devices import INTERPRETER
from kernelref.run.isolate import DevicePool
from kernelref.run.outcome import Outcome

ROOT = corpus_root()
INTERP = replace(FULL, name=INTERPRETER)


@pytest.fixture(autouse=True, scope="module")
def releases() -> Iterator[None]:
    try:
        release("0.9.1")
    except ReleaseMissingError as error:
        pytest.skip(str(error))
    yield
    opened_release("tinygrad==0.9.1").close()
    opened_release.cache_clear()


def source(name: str) -> KernelSource:
    (found,) = kernels([str(ROOT / f"{name}.json")])
    assert isinstance(found, KernelSource)
    return found


def prepared(name: str, opts: str, *, target: Target = POCL) -> list[Ready | Ending]:
    found = source(name)
    limits = found.case.limits if found.case else OPENCL
    subject = Subject.of(found, seed=1)
    return list(prepare_release(subject, "tinygrad==0.9.1", parse_opts(opts), limits, (target,)))


def test_text_runs_on_the_device_and_is_judged() -> None:
    pytest.importorskip("pyopencl")
    wanted = {
        "seeds/softmax-sum": ("none", Outcome.PASS),
        "seeds/matmul-odd-sizes": ("hand-coded", Outcome.PASS),
        "seeds/symbolic-offset": ("engine", Outcome.PASS),
        "seeds/image-average": ("engine", Outcome.PASS),
        "known/padded-sum-of-not": ("own", Outcome.WRONG_VALUE),
        "known/bool-arithmetic-in-int": ("own", Outcome.WRONG_VALUE),
    }
    ready = []
    for name, (opts, _) in wanted.items():
        (one,) = prepared(name, opts)
        assert isinstance(one, Ready), one
        ready.append(one)
    with DevicePool() as pool:
        results = list(pool.run(one.with_data() for one in ready))
    for (name, (_, outcome)), one, result in zip(wanted.items(), ready, results, strict=True):
        ending = judged(one, result)
        assert ending.outcome is outcome, f"{name}: {ending.detail}"
        if outcome is Outcome.PASS:
            assert ending.outputs_checked == ending.outputs_total


def test_what_the_device_lacks_is_said_before_the_run() -> None:
    (half,) = prepared("seeds/matmul-half", "none")
    assert isinstance(half, Ending)
    assert (half.outcome, half.reason) == (Outcome.UNSUPPORTED, "half-arithmetic")
    for name, reason in (("bfloat16-scale", "bfloat16-text"), ("image-add", "images")):
        with pytest.raises(Unsupported, match=reason):
            check_dtypes(source(f"seeds/{name}").ast, Target("bare", native_half=True))
    with pytest.raises(Unsupported, match="text-in-interpreter"):
        check_dtypes(source("seeds/matmul").ast, Target("interp"))


def test_a_release_that_falls_over_is_an_ending() -> None:
    (construction,) = prepared("known/dependent-reduces-break", "none")
    assert isinstance(construction, Ending)
    assert construction.outcome is Outcome.BROKE
    (rendering,) = prepared("known/shift-without-text", "none")
    assert isinstance(rendering, Ending)
    assert rendering.outcome is Outcome.BROKE
    assert "KeyError" in rendering.detail


def test_refused_opts_are_skipped_and_told(tmp_path: Path) -> None:
    listed = tmp_path / "opts.json"
    listed.write_text('[["UPCAST", 0, 7], ["UPCAST", 0, 2]]')
    (one,) = prepared("seeds/matmul", str(listed))
    assert isinstance(one, Ready)
    assert one.pair.opts == (Opt(OptOps.UPCAST, 0, 2),)
    assert one.pair.refused == ((Opt(OptOps.UPCAST, 0, 7), "no longer valid shift"),)


def count(name: str, choice: OptChoice) -> list[tuple[Opt, ...]]:
    optimizer = opened_release("tinygrad==0.9.1")
    found = source(name)
    applied = []
    for one in schedules(optimizer, found.ast, found.opts, choice, OPENCL):
        assert one.session is not None
        applied.append(one.session.state.applied_opts)
        one.session.close()
    return applied


def test_actions_are_all_single_ones_then_walks() -> None:
    optimizer = opened_release("tinygrad==0.9.1")
    singles = count("seeds/arange", parse_opts("actions:1"))
    assert all(len(opts) == 1 for opts in singles)
    assert {opts[0] for opts in singles} <= set(optimizer.actions())
    assert len(singles) == len(set(singles)) > 5
    more = count("seeds/arange", parse_opts("actions:3"))
    assert more[: len(singles)] == singles
    walks = more[len(singles) :]
    assert len(walks) == 50
    assert max(map(len, walks)) == 3
    assert more == count("seeds/arange", parse_opts("actions:3"))


def test_random_walks_follow_their_seed() -> None:
    first, again, other = (
        count("seeds/matmul", parse_opts(f"random:{seed}:6")) for seed in (1, 1, 2)
    )
    assert first == again != other
    assert len(first) == 1
    assert 0 < len(first[0]) <= 6


def test_the_reference_renders_nothing_of_its_own() -> None:
    with pytest.raises(Unsupported, match="reference"):
        opened_release("reference")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("regress/in-place-transposed", "in-place-hazard"),
        ("regress/offset-by-a-c-remainder", "truncating-index"),
    ],
)
def test_what_says_no_one_thing_or_has_no_words_is_unsupported(name: str, reason: str) -> None:
    with pytest.raises(Unsupported) as raised:
        prepared(name, "none")
    assert raised.value.reason == reason


def test_a_store_of_what_stands_there_already_may_be_left_out(tmp_path: Path) -> None:
    path = tmp_path / "same.json"
    write_case(Case(kernel(buffer(0, (30,))), title="same"), path)
    (found,) = kernels([str(path)])
    assert isinstance(found, KernelSource)
    subject = Subject.of(found, seed=0)
    (ending,) = prepare_release(subject, "tinygrad==0.9.1", parse_opts("none"), OPENCL, (POCL,))
    assert isinstance(ending, Ending)
    assert ending.reason == "store-left-out"


def test_text_for_tensor_cores_is_unsupported() -> None:
    (one,) = prepared("known/padto-meets-tensor-core-aliases", "engine")
    assert isinstance(one, Ending)
    assert (one.outcome, one.reason) == (Outcome.UNSUPPORTED, "tensor-core-text")


def test_a_kernel_that_reads_its_own_elements_alone_is_judged() -> None:
    (one,) = prepared("seeds/add-in-place", "none")
    assert isinstance(one, Ready)


def test_random_sequences_differ_between_kernels_and_not_between_runs() -> None:
    optimizer = opened_release("tinygrad==0.9.1")
    found = source("seeds/matmul-odd-sizes")

    def opts(salt: str) -> tuple[Opt, ...]:
        choice = parse_opts("random:1:6")
        (one,) = schedules(optimizer, found.ast, (), choice, OPENCL, salt=salt)
        assert one.session is not None
        return one.session.state.applied_opts

    assert opts("a") == opts("a")
    assert len({opts(salt) for salt in "abcd"}) > 1


@pytest.mark.parametrize(
    ("opts", "expects", "outcome", "says"),
    [
        ("own", "BROKE", Outcome.BROKE, "refusal-leaves-traces: TC(0, 2): "),
        ("own", "WRONG_VALUE", Outcome.UNSUPPORTED, ""),
        ("none", "BROKE", Outcome.UNSUPPORTED, ""),
    ],
)
def test_a_case_shows_a_refusal_that_leaves_traces(
    opts: str, expects: str, outcome: Outcome, says: str
) -> None:
    """A campaign's case holds the refused opt and expects BROKE; others count a refusal."""
    found = source("known/refused-tensor-core-leaves-padding")
    assert found.case is not None
    subject, limits = Subject.of(found, seed=1), found.case.limits
    (ending,) = prepare_release(
        subject, "tinygrad==0.9.1", parse_opts(opts), limits, (INTERP,), expects
    )
    assert isinstance(ending, Ending)
    assert ending.outcome is outcome
    assert ending.detail.startswith(says)


def test_a_case_shows_an_opt_at_which_the_release_falls_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def falls(session: InstalledSession, opt: Opt) -> Broke:
        return Broke("IndexError", "list index")

    monkeypatch.setattr(InstalledSession, "apply", falls)
    found = source("known/refused-tensor-core-leaves-padding")
    assert found.case is not None
    subject, limits = Subject.of(found, seed=1), found.case.limits
    ends = []
    for expects in ("BROKE", "PASS"):
        made = prepare_release(
            subject, "tinygrad==0.9.1", parse_opts("own"), limits, (INTERP,), expects
        )
        ends += [(item.outcome, item.detail) for item in made if isinstance(item, Ending)]
    assert ends[0] == (Outcome.BROKE, "IndexError: TC(0, 2): list index")
    assert ends[1][0] is Outcome.UNSUPPORTED
