"""docs/mutants.md: every mutant, and what noticed it when `selftest` last ran over all.

`kernelref selftest --json > kills.json`, `kernelref selftest --with fuzz --json > fuzz.json`, then
`python -m kernelref.report.mutants kills.json fuzz.json docs/mutants.md` writes the page.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from kernelref.fuzzing.mutants.draw import COUNT, FRAME, SEED
from kernelref.fuzzing.mutants.mutant import Mutant
from kernelref.fuzzing.mutants.registry import BY_HAND, DRAWN
from kernelref.fuzzing.mutants.sites import changed_lines
from kernelref.fuzzing.mutants.verdicts import UNSEEN
from kernelref.report.text import in_one_line

Kills = Mapping[str, Any]

INTRODUCTION = """# Mutants

`kernelref selftest` plants faults in kernelref itself, one at a time, and tells what notices
each. A mutant is a small change of a module's text (`kernelref/fuzzing/mutants`); it is made
while the module is imported, in a process of its own, and no file changes. The code that is
changed knows nothing of it.

Half are written by hand, each a mistake that someone might make. The other {drawn} were drawn
with seed {seed} out of every place in {modules} modules where an operator, a constant, a bound, a
condition or a statement can be changed mechanically, at most one a function, before any was
tried.

What must come out of each input is computed in a process without a mutant, so that a fault in
what oracle and Program share cannot hide. A mutant is put through its own input first, then
through every question of the suite until one is answered otherwise:

1. a small case of the corpus (as stored, built anew, under drawn legal opts, under requests of
   which some are refused) is opened, lowered, rendered, interpreted and compared: an *outcome*.
   REFUSED: an opt that was legal is refused, or for another reason. ACCEPTED: one that must be
   refused was accepted, and the kernel is right all the same. HARNESS_ERROR: our own code fell
   over, as `run` says it.
2. the law of each step, point by point: REFUTED when axis map and ShapeTrackers disagree.
3. what `conform` compares with a release: CONFORM when answers, shapes, axis types, strides or
   masks differ. These compute the same otherwise: *conform only*.

With `--proofs` the prover is asked of the first stored kernel that comes out wrong, lowered for
the question's own target. It must not say PROVED. ASSUMES: it proves the kernel for buffers as
large as the Program says, and those that there are hold less.

Faults of the machine's checks are planted beside a fault that they must see: MISSED when they do
not. *Equivalent*: nothing can notice it, for the reason given.
"""


FUZZ = """
## Found by `pytest fuzz/`

`kernelref selftest --with fuzz` runs the tests of `fuzz/` under the profile `ci` with one mutant
planted, those first that look most at the changed module, and stops at the first that fails. Of
the {all} mutants that change what a kernel computes or what is accepted ({left} more are equivalent
or conform only), it finds {found}: {percent:.1f}%.
"""


def page(kills: Kills, fuzz: Kills) -> str:
    """The page for the objects that `selftest` printed, without and with `--with fuzz`."""
    return "\n".join([*_page(kills), *_found_by_fuzz(kills, fuzz), ""])


def _found_by_fuzz(kills: Kills, fuzz: Kills) -> Iterator[str]:
    """Which test of fuzz/ notices which mutants first, and what none does."""
    wanted = [row["mutant"] for row in kills["kills"] if row["status"] in ("killed", "survived")]
    first = {row["mutant"]: row["input"] for row in fuzz["kills"] if row["outcome"]}
    found = [name for name in wanted if name in first]
    yield FUZZ.format(
        all=len(wanted),
        left=len(kills["kills"]) - len(wanted),
        found=len(found),
        percent=100 * len(found) / len(wanted),
    )
    by_test: dict[str, list[str]] = {}
    for name in found:
        by_test.setdefault(first[name].removeprefix("fuzz/"), []).append(name)
    yield from ("| first test that fails | mutants | |", "|---|---|---|")
    for test, names in sorted(by_test.items()):
        yield f"| `{test}` | {len(names)} | {', '.join(names)} |"
    yield from ("", "| not found | |", "|---|---|")
    for name in wanted:
        if name not in first:
            yield f"| `{name}` | {UNSEEN.get(name, 'not run')} |"


def _page(kills: Kills) -> Iterator[str]:
    yield INTRODUCTION.format(drawn=COUNT, seed=SEED, modules=len(FRAME))
    statuses = {
        name.replace("_", " "): kills[name]
        for name in ("killed", "survived", "equivalent", "conform_only")
    }
    yield f"Of {kills['mutants']}: {in_one_line(statuses)}."
    yield f"Killed by outcome: {in_one_line(kills['by_outcome'])}."
    rows = {row["mutant"]: row for row in kills["kills"]}
    yield from ("", "## Written by hand", "", "| name | where | mistake | noticed as | by |")
    yield "|---|---|---|---|---|"
    for mutant in BY_HAND:
        yield _line(mutant, rows)
    yield from ("", "## Drawn", "", "| name | where | change | noticed as | by |")
    yield "|---|---|---|---|---|"
    for mutant in DRAWN:
        yield _line(mutant, rows)


def head(mutant: Mutant) -> str:
    """The part of a mutant's row that says what it changes: name, place, mistake and change."""
    changed = " ".join(line for edit in mutant.edits for line in changed_lines(edit))
    change = f"`{changed}`" if mutant.is_drawn else f"{mutant.says}: `{changed}`"
    escaped = change.replace("|", "\\|")
    return f"| {mutant.name} | {_place(mutant)} | {escaped} |"


def _line(mutant: Mutant, rows: Mapping[str, Any]) -> str:
    return f"{head(mutant)} {' | '.join(_noticed(mutant, rows))} |"


def _place(mutant: Mutant) -> str:
    edit = mutant.edits[0]
    module = edit.module.removeprefix("kernelref.")
    return f"{module} {edit.within}".strip()


def _noticed(mutant: Mutant, rows: Mapping[str, Any]) -> tuple[str, str]:
    """What noticed it, and at what cost."""
    row = rows.get(mutant.name)
    if row is None:
        return "not tried", ""
    if not row["outcome"]:
        return row["status"], mutant.equivalent
    beside = f", beside {mutant.beside}" if mutant.beside else ""
    return row["outcome"], f"{row['input']}{beside} ({row['asked']} asked)"


if __name__ == "__main__":
    told, fuzzed = (json.loads(Path(name).read_text(encoding="utf-8")) for name in sys.argv[1:3])
    Path(sys.argv[3]).write_text(page(told, fuzzed), encoding="utf-8")
