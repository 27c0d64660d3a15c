"""Case files and text dumps: what is written reads back, and damage is refused by name."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from fuzz.harness import fuzzed
from kernelref.cases.case import Case, Expect, Inputs, dump_case, parse_case
from kernelref.errors import InvalidInput, Unsupported
from kernelref.fuzzing.choose import Chooser
from kernelref.fuzzing.generate import generate_kernel
from kernelref.fuzzing.generate_opts import RAW_AMOUNTS, RAW_AXES
from kernelref.ir.ast import Ast
from kernelref.ir.tinygrad_repr import Dialect, read_line
from kernelref.opt.limits import PRESETS
from kernelref.opt.opt import Opt, OptOps
from kernelref.opt.rules.sets import RULE_SETS
from tests.ir.print_text import text_of

JUNK: tuple[Any, ...] = (
    None, True, -1, 0, 1, 2**70, 1.5, "", "x", [], {}, [[]], "float", "LOAD", [None], 10**30,
)  # fmt: skip
BYTES = "()[]{},='\"\\ 0-9eEx.LnNaA_\x00\n\u00e9"


@dataclass(frozen=True, slots=True)
class Damage:
    """Where a text or a document is changed, and into what."""

    place: int
    length: int
    other: int

    def of_text(self, text: str) -> str:
        """Some characters replaced by another one, or cut out."""
        at = self.place % (len(text) + 1)
        put = BYTES[self.other % len(BYTES)] if self.other % 3 else ""
        return text[:at] + put + text[at + self.length :]

    def of_document(self, document: Any) -> Any:
        """One value somewhere inside replaced, removed or given a second name."""
        spots = list(_spots(document))
        holder, key = spots[self.place % len(spots)]
        if self.length == 0:
            del holder[key]
        elif self.length == 1 and isinstance(holder, dict):
            holder[f"{key}x"] = holder.pop(key)
        else:
            holder[key] = JUNK[self.other % len(JUNK)]
        return document


def _spots(document: Any) -> Any:
    """Every place in a JSON document, as its holder and the key there."""
    keys = document if isinstance(document, dict) else range(len(document))
    for key in list(keys):
        yield document, key
        if isinstance(document[key], dict | list):
            yield from _spots(document[key])


def generate_damage(chooser: Chooser) -> Damage:
    return Damage(chooser.integer(0, 1 << 20), chooser.integer(0, 12), chooser.integer(0, 60))


def generate_case(chooser: Chooser) -> Case:
    opts = tuple(
        Opt(chooser.choice(list(OptOps)), chooser.choice(RAW_AXES), chooser.choice(RAW_AMOUNTS))
        for _ in range(chooser.integer(0, 4))
    )
    return Case(
        generate_kernel(chooser),
        title=chooser.choice(("", "a title", 'quotes " and \\ and \u00e9')),
        opts=opts,
        rules=chooser.choice(list(RULE_SETS)),
        limits=PRESETS[chooser.choice(list(PRESETS))],
        inputs=Inputs(chooser.integer(0, 1 << 31), chooser.choice(("auto", "negative"))),
        expect=Expect(chooser.choice((True, False, None)), chooser.choice(("PASS", "TRAP"))),
    )


@fuzzed(generate_case)
def test_a_case_reads_back(case: Case) -> None:
    text = dump_case(case)
    assert parse_case(text) == case
    assert dump_case(parse_case(text)) == text


@fuzzed(generate_case, generate_damage, share=2)
def test_a_damaged_case_is_read_or_refused_by_name(case: Case, damage: Damage) -> None:
    document = damage.of_document(json.loads(dump_case(case)))
    for text in (json.dumps(document), damage.of_text(dump_case(case))):
        _check(partial(parse_case, text, name="damaged.json"), "damaged.json")


@fuzzed(generate_kernel)
def test_a_line_of_text_reads_back(ast: Ast) -> None:
    line = _line(ast)
    if line is not None:
        assert read_line(line).ast == ast


@fuzzed(generate_kernel, generate_damage, share=2)
def test_a_damaged_line_is_read_or_refused_by_name(ast: Ast, damage: Damage) -> None:
    line = _line(ast)
    if line is not None:
        text = damage.of_text(line)
        _check(partial(read_line, text, name="damaged.txt", line=7), "damaged.txt:7")


def _check(read: Callable[[], object], where: str) -> None:
    """It reads, or the error says where; any other exception fails the test."""
    found: InvalidInput | Unsupported
    try:
        read()
        return
    except (InvalidInput, Unsupported) as error:
        found = error
    assert isinstance(found, Unsupported) or found.where.startswith(where), found


def _line(ast: Ast) -> str | None:
    """How 0.9.1 prints the kernel, where it has no symbolic part."""
    case = dump_case(Case(ast))
    return None if json.loads(case)["vars"] else text_of(ast, Dialect.V0_9_1)
