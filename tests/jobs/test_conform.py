"""`conform` agrees where release and reference do, and finds what is planted in either."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from kernelref.cases.corpus import corpus_root
from kernelref.errors import InvalidInput
from kernelref.jobs.conform import Conform, conform
from kernelref.jobs.conform_report import ConformReport
from kernelref.opt.limits import PRESETS
from kernelref.opt.opt import OptOps
from kernelref.opt.rules.ruleset import RuleSet
from kernelref.optimizers.installed import InstalledOptimizer
from kernelref.optimizers.reference import ReferenceOptimizer
from kernelref.optimizers.releases import Release, ReleaseMissingError, checkout, release

SEEDS = corpus_root() / "seeds"
KERNELS = [str(SEEDS / name) for name in ("matmul.json", "softmax-sum.json", "image-conv-1x1.json")]


def found(version: str) -> Release:
    try:
        return release(version)
    except ReleaseMissingError as error:
        pytest.skip(str(error))


def compared(
    optimizer: InstalledOptimizer,
    kernels: Sequence[str] = KERNELS,
    *,
    rules: Callable[[RuleSet], RuleSet] = lambda rules: rules,
    sequences: int = 0,
    limits: Sequence[str] = ("opencl",),
) -> ConformReport:
    job = Conform(optimizer, {name: PRESETS[name] for name in limits}, 1)
    job.reference = ReferenceOptimizer(rules(job.reference.rule_set))
    try:
        return job.run(kernels, None, sequences, 8)
    finally:
        optimizer.close()


def patched(tmp_path: Path, old: str, new: str) -> InstalledOptimizer:
    """A checkout of 0.9.1 in which kernel.py has `new` for `old`."""
    folder = tmp_path / "checkout"
    shutil.copytree(found("0.9.1").folder, folder)
    source = folder / "tinygrad" / "codegen" / "kernel.py"
    text = source.read_text()
    assert old in text
    source.write_text(text.replace(old, new))
    return InstalledOptimizer(checkout(str(folder)))


@pytest.mark.parametrize("version", ["0.8.0", "0.9.0", "0.9.1"])
def test_reference_and_release_agree(version: str) -> None:
    found(version)
    seen: list[tuple[int, int | None]] = []

    def progress(done: int, total: int | None, note: str = "") -> None:
        seen.append((done, total))

    result = conform(
        f"tinygrad=={version}", KERNELS, sequences=24, seed=3, limits=("opencl", "metal", "clang"),
        progress=progress,
    )  # fmt: skip
    assert result["findings"] == []
    assert result["kernels"] == result["hand_coded_equal"] == result["engine_equal"] == 3
    assert result["sequences"] == 24
    assert result["steps"] == result["steps_equal"] + sum(result["deviations"].values())
    assert result["accepted"] == sum(result["accepted_by_op"].values()) > 40
    assert sum(result["refused_by_check"].values()) > 10
    assert len(result["accepted_by_op"]) >= 6
    assert len(seen) == 3 + 24
    json.dumps(result, allow_nan=False)


def test_one_seed_gives_one_answer() -> None:
    found("0.9.1")
    results = [conform("tinygrad==0.9.1", KERNELS, sequences=6, seed=9) for _ in range(2)]
    for result in results:
        result.pop("seconds")
    assert results[0] == results[1]


def test_a_check_that_the_reference_lost_is_found() -> None:
    def without_cap(rules: RuleSet) -> RuleSet:
        kept = tuple(c for c in rules.checks[OptOps.UPCAST] if c.name != "amount-at-most-8")
        return replace(rules, checks={**rules.checks, OptOps.UPCAST: kept})

    optimizer = InstalledOptimizer(found("0.9.1"))
    report = compared(optimizer, KERNELS[:1], rules=without_cap, sequences=90)
    assert report.findings_total > 0
    finding = report.findings[0]
    assert finding.difference.what == "answer"
    assert finding.opts[-1].op is OptOps.UPCAST
    assert finding.difference.release == "refused (don't upcast more than 8)"
    deviating = sum(report.deviations.values())
    assert report.steps == report.steps_equal + report.findings_total + deviating


def test_checks_in_another_order_give_another_reason() -> None:
    def cap_first(rules: RuleSet) -> RuleSet:
        checks = {check.name: check for check in rules.checks[OptOps.UPCAST]}
        cap = checks.pop("amount-at-most-8")
        order = [*checks.values()]
        order.insert([*checks].index("amount-divides"), cap)
        return replace(rules, checks={**rules.checks, OptOps.UPCAST: tuple(order)})

    optimizer = InstalledOptimizer(found("0.9.1"))
    report = compared(optimizer, KERNELS[:1], rules=cap_first, sequences=90)
    assert {finding.difference.what for finding in report.findings} == {"reason"}
    deviating = sum(report.deviations.values())
    assert report.steps == report.steps_equal + report.findings_total + deviating


def test_a_release_that_moves_an_axis_elsewhere_is_found(tmp_path: Path) -> None:
    old = "self.shift_to(axis, amt, insert_before=self.first_reduce)"
    new = "self.shift_to(axis, amt, insert_before=self.first_reduce-self.local_dims)"
    report = compared(patched(tmp_path, old, new), sequences=40)
    assert {f.opts[-1].op for f in report.findings if f.how == "opt"} == {OptOps.LOCAL}
    assert {f.difference.what for f in report.findings} <= {
        "full-shape", "output-shape", "real-strides",
    }  # fmt: skip


def test_a_release_with_another_heuristic_is_found(tmp_path: Path) -> None:
    report = compared(patched(tmp_path, "local_size * x <= 128", "local_size * x <= 32"))
    assert report.hand_coded_equal < report.kernels
    assert {finding.how for finding in report.findings} == {"hand-coded", "engine"}


def test_a_release_that_falls_over_in_construction_is_found(tmp_path: Path) -> None:
    optimizer = patched(tmp_path, "verify_lazyop(*ast)", "assert len(ast[0].arg.st.shape) < 2")
    report = compared(optimizer)
    assert report.unopened == report.kernels == 3
    assert report.hand_coded_equal == report.engine_equal == 0
    assert {finding.how for finding in report.findings} == {"construction"}


def test_a_release_that_crashes_is_found_and_the_rest_goes_on(tmp_path: Path) -> None:
    old = 'check(amt <= 8, "don\'t upcast more than 8")'
    report = compared(patched(tmp_path, old, "__import__('os')._exit(70)"), sequences=4)
    assert {finding.difference.release.split(":")[0] for finding in report.findings} == {
        "broke (crash"
    }
    assert report.steps_equal > 4


def test_what_cannot_be_compared_is_counted(tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.json"
    damaged.write_text("{}")
    found("0.8.0")
    several = str(SEEDS / "sum-and-product.json")
    result = conform("tinygrad==0.8.0", [several, str(damaged), KERNELS[0]])
    assert result["read"] == 3
    assert result["unsupported"] == {"several-outputs": 1}
    assert len(result["unreadable"]) == 1
    assert str(damaged) in result["unreadable"][0]
    assert result["kernels"] == result["hand_coded_equal"] == 1


def test_only_a_release_can_be_conformed_to() -> None:
    with pytest.raises(InvalidInput, match="reference is what is compared"):
        conform("reference", KERNELS)
    with pytest.raises(InvalidInput, match="--limits nonsense"):
        conform("tinygrad==0.9.1", KERNELS, limits=("nonsense",))
