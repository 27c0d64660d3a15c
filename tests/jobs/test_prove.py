"""`prove` as a job: what it counts, whose fault it names, what a release's kernel comes to."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path

import pytest

from kernelref.cases.corpus import corpus_root
from kernelref.errors import InvalidInput
from kernelref.jobs.prove import ProveRequest, _shares, check_certificate, prove_kernels
from kernelref.jobs.prove_kernel import Finished
from kernelref.jobs.prove_report import ProveReport
from kernelref.prove.portfolio import ENGINES
from kernelref.report.prove import summary
from tests.cli.command import command
from tests.shared_bugs import KERNEL_FILES, kernel_file

CORPUS = ("corpus",)


def request(*kernels: str, **more) -> ProveRequest:
    return ProveRequest(kernels=kernels or CORPUS, **more)


def test_the_seeds_are_proved_under_hand_coded_opts() -> None:
    report = prove_kernels(request("corpus/seeds", opts="hand-coded", sample=40, seed=3))
    found = report.as_json()
    assert found["kernels"] == 40
    assert found["proved"] == found["obligations"] == 40 * 15
    assert found["refuted"] == found["unknown"] == found["unsupported"] == 0
    assert not found["findings"]
    assert sum(found["engines"].values()) > found["obligations"]
    assert found["median_ms"] > found["index_median_ms"] > 0


def test_known_faults_of_releases_are_refuted_and_blamed() -> None:
    report = prove_kernels(request("corpus/known"))
    wrong = {
        (f["kernel"].rpartition("/")[2].removesuffix(".json"), f["obligation"]): f
        for f in report.findings
        if f["verdict"] == "REFUTED"
    }
    assert ("extent-one-summed-twice", "reduction") in wrong
    for name in ("padded-second-reduce", "padded-sum-of-not", "padded-remainder-traps"):
        finding = wrong[name, "padding"]
        assert finding["blame"] == "PADTO(1, 32)"
        assert finding["witness"]
    assert report.refuted == len(wrong)


def test_random_legal_opts_are_proved_and_repeat() -> None:
    twice = [
        prove_kernels(request("corpus/seeds", opts="random:5:4", sample=20, seed=1)).as_json()
        for _ in range(2)
    ]
    for found in twice:
        assert found["refuted"] == found["unknown"] == 0
    timeless = [
        {k: v for k, v in found.items() if not k.endswith("_ms") and k != "seconds"}
        for found in twice
    ]
    assert timeless[0] == timeless[1]


def test_the_verdicts_do_not_depend_on_the_engines() -> None:
    base = request("corpus/seeds", opts="hand-coded", sample=12, seed=5)
    counts = []
    for off in ("syntactic", "digits", "enumerate"):
        engines = tuple(name for name in ENGINES if name != off)
        report = prove_kernels(replace(base, engines=engines))
        counts.append((report.as_json()["proved"], report.refuted))
    whole = prove_kernels(base)
    proved = whole.as_json()["proved"]
    assert all(refuted == 0 for _, refuted in counts)
    syntactic, digits, enumerate_ = (count for count, _ in counts)
    assert syntactic == digits == proved
    # Races in on-chip memory are decided by enumeration alone.
    assert proved - 12 <= enumerate_ < proved


def test_a_certificate_of_one_kernel_is_written_and_checked(tmp_path) -> None:
    path = tmp_path / "certificate.json"
    prove_kernels(request("corpus/seeds/matmul.json", opts="hand-coded", certificate=path))
    checked = check_certificate(path)
    assert (checked.refuted, checked.unproved, checked.differences) == (0, 0, ())
    document = json.loads(path.read_text())
    document["obligations"][0]["verdict"] = "REFUTED"
    document["obligations"].pop()
    path.write_text(json.dumps(document))
    differences = check_certificate(path).differences
    assert any("stated REFUTED, found PROVED" in line for line in differences)
    assert any("stated nothing, found PROVED" in line for line in differences)


def test_opts_are_generalised_on_request() -> None:
    found = prove_kernels(
        request("corpus/seeds/matmul.json", opts="hand-coded", generalises=True)
    ).as_json()["generalised"]
    assert found
    assert {one["verdict"] for one in found} == {"PROVED"}
    assert all("divides" in one["condition"] for one in found)


def test_a_certificate_is_of_one_kernel(tmp_path) -> None:
    with pytest.raises(InvalidInput, match="of one kernel"):
        prove_kernels(request("corpus/seeds", certificate=tmp_path / "c.json"))


def test_what_cannot_be_read_is_named(tmp_path) -> None:
    path = tmp_path / "lines.txt.gz"
    path.write_bytes(gzip.compress(b"not a kernel\n"))
    report = prove_kernels(request(str(path)))
    assert report.kernels == 0
    assert "lines.txt.gz:1" in report.unreadable[0]


def test_two_processes_find_what_one_finds() -> None:
    one, two = (
        prove_kernels(request("corpus/seeds", sample=10, seed=9, jobs=jobs)).as_json()
        for jobs in (1, 2)
    )
    assert one["proved"] == two["proved"]
    assert one["kernels"] == two["kernels"] == 10


@pytest.mark.parametrize(
    ("jobs", "kernels", "optimizer", "shares"),
    [
        (None, 3, "reference", (1, 3)),
        (None, 17, "reference", (3, 6)),
        (None, 500, "reference", (4, 8)),
        (1, 500, "reference", (1, 8)),
        (2, 3, "reference", (2, 2)),
        (300, 3, "reference", (3, 1)),
        (2, 500, "reference:mine:choose", (2, 1)),
    ],
)
def test_how_many_processes_there_are(
    jobs, kernels, optimizer, shares, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 4)
    assert _shares(request(jobs=jobs, optimizer=optimizer), kernels) == shares


def test_the_command_line_proves_on_every_core(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr("os.cpu_count", lambda: 3)
    monkeypatch.setattr("kernelref.jobs.prove._work", lambda *given: asked.append(given) or empty())
    command("prove", "corpus")
    command("prove", "corpus", "--jobs", 1)
    assert [given[2] for given in asked] == [3, 1]


def empty():
    yield from ()


@pytest.mark.parametrize("name", KERNEL_FILES)
def test_real_kernels_under_hand_coded_opts_are_proved(name) -> None:
    rules = name.removesuffix(".txt.gz")
    report = prove_kernels(
        request(str(kernel_file(name)), sample=25, seed=4, opts="hand-coded", rules=rules)
    )
    found = report.as_json()
    assert found["kernels"] == 25
    assert found["proved"] == found["obligations"] == 25 * 15


HEURISTICS = '''
import os
from dataclasses import replace
from pathlib import Path

from kernelref.opt.axis import AxisType
from kernelref.opt.opt import Opt, OptOps


def retyped(kernel):
    """A summed axis is said to be unrolled outside of the sum."""
    axes = [
        replace(axis, type=AxisType.UPCAST) if axis.type is AxisType.REDUCE else axis
        for axis in kernel.axes
    ]
    return replace(kernel, axes=tuple(axes))


def illegal(kernel):
    return [Opt(OptOps.UPCAST, 0, 7)]


def leaving(kernel):
    os._exit(0)


def killed(kernel):
    os.kill(os.getpid(), 9)
'''


@pytest.mark.parametrize("name", ["retyped", "leaving", "killed"])
def test_a_heuristic_that_tampers_or_ends_the_process_is_never_proved(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tampering.py").write_text(HEURISTICS)
    monkeypatch.syspath_prepend(str(tmp_path))
    path = corpus_root() / "regress" / "group-inner-row-sums.json"
    report = prove_kernels(
        ProveRequest((str(path),), opts="hand-coded", optimizer=f"reference:tampering:{name}")
    )
    told = report.as_json()
    assert told["proved"] == 0
    assert told["left_out"] or told["faults"]


@pytest.mark.parametrize(
    ("name", "reason", "says"),
    [
        ("illegal", "OptBroke asks-for-illegal-opt", "UPCAST(0, 7) refused by amount-divides"),
        ("killed", "heuristic-crashes", "ran reference:tampering:killed on this kernel was killed"),
        ("leaving", "OptBroke heuristic-fails", "SystemExit"),
    ],
)
def test_a_heuristic_to_blame_is_blamed_kernel_by_kernel(
    name: str, reason: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tampering.py").write_text(HEURISTICS)
    monkeypatch.syspath_prepend(str(tmp_path))
    paths = [str(corpus_root() / "seeds" / f"{name}.json") for name in ("dot", "matmul")]
    report = prove_kernels(ProveRequest(tuple(paths), optimizer=f"reference:tampering:{name}"))
    told = report.as_json()
    assert told["left_out"] == {reason: 2}
    assert told["faults"] == []
    assert sorted(one["kernel"] for one in told["left_out_first"]) == paths
    assert all(one["reason"] == reason for one in told["left_out_first"])
    assert all(says in one["detail"] for one in told["left_out_first"])
    lines = summary(report).splitlines()
    assert all(any(path in line and says in line for line in lines) for path in paths)


def test_what_is_told_has_the_order_of_the_kernels() -> None:
    report = ProveReport()
    for name in ("k:10", "k:2", "k:1"):
        report.add(Finished(name, reason="images"))
        report.add(Finished(name, fault="lost"))
    report.sort(["k:1", "k:2", "k:10"])
    told = report.as_json()
    assert [one["kernel"] for one in told["left_out_first"]] == ["k:1", "k:2", "k:10"]


def test_of_many_that_are_left_out_the_first_are_told() -> None:
    report = ProveReport()
    for number in range(30):
        report.add(Finished(f"k:{number}", reason="images", detail="of a kind"))
    told = report.as_json()
    assert told["left_out"] == {"images": 30}
    assert [one["kernel"] for one in told["left_out_first"]] == [f"k:{n}" for n in range(20)]
