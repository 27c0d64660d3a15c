"""How the hand-written half is said: one call a mutant, short names for modules and outcomes."""

from __future__ import annotations

from kernelref.fuzzing.mutants.mutant import Edit, Mutant
from kernelref.fuzzing.mutants.question import Probe, Request


def planted(
    name: str,
    place: str,
    before: str,
    after: str,
    *,
    says: str,
    probe: Probe | None = None,
    expects: str = "",
    beside: str = "",
    equivalent: str = "",
) -> Mutant:
    """A mutant of one change; `place` is `ir.view:View.create`, a module and what stands in it."""
    module, _, within = place.partition(":")
    edit = Edit(f"kernelref.{module}", within, before, after)
    return Mutant(name, (edit,), says, probe, expects, beside, equivalent)


def regress(name: str) -> Probe:
    """A case of corpus/regress with its own opts."""
    return Probe(f"regress/{name}")


def built(name: str) -> Probe:
    """A seed without opts, built anew."""
    return Probe(f"seeds/{name}", (), is_built=True)


def seed(name: str, *opts: Request, limits: str = "", target: str = "full") -> Probe:
    """A seed as it is stored, with opts."""
    return Probe(f"seeds/{name}", opts, limits, target)
