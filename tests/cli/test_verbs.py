from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import pytest

from kernelref.cases.corpus import corpus_root
from kernelref.cli.app import VERBS
from kernelref.cli.exits import Exit
from kernelref.optimizers.releases import installed
from tests.cli.command import command, counts_in, documented
from tests.jobs.run_cases import ADD, BAD_UPCAST, MATMUL, UPCAST, case_file
from tests.jobs.test_run import LINE

HERE = ("--device", "interp", "--jobs", 1)
MEASURES = {"seconds", "per_second"}


def test_every_verb_explains_itself():
    listed = command("--help").out
    for name in VERBS:
        assert f"\n  {name}" in listed
        shown = command(name, "--help")
        assert shown.code == Exit.CLEAN
        assert "--json" in shown.out


def test_loading_the_command_line_loads_no_device_and_no_solver():
    loaded = subprocess.run(
        [sys.executable, "-c", "import kernelref.cli.app, sys; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert not {"pyopencl", "z3", "hypothesis", "numpy", "rich.progress"} & set(loaded)


def test_run_prints_one_object_with_the_keys_that_are_documented(tmp_path):
    case_file(tmp_path, "good", ADD)
    case_file(tmp_path, "skips", MATMUL, opts=(BAD_UPCAST,))
    ended = command("run", tmp_path, "--json", *HERE)
    assert ended.code == Exit.CLEAN
    assert ended.object.keys() == documented("run")
    assert ended.object["outcomes"] == {"PASS": 2}
    for path, number in counts_in(ended.object):
        assert isinstance(number, int) or path in MEASURES, path


def test_run_tells_a_person_what_it_did(tmp_path):
    case_file(tmp_path, "good", ADD)
    ended = command("run", tmp_path, *HERE)
    assert ended.code == Exit.CLEAN
    assert "1 kernel read, 1 run on interp" in ended.out
    assert "32 of 32 compared" in ended.out


def test_a_run_of_which_every_opt_is_refused_ends_in_5(tmp_path):
    case = case_file(tmp_path, "one", MATMUL)
    opts = tmp_path / "opts.txt"
    opts.write_text('[["UPCAST", 0, 5]]')
    ended = command("run", case, "--opts", opts, *HERE)
    assert ended.code == Exit.NOTHING_DONE
    assert "0 of 1 opt applied: refused because 1 amount-divides" in ended.out
    assert "1 ran without any of the opts asked for" in ended.out
    ended = command("run", case, "--opts", opts, "--json", *HERE)
    assert ended.code == Exit.NOTHING_DONE
    assert ended.object["skipped_opts"] == {"amount-divides": 1}


@pytest.mark.parametrize(
    "arguments",
    [("prove", "FILE"), ("conform", "--kernels", "FILE"), ("run", "FILE", *HERE)],
    ids=lambda arguments: arguments[0],
)
def test_of_how_many_some_cannot_be_read_is_said(tmp_path, arguments):
    if arguments[0] == "conform" and installed("0.9.1") is None:
        pytest.skip("no release is here")
    dump = tmp_path / "dump.txt"
    dump.write_text(3 * "nonsense\n" + f"{LINE}\n")
    ended = command(*(dump if word == "FILE" else word for word in arguments), "--sample", 3)
    if arguments[0] == "run":  # which reads them all
        assert "kernelref: 3 of 4 kernels looked at cannot be read\n" in ended.err
    else:
        named = sum(f"{dump}:{line}:" in ended.err for line in (1, 2, 3))
        said = f"kernelref: {named} of 3 kernels looked at cannot be read; 4 are there\n"
        assert said in ended.err
    assert ended.code == Exit.BAD_INPUT


BEFORE = LINE.replace("offset=0", "offset=-2", 1).replace("contiguous=True", "contiguous=False", 1)


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "FILE", *HERE),
        ("prove", "FILE"),
        ("fuzz", "--kernels", "FILE", "--cases", 2, "--jobs", 1),
        ("conform", "--kernels", "FILE"),
        ("import", "FILE", "--out", "OUT"),
        ("bench", "host", "FILE"),
        ("bench", "oracle", "FILE"),
        ("show", "FILE:1"),
    ],
    ids=lambda arguments: " ".join(map(str, arguments[:2])),
)
def test_a_kernel_that_reads_before_its_buffer_is_bad_input(tmp_path, arguments):
    if arguments[0] == "conform" and installed("0.9.1") is None:
        pytest.skip("no release is here")
    dump = tmp_path / "dump.txt"
    dump.write_text(f"{BEFORE}\n{LINE}\n")
    places = {"FILE": dump, "FILE:1": f"{dump}:1", "OUT": tmp_path / "out"}
    ended = command(*(places.get(word, word) for word in arguments))
    assert ended.code == Exit.BAD_INPUT
    lines = ended.err.splitlines()
    says = f"{dump}:1: STORE 0 > LOAD 1: reaches element -2 of its buffer"
    assert f"kernelref: {says}" in lines


