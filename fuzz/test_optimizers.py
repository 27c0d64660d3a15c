"""The reference beside real releases, over generated kernels and opt sequences."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from fuzz.harness import examples, kept
from kernelref.errors import Unsupported
from kernelref.fuzzing.choose import FixedChooser
from kernelref.fuzzing.generate_opts import OptSequence, next_opt
from kernelref.fuzzing.strategies import kernels, opt_sequences
from kernelref.ir.ast import Ast
from kernelref.jobs.conform_compare import compare
from kernelref.jobs.conform_deviations import Step, deviation_of
from kernelref.opt.limits import PRESETS
from kernelref.opt.opt import Opt
from kernelref.opt.rules.sets import RULE_SETS
from kernelref.optimizers.dialect import DIALECTS, translate
from kernelref.optimizers.installed import InstalledOptimizer
from kernelref.optimizers.interface import Accepted, Answer, Broke, Refused
from kernelref.optimizers.names import open_optimizer
from kernelref.optimizers.reference import ReferenceOptimizer, ReferenceSession
from kernelref.optimizers.releases import ReleaseMissingError
from kernelref.pytest_plugin import Settings


@pytest.mark.parametrize("version", list(DIALECTS))
def test_the_reference_does_what_the_release_does(
    version: str, kernelref_settings: Settings
) -> None:
    name = f"tinygrad=={version}"
    wanted = kernelref_settings.optimizer
    if wanted.startswith("tinygrad") and wanted != name:
        pytest.skip(f"{wanted} was asked for")
    try:
        release = open_optimizer(name)
    except ReleaseMissingError as error:
        pytest.skip(str(error))
    assert isinstance(release, InstalledOptimizer)

    @settings(max_examples=examples(0.5))
    @given(kernels(), opt_sequences())
    def agrees(ast: Ast, sequence: OptSequence) -> None:
        _compare(release, ast, sequence)

    try:
        agrees()
    finally:
        release.close()


def _compare(release: InstalledOptimizer, given_ast: Ast, sequence: OptSequence) -> None:
    """Construction, then one opt after another, until one side does not go on."""
    limits = PRESETS["opencl"]
    reference = ReferenceOptimizer(RULE_SETS[release.rules])
    try:
        ast = translate(given_ast, release.dialect)
        ours = reference.open(ast, limits)
        theirs = release.open(ast, limits)
    except Unsupported:
        return
    tried: list[Opt] = []
    with kept(f"unlike-{release.rules}", ast, tuple(tried)):
        if isinstance(ours, Refused | Broke) or isinstance(theirs, Refused | Broke):
            sides = (
                side if isinstance(side, Refused | Broke) else Accepted(side.state)
                for side in (ours, theirs)
            )
            difference = compare(*sides)
            assert difference is None, f"construction: {difference}"
            return
    try:
        for step in sequence.steps:
            opt = next_opt(FixedChooser(step), ours.kernel, [])
            tried.append(opt)
            before = theirs.state
            mine, other = _asked(ours, opt), theirs.apply(opt)
            difference = compare(mine, other)
            if difference is None:
                continue
            with kept(f"unlike-{release.rules}", ast, tuple(tried)):
                known = _known(release.rules, before, opt, mine, other, difference)
                assert known, f"{opt}: {difference}"
            return
    finally:
        theirs.close()


def _known(*step: object) -> bool:
    return deviation_of(Step(*step)) is not None  # type: ignore[arg-type]  # a record's fields


def _asked(session: ReferenceSession, opt: Opt) -> Answer:
    try:
        return session.apply(opt)
    except Unsupported as error:
        return Broke("Unsupported", str(error), check=error.reason)
