"""`fuzz`: what its report says, and that a planted fault comes out of a whole campaign."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from kernelref.cases.case import Case, dump_case, parse_case, read_case, write_case
from kernelref.errors import InvalidInput
from kernelref.fuzzing.campaign_case import CaseResult, Plan
from kernelref.fuzzing.campaign_check import Ending, Stage
from kernelref.fuzzing.campaign_store import StoredFinding
from kernelref.ir.builder import buffer, kernel
from kernelref.ir.tinygrad_repr import Dialect
from kernelref.jobs.fuzz import FuzzRequest, fuzz, known_sequences
from kernelref.jobs.fuzz_devices import finished
from kernelref.jobs.run_report import Ending as Ran
from kernelref.jobs.run_report import Pair
from kernelref.opt.opt import Opt, OptOps
from kernelref.report.fuzz import again, summary
from kernelref.run.outcome import Outcome
from tests.cli.command import command, documented
from tests.fuzzing.test_campaign import Inline
from tests.ir.print_text import text_of
from tests.jobs.test_run import needs_pocl


def test_a_small_campaign_is_clean_and_goes_on(tmp_path):
    first = fuzz(FuzzRequest(cases=24, jobs=1, store=tmp_path))
    assert first["cases"] == first["new_cases"] == 24
    assert set(first["outcomes"]) <= {"PASS", "UNSUPPORTED"}
    assert first["findings_total"] == 0
    again = fuzz(FuzzRequest(cases=40, jobs=1, store=tmp_path))
    assert (again["cases"], again["new_cases"]) == (40, 16)
    assert again["features"] >= first["features"]


def test_kernels_of_a_file_are_taken_in_turn(tmp_path):
    path = tmp_path / "one.json"
    write_case(Case(kernel(buffer(1, (12, 20)).sum(1)), title="rows"), path)
    report = fuzz(FuzzRequest(cases=6, jobs=1, kernels=(str(path),)))
    assert report["outcomes"] == {"PASS": 6}
    assert report["features"] == 3


HEURISTIC = """
from kernelref.opt.kernel import Kernel
from kernelref.opt.opt import Opt, OptOps
from kernelref.report.fuzz import summary


def groups(kernel):
    opts = [Opt(OptOps.GROUP, 0, 2), Opt(OptOps.UPCAST, 0, 2)]
    for opt in opts:
        after = kernel.attempt(opt)
        kernel = after if isinstance(after, Kernel) else kernel
    return kernel
