"""A signal ends long work early: what is known by then is told, and the exit code says so."""

from __future__ import annotations

import pytest

from kernelref.cli.exits import Exit
from kernelref.jobs import conform, prove, selftest
from kernelref.optimizers.releases import installed
from tests.cli.command import Ended, command, documented

SEEDS = ("corpus/seeds/dot.json", "corpus/seeds/matmul.json", "corpus/seeds/diagonal.json")


def interrupted_after(count: int, function):
    """The function; the call after `count` of them is interrupted."""
    calls = []

    def call(*arguments, **named):
        calls.append(arguments)
        if len(calls) > count:
            raise KeyboardInterrupt
        return function(*arguments, **named)

    return call


def check(ended: Ended, verb: str) -> None:
    assert ended.code == Exit.INTERRUPTED
    assert ended.object["interrupted"] is True
    assert ended.object.keys() == documented(verb)


def test_prove_tells_what_was_proved(monkeypatch):
    proving = interrupted_after(2, prove.prove_places)
    monkeypatch.setattr(prove, "prove_places", proving)
    ended = command("prove", *SEEDS, "--jobs", 1, "--json")
    check(ended, "prove")
    assert ended.object["stopped_early"] is True
    assert ended.object["kernels"] == 2
    assert ended.object["proved"] == ended.object["obligations"] > 0


def test_a_proof_that_came_to_its_end_says_so():
    ended = command("prove", SEEDS[0], "--json")
    assert ended.code == Exit.CLEAN
    assert ended.object["interrupted"] is False


def test_prove_tells_a_person_why_it_stopped(monkeypatch):
    monkeypatch.setattr(prove, "prove_places", interrupted_after(1, prove.prove_places))
    ended = command("prove", *SEEDS, "--jobs", 1)
    assert ended.code == Exit.INTERRUPTED
    assert "stopped early: interrupted" in ended.out


@pytest.mark.skipif(installed("0.9.1") is None, reason="no release is here")
@pytest.mark.parametrize("step", ["_heuristics", "_walk"])
def test_conform_tells_what_was_compared(monkeypatch, step):
    stopping = interrupted_after(2, getattr(conform.Conform, step))
    monkeypatch.setattr(conform.Conform, step, stopping)
    kernels = [f"--kernels={path}" for path in SEEDS]
    ended = command("conform", *kernels, "--sequences", 9, "--json")
    check(ended, "conform")
    assert ended.object["kernels"] == (2 if step == "_heuristics" else 3)
    assert ended.object["sequences"] == (0 if step == "_heuristics" else 3)


def test_selftest_tells_what_was_planted(monkeypatch):
    def one_kill(mutants, *_arguments, **_named):
        raise KeyboardInterrupt
        yield

    monkeypatch.setattr(selftest, "kills", one_kill)
    ended = command("selftest", "pad-without-mask", "--quick", "--json")
    check(ended, "selftest")
    assert ended.object["questions"] > 0


def test_selftest_is_interrupted_before_it_planted_anything(monkeypatch):
    monkeypatch.setattr(selftest, "make_suite", interrupted_after(0, selftest.make_suite))
    ended = command("selftest", "pad-without-mask", "--quick", "--json")
    check(ended, "selftest")
    assert ended.object["mutants"] == 0
