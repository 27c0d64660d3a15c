"""README says only what runs: its commands exist, with the flags it gives them."""

from __future__ import annotations

import re
import shlex

import pytest

from kernelref.cli.app import app
from tests.repo.packages import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```\n(.*?)```", README, re.DOTALL)
LINES = [line.split("#")[0].strip() for block in BLOCKS for line in block.splitlines()]
VERB_LINES = [line for line in LINES if line.startswith("kernelref ")]
MAKE_LINES = [line for line in LINES if line.startswith("make ")]


def flags_of(verb: str) -> set[str]:
    import typer

    command = typer.main.get_command(app).commands[verb]
    return {flag for parameter in command.params for flag in parameter.opts}


@pytest.mark.parametrize("line", VERB_LINES)
def test_a_command_exists_with_its_flags(line):
    _, verb, *rest = shlex.split(line)
    assert {word for word in rest if word.startswith("--")} <= flags_of(verb)


@pytest.mark.parametrize("line", MAKE_LINES)
def test_a_make_target_exists(line):
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert line.split()[1] in targets


def test_the_first_screen_says_what_it_must():
    screen = "\n".join(README.splitlines()[:40])
    assert {"make fuzz", "make test"} <= set(MAKE_LINES)
    for words in ("0.8.0", "0.9.0", "0.9.1", "master is not among them", "make fuzz", "make test"):
        assert words in screen


def test_every_verb_is_in_the_readme():
    from kernelref.cli.app import VERBS

    assert {shlex.split(line)[1] for line in VERB_LINES} == set(VERBS)
