"""Which opts, rules and limits apply to one kernel: the flags', else the case's own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from kernelref.cases.json_text import faults_in, parse_json, read_text
from kernelref.cases.limits import limits_from_json
from kernelref.cases.sources import KernelSource
from kernelref.errors import InvalidInput
from kernelref.jobs.opt_choice import OptChoice, RandomWalk, parse_opts
from kernelref.opt.limits import OPENCL, PRESETS, Limits
from kernelref.opt.rules.ruleset import RuleSet
from kernelref.opt.rules.sets import RULE_SETS, SOUND


@dataclass(frozen=True, slots=True)
class Choices:
    """What one kernel is put through."""

    opts: OptChoice
    rules: RuleSet
    limits: Limits


def rules_of(name: str) -> RuleSet:
    """The rule set of this name. Raises: InvalidInput."""
    if name not in RULE_SETS:
        raise InvalidInput(f"unknown; known are {', '.join(RULE_SETS)}", where=f"--rules {name}")
    return RULE_SETS[name]


def limits_of(name: str) -> Limits:
    """The limits of a preset or of a JSON file. Raises: InvalidInput."""
    if name in PRESETS:
        return PRESETS[name]
    path = Path(name)
    if not path.is_file():
        known = ", ".join(PRESETS)
        raise InvalidInput(f"neither a file nor a preset ({known})", where=f"--limits {name}")
    text = read_text(path)
    with faults_in(name):
        return limits_from_json(parse_json(text))


def choices_for(
    source: KernelSource, *, opts: str, rules: str | None, limits: str | None, round: int = 0
) -> Choices:
    """The flags' choice; the source's own rules and limits where a flag is None.

    `round` counts how often the kernels have been gone through: each draws other sequences.
    Raises: InvalidInput.
    """
    case = source.case
    own_rules = rules_of(case.rules) if case else SOUND
    own_limits = case.limits if case else OPENCL
    choice = parse_opts(opts)
    if isinstance(choice, RandomWalk):
        choice = replace(choice, seed=choice.seed + round)
    return Choices(
        opts=choice,
        rules=own_rules if rules is None else rules_of(rules),
        limits=own_limits if limits is None else limits_of(limits),
    )
