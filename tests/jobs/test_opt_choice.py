from __future__ import annotations

import pytest

from kernelref.errors import InvalidInput
from kernelref.jobs.opt_choice import Actions, Listed, Named, RandomWalk, parse_opts
from kernelref.opt.opt import Opt, OptOps


@pytest.mark.parametrize(
    ("text", "choice"),
    [
        ("none", Named("none")),
        ("hand-coded", Named("hand-coded")),
        ("random:7:5", RandomWalk(7, 5)),
        ("actions:2", Actions(2)),
    ],
)
def test_choices(text, choice):
    assert parse_opts(text) == choice


@pytest.mark.parametrize(
    "text", ["", "random", "random:7", "random:-1:2", "random:1:2:3", "actions:x", "no/such/file"]
)
def test_other_words_are_refused(text):
    with pytest.raises(InvalidInput, match="--opts"):
        parse_opts(text)


def test_a_file_lists_opts(tmp_path):
    file = tmp_path / "opts.json"
    file.write_text('[["UPCAST", 0, 4], ["NOLOCALS", null, null]]')
    assert parse_opts(str(file)) == Listed(
        (Opt(OptOps.UPCAST, 0, 4), Opt(OptOps.NOLOCALS, None, None))
    )


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("{", "opts.json"),
        ("{}", "opts.json"),
        ('[["UPCAST", 0, 4], ["FLY", 0, 4]]', r"opts\[1\]"),
        ('[["UPCAST", 0]]', r"opts\[0\]"),
        ('[["UPCAST", true, 4]]', r"opts\[0\]"),
        ('[["UPCAST", "0", 4]]', r"opts\[0\]"),
        ("[" * 100_000, "opts.json"),
        (f'[["UPCAST", 0, {"1" * 5000}]]', "opts.json"),
        ('[["UPCAST", 0, NaN]]', "opts.json.*NaN"),
    ],
)
def test_a_malformed_file_names_its_place(tmp_path, text, where):
    file = tmp_path / "opts.json"
    file.write_text(text)
    with pytest.raises(InvalidInput, match=where):
        parse_opts(str(file))
