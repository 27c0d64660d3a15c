"""`fuzz`: what its report says, and that a planted fault comes out of a whole campaign."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from kernelref.cases.case import Case, dump_case, parse_case, read_case, write_case
from kernelref.errors import InvalidInput
from kernelref.fuzzing.campaign_case import Plan, new_attempt
from kernelref.fuzzing.campaign_check import Ending, Stage
from kernelref.fuzzing.campaign_feedback import Feedback
from kernelref.fuzzing.campaign_result import CaseResult
from kernelref.fuzzing.campaign_store import StoredFinding
from kernelref.ir.builder import buffer, kernel
from kernelref.ir.dtype import INT32
from kernelref.ir.tinygrad_repr import Dialect
from kernelref.jobs.fuzz import FuzzRequest, fuzz, known_sequences
from kernelref.jobs.fuzz_devices import finished
from kernelref.jobs.fuzz_ran import subject_of
from kernelref.jobs.run_report import Ending as Ran
from kernelref.jobs.run_report import Pair
from kernelref.opt.opt import Opt, OptOps
from kernelref.optimizers.releases import installed
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
from kernelref.optimizers.releases import installed
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


def test_what_is_taken_of_a_file_is_told(tmp_path):
    line = text_of(kernel(buffer(1, (4,)) * 2.0), Dialect.V0_9_1)
    large = text_of(kernel(buffer(1, (1 << 20,)) * 2.0), Dialect.V0_9_1)
    vector = line.replace("dtypes.float", "dtypes._float4")
    dump = tmp_path / "dump.txt"
    dump.write_text("\n".join([line, "nonsense", large, vector] + 4 * [line]) + "\n")
    ended = command("fuzz", "--kernels", dump, "--cases", 2, "--jobs", 1, "--json")
    found = ended.object
    assert (found["listed"], found["looked_at"]) == (8, 8)
    assert found["left_out"] == {"large": 1, "vector-dtype": 1}
    assert "1 of 8 kernels looked at cannot be read" in ended.err
    ended = command("fuzz", "--kernels", dump, "--cases", 2, "--jobs", 1, "--sample", 7)
    assert "kernelref: 1 of 7 kernels looked at cannot be read; 8 are there" in ended.err
    assert "looked at 7 of 8 kernels; not taken: 1 large, 1 unreadable, 1 vector-dtype" in ended.out
    for text, said in ((large, "1 large"), (vector, "1 vector-dtype")):
        alone = tmp_path / f"{said}.txt"
        alone.write_text(f"{text}\n")
        ended = command("fuzz", "--kernels", alone, "--cases", 2, "--jobs", 1)
        assert ended.code == 5
        assert f"no-kernels: of 1 looked at: {said}" in ended.err


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
        "confirmed": "fresh",
        "file": "d/trap.json",
    }
    told = summary({**report, "findings": [found], "findings_total": 1})
    assert "case 7  2 alike  TRAP at plain: no opts" in told
    assert "kernelref show d/trap.json" in told
    assert "2 cases: random" in told
    assert "findings: 1 kind, the most" in told


def test_a_summary_says_which_findings_their_case_alone_does_not_show():
    report = fuzz(FuzzRequest(cases=1, jobs=1))
    kind = {"kind": "k", "stage": "device", "cases": 1, "first_case": 7, "file": "f"}
    after, alone = {**kind, "confirmed": "history"}, {**kind, "file": "g", "confirmed": "fresh"}
    told = summary({**report, "findings": [after, alone], "findings_total": 2})
    assert "only after other kernels: not in a process" in told
    assert told.endswith("try it again with `kernelref replay g`")
    told = summary({**report, "findings": [after], "findings_total": 1})
    assert "`kernelref replay f`, which need not end so" in told
    told = summary({**report, "findings": [alone], "findings_total": 1})
    assert "only after other kernels" not in told
    unsteady = {**kind, "confirmed": "unsteady"}
    told = summary({**report, "findings": [unsteady], "findings_total": 1})
    assert "not every time: the same text" in told
    assert "which need not end so" in told


needs_release = pytest.mark.skipif(installed("0.9.1") is None, reason="no tinygrad 0.9.1")


@needs_release
@needs_pocl
def test_a_finding_that_needs_the_kernels_before_it_says_so(tmp_path):
    """0.9.1 keeps constants between kernels, and takes -0.0 for the 0.0 that it has seen."""
    paths = []
    for name, zero in (("plus", 0.0), ("minus", -0.0)):
        x = buffer(1, (8,))
        path = tmp_path / f"{name}.json"
        write_case(Case(kernel((x < 2.0).where(zero, x).bitcast(INT32)), title=name), path)
        paths.append(str(path))
    store = tmp_path / "store"
    ended = command(
        "fuzz", "--optimizer", RELEASE, "--device", "pocl", "--cases", 2, "--jobs", 1,
        "--kernels", paths[0], "--kernels", paths[1], "--store", store, "--json",
    )  # fmt: skip
    (found,) = ended.object["findings"]
    assert ended.code == 1
    assert (found["first_case"], found["confirmed"]) == (1, "history")
    assert found["kind"] == "WRONG_VALUE (pocl) at device, only after other kernels"
    case = read_case(Path(found["file"]))
    assert (case.title.endswith("only after other kernels"), len(case.opts) > 0) == (True, True)
    run = command("run", found["file"], "--optimizer", RELEASE, "--device", "pocl", "--json")
    assert run.object["outcomes"] == {"PASS": 1}


@needs_release
@needs_pocl
def test_findings_that_need_nothing_before_them_are_confirmed(tmp_path):
    known = Path(__file__).parents[2] / "corpus" / "known"
    names = (
        "multiply-accumulate-without-text",
        "bool-arithmetic-in-int",
        "dependent-reduces-break",
    )
    given = [arg for name in names for arg in ("--kernels", known / f"{name}.json")]
    ended = command(
        "fuzz", "--optimizer", RELEASE, "--device", "pocl", "--cases", 3, "--jobs", 1, "--json",
        *given,
    )  # fmt: skip
    found = ended.object["findings"]
    assert {kind["confirmed"] for kind in found} == {"fresh"}
    ends = {(kind["kind"].split()[0], kind["stage"]) for kind in found}
    assert ends == {("WRONG_VALUE", "device"), ("BROKE", "device"), ("BROKE", "open")}


def test_the_inputs_of_a_device_are_those_that_the_case_file_draws():
    attempt = new_attempt(Plan(), 77, Feedback().steering())
    ast = kernel(buffer(1, (4,)) * 2.0)
    case = attempt.as_case(ast, Ending(Stage.DEVICE, Outcome.WRONG_VALUE))
    assert subject_of(attempt, case).seed == case.inputs.seed == 77


RELEASE, CHANGED = "tinygrad==0.9.1", "tinygrad@/a folder"


@pytest.mark.parametrize(
    ("optimizer", "kind", "command"),
    [
        ("reference", "TRAP at plain: no opts", "replay f --device interp"),
        ("reference", "WRONG_VALUE (x refuted) at proof: LOCAL", "prove f"),
        ("reference", "WRONG_VALUE (pocl) at device: LOCAL", "replay f --device pocl"),
        (RELEASE, "WRONG_VALUE at optimised: LOCAL+UPCAST", "replay f --device interp"),
        (
            RELEASE,
            "BROKE (IndexError: at x) at opts: TC",
            f"run f --optimizer {RELEASE} --device interp",
        ),
        ("reference", "BROKE (x) at opts: TC", "replay f --device interp"),
        (CHANGED, "BROKE (x) at open", f"run f --optimizer '{CHANGED}' --device interp"),
        (
            RELEASE,
            "BROKE (refusal-leaves-traces) at opts: TC",
            f"run f --optimizer {RELEASE} --device interp",
        ),
        (
            CHANGED,
            "BROKE (refusal-leaves-traces) at opts: TC",
            f"run f --optimizer '{CHANGED}' --device interp",
        ),
        (RELEASE, "BROKE (x) at device", f"run f --optimizer {RELEASE} --device pocl"),
        (CHANGED, "WRONG_VALUE (x refuted) at proof: TC", f"prove f --optimizer '{CHANGED}'"),
        (CHANGED, "CRASH (pocl) at device: TC", f"run f --optimizer '{CHANGED}' --device pocl"),
    ],
)
def test_the_command_that_tries_a_finding_again_fits_where_it_was_found(optimizer, kind, command):
    report = {"optimizer": optimizer, "devices": ["interp", "pocl"]}
    stage = StoredFinding(kind, 1, 0, "", None).stage
    found = {"kind": kind, "stage": stage, "file": "f"}
    assert again(report, found) == f"kernelref {command}"


def test_the_command_says_what_is_wrong_with_its_arguments(tmp_path):
    assert command("fuzz", "--cases", 1, "--optimizer", "nonsense").code == 2
    assert command("fuzz", "--cases", 1, "--device", "nonsense").code == 2
    assert command("fuzz", "--cases", 1, "--kernels", tmp_path / "none.json").code == 2
