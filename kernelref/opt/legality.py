"""The legality table: every check of the four rule sets, as a page for people.

`python -m kernelref.opt.legality docs/legality.md` writes it; a test holds the page to the tables.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from kernelref.opt.opt import OptOps
from kernelref.opt.rules.check import Check
from kernelref.opt.rules.record import OptRule, SplitRule
from kernelref.opt.rules.ruleset import RuleSet
from kernelref.opt.rules.sets import RULE_SETS
from kernelref.opt.rules.table import RULES

_RELEASES = ("tinygrad-0.8.0", "tinygrad-0.9.0", "tinygrad-0.9.1")


@dataclass(frozen=True, slots=True)
class Beside:
    """A condition that is looked at elsewhere than in the table of checks."""

    name: str
    says: str
    rule_sets: tuple[str, ...]
    op: OptOps | None = None
    breaks: bool = False


BESIDE_THE_TABLE: tuple[Beside, ...] = (
    Beside("op-exists", "the rule set has the opt", tuple(RULE_SETS)),
    Beside(
        "tensor-core-fits", "a tensor core of the device fits all reductions alike",
        ("sound", "tinygrad-0.9.0", "tinygrad-0.9.1"), OptOps.TC,
    ),
    Beside(
        "axis-names-a-choice", "a negative axis counts no further back than there are choices",
        _RELEASES[1:], OptOps.TC, breaks=True,
    ),
    Beside(
        "reduces-fit-alike", "all reductions fit the tensor core alike", ("tinygrad-0.9.1",),
        OptOps.TC, breaks=True,
    ),
    Beside("outputs", "construction: one output", ("tinygrad-0.8.0",), breaks=True),
    Beside("reduces", "construction: at most one reduction", _RELEASES[:2], breaks=True),
    Beside(
        "reduce-shape", "construction: every reduction has the output's shape",
        ("tinygrad-0.9.1",), breaks=True,
    ),
    Beside(
        "reshape", "construction: what has extent 1 in the full-shape buffer has it in all",
        _RELEASES, breaks=True,
    ),
    Beside(
        "unit-stride-axis", "heuristics: an image output has a unit-stride axis that 4 divides",
        _RELEASES, breaks=True,
    ),
    Beside(
        "reduced-axis-exists", "heuristics: a matrix-vector kernel has a reduced axis", _RELEASES,
        breaks=True,
    ),
    Beside(
        "one-unit-stride-axis", "heuristics: a grouped image output has one unit-stride axis",
        _RELEASES, breaks=True,
    ),
    Beside(
        "n-differs-from-m", "heuristics: N and M of a tensor core are two axes",
        ("tinygrad-0.8.0",), breaks=True,
    ),
)  # fmt: skip


def page() -> str:
    """The whole page as Markdown."""
    lines = [
        "# Legality",
        "",
        "Generated from the tables in `kernelref/opt/rules` by `python -m kernelref.opt.legality`.",
        "",
        "Checks are looked at from left to right; the first that does not hold is the reason.",
        "*Italic*: not a refusal but a fall, where a release never looks and fails in another way.",
        "",
    ]
    for op in OptOps:
        lines += _section(RULES[op])
    lines += ["## Beside the tables", "", "| check | holds when | rule sets |", "|---|---|---|"]
    for extra in BESIDE_THE_TABLE:
        name = _styled(extra.name, breaks=extra.breaks)
        lines.append(f"| {name} | {extra.says} | {', '.join(extra.rule_sets)} |")
    return "\n".join([*lines, "", *_glossary(), ""])


def _section(rule: OptRule) -> list[str]:
    lines = [f"## {rule.op.value}", "", f"Rewrite: {rule.rewrite}. Law: {rule.law}."]
    lines.append(f"Axis counted from: {rule.origin.value}. {_placed(rule)}".rstrip())
    lines += ["", "| rule set | checks |", "|---|---|"]
    for rules in RULE_SETS.values():
        lines.append(f"| {rules.name} | {_row(rules, rule.op)} |")
    return [*lines, ""]


def _placed(rule: OptRule) -> str:
    if not isinstance(rule.family, SplitRule):
        return ""
    part = "outer" if rule.family.outer else "inner"
    return f"The {part} part becomes {rule.family.made.name} and goes {rule.family.place.value}."


def _row(rules: RuleSet, op: OptOps) -> str:
    if op not in rules.checks:
        return "no such opt"
    return ", ".join(_styled(check.name, breaks=check.breaks) for check in rules.checks[op])


def _styled(name: str, *, breaks: bool) -> str:
    return f"*{name}*" if breaks else name


def _glossary() -> list[str]:
    """What each check asks, and the words of the release where it has some."""
    found: dict[tuple[str, str], tuple[Check, list[str]]] = {}
    for rules in RULE_SETS.values():
        for checks in rules.checks.values():
            for check in checks:
                entry = found.setdefault((check.name, check.says), (check, []))
                if rules.name not in entry[1]:
                    entry[1].append(rules.name)
    lines = [
        "## Checks",
        "",
        "| check | holds when | rule sets | upstream says |",
        "|---|---|---|---|",
    ]
    for (name, says), (check, names) in sorted(found.items()):
        words = f"`{check.upstream}`" if check.upstream else ""
        styled = _styled(name, breaks=check.breaks)
        lines.append(f"| {styled} | {says} | {', '.join(names)} | {words} |")
    return lines


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")
