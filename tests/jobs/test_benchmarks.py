"""The benchmarks that read kernels take every case of the corpus, and time what `run` runs."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from kernelref.codegen.target import FULL
from kernelref.jobs.bench import BenchRequest, measure
from kernelref.jobs.benchmarks import interp
from kernelref.run.devices import INTERPRETER
from kernelref.run.outcome import Outcome
from tests.cli.command import command
from tests.jobs.run_cases import MATMUL, source_of

CORPUS = BenchRequest(("corpus",), sample=None, seed=0, devices=(INTERPRETER,))
TARGET = replace(FULL, name=INTERPRETER)


@pytest.mark.parametrize("what", ["read", "host", "device", "oracle", "interp"])
def test_every_case_of_the_corpus_is_measured(what):
    progress: list[int] = []
    found = measure(what, CORPUS, lambda done, total, note="": progress.append(done))
    assert found.get("findings", []) in ([], 0)
    assert progress[-1] >= 200
    measured = found.get("kernels") or found.get("pairs") or sum(found["outcomes"].values())
    assert measured == progress[-1]


@pytest.mark.parametrize("what", ["read", "host", "device", "oracle", "interp", "reach"])
def test_a_line_that_cannot_be_read_is_wrong_input_and_no_finding(tmp_path, what):
    dump = tmp_path / "dump.txt"
    dump.write_text("(nonsense\n")
    ended = command("bench", what, dump, "--device", "interp", "--cases", 1, "--json")
    assert ended.code == 2
    assert f"{dump}:1:" in ended.err
    assert len(ended.object["unreadable"]) == 1
    assert not ended.object.get("findings")
    assert not ended.object.get("kernels")


def test_a_wrong_kernel_is_a_finding(tmp_path, monkeypatch):
    source = source_of(tmp_path, MATMUL)
    ending, _ = interp.timed(source, random.Random(1), TARGET, seed=0, length=0)
    assert ending is not None
    assert ending.outcome is Outcome.PASS
    assert ending.outputs_checked == 32
    right = interp.launch_program

    def off_by_one(*arguments, **how):
        result = right(*arguments, **how)
        return replace(result, outputs={n: out + 1 for n, out in result.outputs.items()})

    monkeypatch.setattr(interp, "launch_program", off_by_one)
    ending, _ = interp.timed(source, random.Random(1), TARGET, seed=0, length=0)
    assert ending is not None
    assert ending.outcome is Outcome.WRONG_VALUE
