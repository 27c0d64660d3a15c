"""The mechanical half of the registry: changes drawn by a seed before any result was seen.

`python -m kernelref.fuzzing.mutants.draw` writes `drawn.json`: what is kept of it before stays as
long as it applies, and what the code has outgrown is replaced by the next in the order drawn.

FRAME is the way from an AST and opts to a result. Not in it: what says what things mean (semantics,
`address`, `evaluate`, the oracle), because a change of the meaning is no fault that a comparison
with the meaning could show; what is asked of a release only; which opts are chosen; the text.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from kernelref.errors import InvalidInput
from kernelref.fuzzing.mutants.mutant import Edit, Mutant, source_of
from kernelref.fuzzing.mutants.sites import Site, sites

SEED = 4
COUNT = 50
DRAWN = Path(__file__).with_name("drawn.json")

FRAME = (
    *(f"kernelref.ir.{name}" for name in (
        "view", "view_moves", "view_reshape", "view_merge", "shapetracker", "stack", "index",
        "index_nodes", "index_bounds", "index_simplify",
    )),
    *(f"kernelref.opt.{name}" for name in (
        "axismap", "construct", "extents", "floors", "footprint", "kernel", "padding", "simplify",
        "rules.apply", "rules.conditions", "rules.movement", "rules.request", "rules.sound_checks",
        "rules.table", "rules.tensor", "rules.transform",
    )),
    *(f"kernelref.codegen.lower.{name}" for name in (
        "block", "indices", "inplace", "launch", "lower", "memory", "reductions", "stores",
        "values", "vectors", "widths",
    )),
    "kernelref.codegen.program",
    *(f"kernelref.run.interp.{name}" for name in (
        "batching", "device", "indexing", "interpret", "machine", "memory",
    )),
)  # fmt: skip

MEANINGS = frozenset(
    {"View.address", "ShapeTracker.address", "AxisMap.apply", "LinearSum.at", "evaluate"}
    | {"_truncating_quotient"}
)


def drawn_order(seed: int = SEED) -> Iterator[Site]:
    """Every site of FRAME in a random order, at most one a function."""
    population: list[Site] = []
    for module in FRAME:
        text = source_of(module)
        population += [site for site in sites(module, text) if site.edit.within not in MEANINGS]
    random.Random(seed).shuffle(population)
    seen: set[tuple[str, str]] = set()
    for site in population:
        place = (site.edit.module, site.edit.within)
        if site.edit.within and place in seen:
            continue
        seen.add(place)
        yield site


def redrawn(kept: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """COUNT drawn mutants: those of `kept` that still apply, then the next of the order."""
    alive = [entry for entry in kept if _applies(edit_of(entry))]
    for site in drawn_order():
        if len(alive) >= COUNT:
            break
        entry = {"name": name_of(site), "kind": site.kind, **asdict(site.edit)}
        if all(entry["name"] != other["name"] for other in alive):
            alive.append(entry)
    return alive[:COUNT]


def fresh(seed: int, count: int) -> list[Mutant]:
    """Mutants drawn anew, which no input was made for: they measure what the suite sees."""
    found: dict[str, Mutant] = {}
    for site in drawn_order(seed):
        if len(found) == count:
            break
        name = name_of(site)
        found.setdefault(name, Mutant(name, (site.edit,), site.kind, is_drawn=True))
    return list(found.values())


def name_of(site: Site) -> str:
    """A name that says where: the module's last word, the function and the kind of change."""
    words = (site.edit.module.rpartition(".")[2], site.edit.within.rpartition(".")[2], site.kind)
    return "-".join(word.strip("_").replace("_", "-") for word in words if word)


def edit_of(entry: dict[str, Any]) -> Edit:
    """The change of one entry of `drawn.json`."""
    return Edit(
        entry["module"], entry["within"], entry["before"], entry["after"], int(entry["nth"])
    )


def read_drawn() -> list[dict[str, Any]]:
    """The entries of `drawn.json`."""
    entries: list[dict[str, Any]] = json.loads(DRAWN.read_text(encoding="utf-8"))
    return entries


def _applies(edit: Edit) -> bool:
    try:
        compile(edit.apply(source_of(edit.module)), edit.module, "exec")
    except (InvalidInput, SyntaxError):
        return False
    return True


if __name__ == "__main__":
    entries = redrawn(read_drawn() if DRAWN.exists() else [])
    DRAWN.write_text(json.dumps(entries, indent=1) + "\n", encoding="utf-8")
    print(f"{len(entries)} drawn with seed {SEED}")
