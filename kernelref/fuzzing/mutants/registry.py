"""All mutants by name: half drawn by a seed, half written by hand."""

from __future__ import annotations

from kernelref.errors import InvalidInput
from kernelref.fuzzing.mutants.draw import edit_of, read_drawn
from kernelref.fuzzing.mutants.hand_ir import IR
from kernelref.fuzzing.mutants.hand_lower import CODEGEN
from kernelref.fuzzing.mutants.hand_opt import OPT
from kernelref.fuzzing.mutants.hand_run import RUN
from kernelref.fuzzing.mutants.mutant import Mutant
from kernelref.fuzzing.mutants.verdicts import EQUIVALENT

BY_HAND: tuple[Mutant, ...] = (*IR, *OPT, *CODEGEN, *RUN)

DRAWN: tuple[Mutant, ...] = tuple(
    Mutant(
        name=entry["name"],
        edits=(edit_of(entry),),
        says=entry["kind"],
        equivalent=EQUIVALENT.get(entry["name"], ""),
        is_drawn=True,
    )
    for entry in read_drawn()
)

MUTANTS: dict[str, Mutant] = {mutant.name: mutant for mutant in (*BY_HAND, *DRAWN)}


def mutant_named(name: str) -> Mutant:
    """The mutant of this name. Raises: InvalidInput."""
    if name not in MUTANTS:
        raise InvalidInput(f"there is no mutant {name[:60]!r}")
    return MUTANTS[name]
