"""docs/legality.md is what the tables say."""

from __future__ import annotations

from pathlib import Path

from kernelref.opt.legality import page
from kernelref.opt.rules.sets import RULE_SETS
from kernelref.opt.rules.table import RULES

PAGE = Path(__file__).parents[2] / "docs" / "legality.md"


def test_the_page_is_the_table() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "python -m kernelref.opt.legality " + str(
        PAGE
    )


def test_every_check_is_on_the_page() -> None:
    text = page()
    for rules in RULE_SETS.values():
        for op, checks in rules.checks.items():
            assert f"## {op.value}" in text
            assert RULES[op].law in text
            for check in checks:
                assert check.name in text
                assert check.says in text


def test_a_release_gives_its_words_for_every_check() -> None:
    for rules in RULE_SETS.values():
        for checks in rules.checks.values():
            for check in checks:
                assert bool(check.upstream) == rules.is_release
                assert not (check.breaks and not rules.is_release)
