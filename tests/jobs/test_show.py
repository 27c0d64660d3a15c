from __future__ import annotations

import json
from pathlib import Path

import pytest

from kernelref.cases.corpus import corpus_root
from kernelref.jobs.show import look_at, spell_map
from kernelref.opt.axis import AxisType
from kernelref.opt.axismap import identity, steps_map
from kernelref.opt.rules.step import Pad, Split, Step

SPLIT = Split(axis=1, amount=4, place=2, made=AxisType.UPCAST)


@pytest.mark.parametrize(
    ("steps", "law"),
    [
        ((SPLIT,), ("before 1 = after 1 * 4 + after 2",)),
        ((Pad(axis=0, multiple=4),), ("real where after 0 < 6",)),
        (
            (Pad(axis=0, multiple=4), SPLIT),
            ("before 1 = after 1 * 4 + after 2", "real where after 0 < 6"),
        ),
    ],
)
def test_a_map_is_spelled_as_its_law(steps: tuple[Step, ...], law: tuple[str, ...]) -> None:
    assert spell_map(steps_map((6, 16), steps)) == law


def test_axes_that_only_moved_are_left_out() -> None:
    assert spell_map(identity((6, 16))) == ()


def test_each_accepted_opt_shows_its_map_and_a_refused_one_its_check(tmp_path: Path) -> None:
    opts = tmp_path / "opts.json"
    opts.write_text(json.dumps([["UPCAST", 0, 4], ["UPCAST", 0, 7]]))
    look = look_at(
        str(corpus_root() / "seeds" / "matmul.json"), opts=str(opts), rules=None, limits=None
    )
    start, accepted, refused = look.steps
    assert start.law == ()
    assert accepted.law == ("before 0 = after 0 * 4 + after 3",)
    assert (refused.law, refused.refused_by) == ((), "amount-divides")
    assert look.as_json()["steps"][1]["map"] == list(accepted.law)