"""


def test_a_heuristic_of_a_user_is_put_through_the_same(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(HEURISTIC)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    report = fuzz(FuzzRequest(cases=8, jobs=1, optimizer="reference:mine:groups"))
    assert report["cases"] == 8
    assert set(report["outcomes"]) <= {"PASS", "UNSUPPORTED"}
    sys.modules.pop("mine", None)


def test_a_heuristic_that_ends_its_process_is_blamed(tmp_path, monkeypatch):
    (tmp_path / "fatal.py").write_text(
        "import os\ndef killed(kernel):\n    os.kill(os.getpid(), 9)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    report = fuzz(FuzzRequest(cases=1, jobs=1, optimizer="reference:fatal:killed"))
    assert report["outcomes"] == {"CRASH": 1}
    assert report["findings"][0]["kind"] == "CRASH (heuristic) at opts: no opts"


def test_a_store_of_another_campaign_is_refused(tmp_path):
    fuzz(FuzzRequest(cases=1, jobs=1, store=tmp_path))
    with pytest.raises(InvalidInput, match="another seed"):
        fuzz(FuzzRequest(cases=1, jobs=1, seed=9, store=tmp_path))


def test_the_corpus_gives_sequences_to_change():
    assert any(len(sequence) > 1 for sequence in known_sequences())


PENDING = dump_case(
    Case(kernel(buffer(1, (4,)) * 2.0), title="not run yet", origin="seed 0, case 0: ")
)


def _ran(device: str, outcome: Outcome) -> Ran:
    return Ran(Pair("0", device), outcome, "element 3")


@pytest.mark.parametrize(
    ("outcomes", "stage", "outcome", "reason"),
    [
        ([Outcome.PASS, Outcome.PASS], Stage.OPTIMISED, Outcome.PASS, ""),
        ([Outcome.UNSUPPORTED, Outcome.PASS], Stage.OPTIMISED, Outcome.PASS, ""),
        ([Outcome.WRONG_VALUE, Outcome.PASS], Stage.DEVICE, Outcome.WRONG_VALUE, "oclgrind"),
        ([Outcome.CRASH, Outcome.CRASH], Stage.DEVICE, Outcome.CRASH, "oclgrind+pocl"),
    ],
)
def test_a_device_that_disagrees_is_named(outcomes, stage, outcome, reason):
    result = CaseResult(0, Ending(Stage.OPTIMISED, Outcome.PASS), case=PENDING)
    ends = [_ran(name, o) for name, o in zip(("oclgrind", "pocl"), outcomes, strict=True)]
    found = finished(result, ends)
    assert (found.ending.stage, found.ending.outcome) == (stage, outcome)
    assert found.ending.reason == reason
    assert len(found.not_run) == outcomes.count(Outcome.UNSUPPORTED)
    assert bool(found.case) == found.is_finding
    if found.is_finding:
        case = parse_case(found.case)
        assert case.title == f"{outcome.value} at device"
        assert case.origin == f"seed 0, case 0: {found.ending.detail}"
        assert case.expect.outcome == outcome.value


def test_what_a_device_says_of_a_finding_stands_with_it():
    ending = Ending(Stage.OPTIMISED, Outcome.WRONG_VALUE, "host")
    found = finished(CaseResult(0, ending, case=PENDING), [_ran("pocl", Outcome.WRONG_VALUE)])
    assert found.ending.detail == "host [pocl: WRONG_VALUE element 3]"
    assert parse_case(found.case).title == "WRONG_VALUE at optimised"
    assert parse_case(found.case).origin.endswith(found.ending.detail)


def test_findings_come_out_of_a_campaign_as_case_files(tmp_path, monkeypatch):
    """A worker that tells of a fault: one kind, the first case of it, and its file."""
    text = dump_case(Case(kernel(buffer(1, (4,)) * 2.0), title="planted"))

    def work(plan: Plan, chunk):
        return [
            CaseResult(
                number,
                Ending(Stage.OPTIMISED, Outcome.WRONG_VALUE if number % 5 == 3 else Outcome.PASS),
                (Opt(OptOps.LOCAL, 0, 2),),
                case=text,
            )
            for number in chunk.numbers
        ]

    monkeypatch.setattr("kernelref.jobs.fuzz.work", work)
    monkeypatch.setattr("kernelref.jobs.fuzz.process_pool", lambda jobs: Inline())
    report = fuzz(FuzzRequest(cases=20, jobs=1, store=tmp_path))
    (found,) = report["findings"]
    assert found["kind"] == "WRONG_VALUE at optimised: LOCAL"
    assert (found["cases"], found["first_case"]) == (4, 3)
    assert read_case(Path(found["file"])).title == "planted"


def test_the_command_prints_what_the_docs_say(tmp_path):
    ended = command("fuzz", "--cases", 5, "--jobs", 1, "--json", "--store", tmp_path)
    assert ended.code == 0
    assert set(ended.object) == documented("fuzz")
    told = command("fuzz", "--cases", 5, "--jobs", 1, "--store", tmp_path)
    assert told.code == 0
    assert "5 cases: random kernels under random opts, seed 0 (0 in" in told.out
    assert "5 more by earlier calls" in told.out


@needs_pocl
def test_each_case_of_a_few_comes_back_from_the_device():
    report = fuzz(FuzzRequest(cases=3, jobs=1, devices=("interp", "pocl")))
    assert sum(report["outcomes"].values()) == 3
    assert "and on pocl" in summary(report)


def test_lines_that_cannot_be_read_are_named_whatever_the_others_do(tmp_path):
    line = text_of(kernel(buffer(1, (4,)) * 2.0), Dialect.V0_9_1)
    half, junk = tmp_path / "half.txt", tmp_path / "junk"
    half.write_text(f"{line[:80]}\n{line}\n")
    junk.write_bytes(bytes(range(128, 256)))
    for path, cases in ((half, 2), (junk, 0)):
        ended = command("fuzz", "--kernels", path, "--cases", 2, "--jobs", 1, "--json")
        assert ended.code == 2
        assert f"{path}:1:" in ended.err
        assert len(ended.object["unreadable"]) == 1
        assert ended.object["cases"] == cases


def test_a_campaign_that_executed_nothing_is_not_clean(tmp_path):
    path = tmp_path / "large.json"
    write_case(Case(kernel(buffer(1, (1 << 20,)) * 2.0), title="large"), path)
    assert command("fuzz", "--kernels", path, "--cases", 2, "--jobs", 1).code == 5


def test_a_summary_names_findings_and_how_to_see_one():
    report = fuzz(FuzzRequest(cases=2, jobs=1))
    assert "findings: none" in summary(report)
    found = {
        "kind": "TRAP at plain: no opts",
        "stage": "plain",
        "cases": 2,
        "first_case": 7,
        "file": "d/trap.json",
    }
    told = summary({**report, "findings": [found], "findings_total": 1})
    assert "case 7  2 alike  TRAP at plain: no opts" in told
    assert "kernelref show d/trap.json" in told
    assert "2 cases: random" in told
    assert "findings: 1 kind, the most" in told


RELEASE, CHANGED = "tinygrad==0.9.1", "tinygrad@/a folder"


@pytest.mark.parametrize(
    ("optimizer", "kind", "command"),
    [
        ("reference", "TRAP at plain: no opts", "replay f --device interp"),
        ("reference", "WRONG_VALUE (x refuted) at proof: LOCAL", "prove f"),
        ("reference", "WRONG_VALUE (pocl) at device: LOCAL", "replay f --device pocl"),
        (RELEASE, "WRONG_VALUE at optimised: LOCAL+UPCAST", "replay f --device interp"),
        (RELEASE, "BROKE (IndexError: at x) at opts: TC", "replay f --device interp"),
        (RELEASE, "BROKE (x) at device", f"run f --optimizer {RELEASE} --device pocl"),
        (CHANGED, "WRONG_VALUE (x refuted) at proof: TC", f"prove f --optimizer '{CHANGED}'"),
        (CHANGED, "CRASH (pocl) at device: TC", f"run f --optimizer '{CHANGED}' --device pocl"),
    ],
)
def test_the_command_that_tries_a_finding_again_fits_where_it_was_found(optimizer, kind, command):
    report = {"optimizer": optimizer, "devices": ["interp", "pocl"]}
    stage = StoredFinding(kind, 1, 0, "", None).stage
    assert again(report, {"stage": stage, "file": "f"}) == f"kernelref {command}"


def test_the_command_says_what_is_wrong_with_its_arguments(tmp_path):
    assert command("fuzz", "--cases", 1, "--optimizer", "nonsense").code == 2
    assert command("fuzz", "--cases", 1, "--device", "nonsense").code == 2
    assert command("fuzz", "--cases", 1, "--kernels", tmp_path / "none.json").code == 2
