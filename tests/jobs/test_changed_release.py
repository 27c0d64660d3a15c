"""A release that was changed: wrong changes are found by the verb whose business it is, right ones
are not accused, and what the published release does as well is told apart."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kernelref.fuzzing.campaign_case import Chunk, Plan
from kernelref.fuzzing.campaign_feedback import Feedback
from kernelref.fuzzing.campaign_result import CaseResult
from kernelref.jobs.fuzz_work import run_case
from kernelref.jobs.prove import ProveRequest, prove_kernels
from kernelref.jobs.run import RunRequest, run_kernels
from kernelref.jobs.run_release import shared_nbytes
from kernelref.optimizers.names import opened_release
from kernelref.optimizers.releases import checkout, installed
from kernelref.run.outcome import Outcome
from tests.optimizers.patches import PATCHES, patched

SEEDS = Path(__file__).parents[2] / "corpus" / "seeds"


OPENED: list[str] = []


@pytest.fixture(autouse=True)
def closed_workers() -> Iterator[None]:
    """Copies go with the test, and so do the workers that were started on them."""
    yield
    for name in OPENED:
        opened_release(name).close()
    OPENED.clear()
    opened_release.cache_clear()


def changed(name: str, folder: Path) -> str:
    version = PATCHES[name].version
    path = patched(name, folder / name)
    if path is None:
        pytest.skip(f"tinygrad {version} is not installed")
    OPENED.append(f"tinygrad@{path}")
    return OPENED[-1]


def proved(name: str, folder: Path, kernel: str, *opts: list[object]) -> dict[str, Any]:
    listed = folder / "opts.json"
    listed.write_text(json.dumps(opts))
    request = ProveRequest(
        (str(SEEDS / f"{kernel}.json"),), opts=str(listed), optimizer=changed(name, folder)
    )
    return prove_kernels(request).as_json()


def test_a_release_is_genuine_until_a_file_of_it_changes(tmp_path: Path) -> None:
    for version in ("0.8.0", "0.9.0", "0.9.1"):
        release = installed(version)
        if release is None:
            pytest.skip(f"tinygrad {version} is not installed")
        assert release.is_genuine
        assert checkout(str(release.folder)).is_genuine
    path = changed("less-or-equal", tmp_path).partition("@")[2]
    assert not checkout(path).is_genuine


WRONG = (
    ("padto-left", "softmax-sum", ["PADTO", 0, 32], "index", "PADTO(0, 32)", "buffer 0 at"),
    ("padto-unsafe", "softmax-sum", ["PADTO", 1, 32], "padding", "PADTO(1, 32)", "output 0 at ()"),
    ("padto-forgets-last", "softmax-sum", ["PADTO", 0, 32], "bijection", "PADTO(0, 32)",
     "buffer 3 at (): extents: (64, 77) and (48, 77)"),
    ("permute-some", "crop-and-pad", ["UPCAST", 1, 4], "bijection", "UPCAST(1, 4)", "extents"),
    ("padto-left-0.8.0", "gelu", ["PADTO", 0, 32], "index", "PADTO(0, 32)", "buffer 0 at"),
)  # fmt: skip


@pytest.mark.parametrize(("name", "kernel", "opt", "obligation", "blame", "says"), WRONG)
def test_a_wrong_change_is_refuted_with_opt_and_witness(
    name: str, kernel: str, opt: list[object], obligation: str, blame: str, says: str,
    tmp_path: Path,
) -> None:  # fmt: skip
    found = proved(name, tmp_path, kernel, opt)
    (finding,) = [one for one in found["findings"] if one["verdict"] == "REFUTED"]
    assert (finding["obligation"], finding["blame"]) == (obligation, blame)
    assert says in finding["witness"]
    assert found["inherited"] == 0


RIGHT = (
    ("outer-part-swapped", "sum-plus-max", ["GROUPTOP", 0, 4], "axes"),
    ("other-rounding", "gelu", ["PADTO", 0, 32], "axes"),
    ("group-is-unrolled", "sum-plus-max", ["GROUP", 0, 4], "types of axes"),
)


@pytest.mark.parametrize(("name", "kernel", "opt", "differs"), RIGHT)
def test_a_right_change_is_told_and_not_accused(
    name: str, kernel: str, opt: list[object], differs: str, tmp_path: Path
) -> None:
    found = proved(name, tmp_path, kernel, opt)
    assert found["differs"] == {differs: 1}
    assert (found["refuted"], found["unknown"], found["left_out"]) == (0, 0, {})


def test_what_the_release_itself_is_refuted_in_is_told_apart(tmp_path: Path) -> None:
    found = proved("other-thresholds", tmp_path, "sum-plus-max", ["PADTO", 1, 32])
    assert (found["refuted"], found["inherited"]) == (1, 1)
    assert [one["inherited"] for one in found["findings"]] == [True]


def test_one_kernel_that_it_breaks_on_does_not_end_the_run(tmp_path: Path) -> None:
    name = changed("merge-compares-none", tmp_path)
    request = ProveRequest(("corpus",), opts="random:3:2", sample=40, seed=2, optimizer=name)
    found = prove_kernels(request).as_json()
    assert found["left_out"]["broke (TypeError), and the release itself does not"] > 0
    assert found["kernels"] + sum(found["left_out"].values()) == found["read"] == 40


def run_on(device: str, name: str, folder: Path, kernel: str, *opts: list[object], **more: Any
) -> list[tuple[str, str]]:  # fmt: skip
    listed = folder / "opts.json"
    listed.write_text(json.dumps(opts))
    request = RunRequest(
        (str(SEEDS / f"{kernel}.json"),), opts=str(listed), optimizer=changed(name, folder),
        devices=(device,), jobs=1, **more,
    )  # fmt: skip
    return [(one["outcome"], one["detail"]) for one in run_kernels(request).as_json()["findings"]]


def test_its_own_text_runs(tmp_path: Path) -> None:
    ((outcome, says),) = run_on("pocl", "store-without-guard", tmp_path, "gelu", ["PADTO", 0, 32])
    assert outcome == "OUT_OF_BOUNDS"
    assert "past the end" in says


def test_text_that_shares_more_than_a_group_has_is_not_run(tmp_path: Path) -> None:
    limits = tmp_path / "limits.json"
    limits.write_text(json.dumps({"preset": "opencl", "shared_max": 4096}))
    found = run_on(
        "pocl", "group-without-shared-check", tmp_path, "dot", ["GROUP", 0, 4096],
        limits=str(limits),
    )  # fmt: skip
    says = "the text declares 16,384 bytes of __local memory, of 4,096"
    assert found == [("OUT_OF_MEMORY", says)]


def test_shared_arrays_of_a_text() -> None:
    text = "__attribute__((aligned(16))) __local float4 a[8];\n __local half b[3]; float c[9];"
    assert shared_nbytes(text) == 8 * 16 + 3 * 2


def fuzzed(name: str, folder: Path, cases: int) -> Iterator[CaseResult]:
    plan = Plan(optimizer=changed(name, folder))
    steering = Feedback().steering()
    return (run_case(plan, number, Chunk((number,), steering)) for number in range(cases))


def test_a_campaign_finds_it_and_says_where(tmp_path: Path) -> None:
    result = next(found for found in fuzzed("padto-left", tmp_path, 200) if found.is_finding)
    assert result.key.startswith("WRONG_VALUE (index refuted) at proof: ")
    assert "PADTO" in result.key
    assert result.ending.detail.startswith("PADTO(")


def test_a_campaign_does_not_accuse_what_is_only_different(tmp_path: Path) -> None:
    seen = 0
    for result in fuzzed("group-is-unrolled", tmp_path, 200):
        assert not result.is_finding, result.key
        assert result.ending.outcome is not Outcome.HARNESS_ERROR
        seen += "types of axes" in result.differs
        if seen == 2:
            break
    assert seen == 2