def test_what_is_named_twice_is_run_once(tmp_path):
    path = case_file(tmp_path, "one", ADD)
    twice = (path, path, tmp_path, "--device", "interp")
    ended = command("run", *twice, *HERE, "--json")
    assert ended.object["devices"] == ["interp"]
    assert (ended.object["read"], ended.object["pairs"]) == (1, 1)
    ended = command("replay", *twice, "--device", "interp", "--json")
    assert ended.object["devices"] == ["interp"]
    assert (ended.object["cases"], ended.object["outcomes"]) == (1, {"PASS": 1})
    ended = command("fuzz", "--cases", 1, "--jobs", 1, *(2 * ("--device", "interp")), "--json")
    assert ended.object["devices"] == ["interp"]


def test_a_file_that_cannot_be_read_is_bad_input_but_the_rest_runs(tmp_path):
    case_file(tmp_path, "good", ADD)
    (tmp_path / "bad.json").write_text('{"schema": 1}')
    ended = command("run", tmp_path, "--json", *HERE)
    assert ended.code == Exit.BAD_INPUT
    assert ended.object["outcomes"] == {"PASS": 1}
    assert "bad.json" in ended.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("run", "no-such-file"), "no-such-file"),
        (("run", "corpus", "--opts", "luck"), "--opts luck"),
        (("run", "corpus", "--rules", "lax"), "--rules lax"),
        (("run", "corpus", "--device", "abacus"), "abacus"),
        (("run", "corpus", "--budget", "soon"), "soon"),
        (("run", "corpus", "--sample", "0"), "--sample"),
        (("run",), "KERNELS"),
        (("run", "corpus", "--jobs", "100000"), "less than or equal to 512"),
        (("prove", "corpus", "--jobs", "0"), "greater than or equal to 1"),
        (("fuzz", "--jobs", "513"), "less than or equal to 512"),
        (("selftest", "--jobs", "513"), "less than or equal to 512"),
        (("prove", "corpus", "--engines", ""), "--engines"),
        (("show", "no-such-file"), "no-such-file"),
        (("replay", "no-such-file"), "no-such-file"),
        (("import", "no-such-file"), "no-such-file"),
        (("bench", "nothing"), "nothing"),
        (("fly",), "fly"),
    ],
)
def test_bad_input_is_named_and_ends_in_2(arguments, said):
    ended = command(*arguments)
    assert ended.code == Exit.BAD_INPUT
    assert said in ended.err
    assert not ended.out


@pytest.mark.parametrize(
    "text",
    [
        f'{{"shared_max": {"1" * 5000}}}',
        '{"preset": "clang", "preset": "metal"}',
        '{"local_max": [1, 2]}',
        '{"shared_max": NaN}',
        "3",
        "",
    ],
)
def test_malformed_limits_name_their_file(tmp_path, text):
    case, limits = case_file(tmp_path, "one", ADD), tmp_path / "limits.json"
    limits.write_text(text)
    ended = command("show", case, "--limits", limits)
    assert ended.code == Exit.BAD_INPUT
    assert "limits.json" in ended.err


def test_an_interrupted_replay_ends_in_130(tmp_path, monkeypatch):
    from kernelref.jobs import replay

    def stopped(*_arguments):
        return SimpleNamespace(interrupted=True)

    case_file(tmp_path, "one", ADD)
    monkeypatch.setattr(replay, "run_kernels", stopped)
    ended = command("replay", tmp_path, "--json", "--device", "interp")
    assert ended.code == Exit.INTERRUPTED
    assert ended.object["interrupted"] is True


def test_replay_holds_cases_to_what_they_say(tmp_path):
    from kernelref.cases.case import Expect

    good, bad = tmp_path / "good", tmp_path / "bad"
    good.mkdir()
    bad.mkdir()
    case_file(good, "passes", ADD)
    case_file(good, "refused", MATMUL, opts=(BAD_UPCAST,), expect=Expect(False, "REFUSED"))
    ended = command("replay", good, "--json", "--device", "interp")
    assert ended.code == Exit.CLEAN
    assert ended.object.keys() == documented("replay")
    assert (ended.object["as_expected"], ended.object["failed"]) == (2, 0)
    case_file(bad, "now-refused", MATMUL, opts=(BAD_UPCAST,))
    case_file(bad, "now-right", ADD, expect=Expect(True, "WRONG_VALUE"))
    ended = command("replay", bad, "--device", "interp")
    assert ended.code == Exit.FINDING
    assert "must be legal" in ended.out
    assert "not in WRONG_VALUE" in ended.out


def test_show_prints_ast_axes_index_maps_and_text(tmp_path):
    case = case_file(tmp_path, "one", MATMUL, opts=(UPCAST, BAD_UPCAST))
    ended = command("show", case)
    assert ended.code == Exit.CLEAN
    for part in (
        "SUM over",
        "8:global",
        "16:reduce",
        "refused by amount-divides: found",
        "__kernel void",
    ):
        assert part in ended.out
    found = command("show", case, "--json", "--opts", "none").object
    assert found.keys() == documented("show")
    assert [step["opt"] for step in found["steps"]] == [None]
    assert {b["name"] for b in found["buffers"]} == {"store 0", "load 1", "load 2"}


@pytest.mark.parametrize(
    ("name", "code", "said"),
    [
        ("known/siblings-cut-to-one-length", Exit.NOTHING_DONE, "extents-differ"),
        ("known/unroll-negative-axis", Exit.NOTHING_DONE, "counters-do-not-fit"),
        ("regress/in-place-transposed", Exit.NOTHING_DONE, "in-place-hazard"),
        ("known/dependent-reduces-break", Exit.FINDING, "breaks (AssertionError)"),
    ],
)
def test_show_shows_what_there_is_of_a_kernel_that_has_no_text(name, code, said):
    ended = command("show", corpus_root() / f"{name}.json")
    assert ended.code == code
    assert "STORE" in ended.out
    assert said in ended.out
    found = command("show", corpus_root() / f"{name}.json", "--json").object
    assert found.keys() == documented("show")
    assert said in found["fault"]


def test_show_wants_one_kernel(tmp_path):
    case_file(tmp_path, "one", ADD)
    case_file(tmp_path, "two", ADD)
    assert command("show", tmp_path).code == Exit.BAD_INPUT


def test_import_makes_cases_that_show_can_read(tmp_path):
    log = tmp_path / "search.log"
    opt = "Opt(op=OptOps.UPCAST, axis=0, amt=5)"
    log.write_text(f"({LINE}, [{opt}])\n({LINE}, [])\n")
    ended = command("import", log, "--out", tmp_path / "cases", "--json")
    assert ended.code == Exit.CLEAN
    assert ended.object.keys() == documented("import")
    assert ended.object["written"] == 2
    shown = command("show", ended.object["cases"][0], "--json").object
    assert [step["opt"] for step in shown["steps"]] == [None, "UPCAST(0, 5)"]
    one = command("import", log, "--out", tmp_path / "more", "--line", 2, "--json")
    assert one.object["written"] == 1


def test_import_writes_what_can_be_read_and_names_the_rest(tmp_path):
    log = tmp_path / "search.log"
    log.write_text(f"({LINE}, [])\n({LINE}, [\n")
    ended = command("import", log, "--out", tmp_path / "cases", "--json")
    assert ended.code == Exit.BAD_INPUT
    assert ended.object.keys() == documented("import")
    assert (ended.object["lines"], ended.object["written"]) == (2, 1)
    assert len(ended.object["unreadable"]) == 1
    assert f"{log}:2:" in ended.err
    told = command("import", log, "--out", tmp_path / "cases")
    assert told.out.splitlines() == ended.object["cases"]
    assert "1 case of 2 lines; unreadable: 1" in told.err
    assert told.code == Exit.BAD_INPUT


def test_doctor_says_what_is_here_and_what_is_skipped():
    ended = command("doctor", "--json")
    assert ended.code == Exit.CLEAN
    assert ended.object.keys() == documented("doctor")
    assert {"pocl", "oclgrind", "interp"} <= {d["name"] for d in ended.object["devices"]}
    assert "releases:" in command("doctor").out


@pytest.mark.skipif(installed("0.9.1") is None, reason="tinygrad 0.9.1 is not installed")
def test_conform_compares_with_a_release(tmp_path):
    case_file(tmp_path, "one", MATMUL)
    flags = ("--kernels", tmp_path, "--sequences", 2, "--length", 3)
    ended = command("conform", *flags, "--json")
    assert ended.code == Exit.CLEAN
    assert ended.object.keys() == documented("conform")
    assert ended.object["hand_coded_equal"] == ended.object["kernels"] == 1
    assert "1 of 1 hand-coded alike" in command("conform", *flags).out


@pytest.mark.parametrize("what", ["oracle", "interp"])
def test_bench_compares_too(what):
    ended = command("bench", what, "--sample", 2, "--json")
    assert ended.code == Exit.CLEAN
    assert ended.object["findings"] == []


@pytest.mark.parametrize("what", ["read", "host"])
def test_bench_prints_figures(what):
    ended = command("bench", what, "--sample", 2, "--json")
    assert ended.code == Exit.CLEAN
    assert documented("bench") <= ended.object.keys()
    assert ended.object["kernels"] == 2
