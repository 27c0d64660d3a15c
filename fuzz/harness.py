"""What the tests here share: one body, driven by Hypothesis, or by seeds until a budget is spent.

    @fuzzed(generate_kernel, generate_sequence)
    def test_something(ast, sequence): ...

Without --kernelref-budget Hypothesis draws as many examples as its profile says, and shrinks what
fails; then seeds are tried: Hypothesis's examples are small and dear, seeded ones are as campaigns
make them. With it, seeds from --kernelref-seed on are tried until the time is over. What fails is
kept as a case either way: `kept`.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

from hypothesis import currently_in_test_context, given, note, seed, settings

from kernelref.cases.case import Case, write_case
from kernelref.fuzzing.campaign_legality import LegalityTable
from kernelref.fuzzing.choose import Chooser, SeededChooser
from kernelref.fuzzing.strategies import drawn
from kernelref.ir.ast import Ast
from kernelref.opt.opt import Opt
from kernelref.pytest_plugin import Settings

FAILURES = Path("fuzz-failures")
LEGALITY = LegalityTable()
"""What the refused opts of this run came to; printed at its end."""

ANSWERS: Counter[str] = Counter()
"""What was proved, by verdict; printed at the end."""
Make: TypeAlias = Callable[[Chooser], Any]


def examples(share: float = 1.0) -> int:
    """A share of the examples that the profile asks for."""
    profile = settings.default
    assert profile is not None
    return max(1, int(profile.max_examples * share))


def fuzzed(
    *makers: Make, share: float = 1.0, seeds: int = 1
) -> Callable[[Callable[..., None]], Callable[[Settings], None]]:
    """A test of what the makers make: `share` of the profile's examples, `seeds` after each."""

    def wrap(body: Callable[..., None]) -> Callable[[Settings], None]:
        by_hypothesis = settings(max_examples=examples(share))(given(*map(drawn, makers))(body))

        def test(kernelref_settings: Settings) -> None:
            if kernelref_settings.budget is not None:
                _until(kernelref_settings, makers, body)
                return
            if kernelref_settings.seed:
                seed(kernelref_settings.seed)(by_hypothesis)()
            else:
                by_hypothesis()
            for number in range(examples(share) * seeds):
                _seeded(kernelref_settings.seed + number, makers, body)

        test.__doc__, test.__name__, test.__module__ = body.__doc__, body.__name__, body.__module__
        return test

    return wrap


def _until(given_settings: Settings, makers: tuple[Make, ...], body: Callable[..., None]) -> None:
    """Seed after seed, at least one."""
    assert given_settings.budget is not None
    deadline = time.monotonic() + given_settings.budget
    number = given_settings.seed
    while True:
        _seeded(number, makers, body)
        number += 1
        if time.monotonic() > deadline:
            print(f"{number - given_settings.seed} examples")
            return


def _seeded(number: int, makers: tuple[Make, ...], body: Callable[..., None]) -> None:
    """One example of a seed, which stands in the traceback of what fails."""
    chooser = SeededChooser(number)
    body(*(make(chooser) for make in makers))


@contextmanager
def kept(name: str, ast: Ast, opts: tuple[Opt, ...] = ()) -> Iterator[None]:
    """Keep the kernel as a case when the body fails: the last to fail, which is the smallest."""
    try:
        yield
    except Exception:
        FAILURES.mkdir(exist_ok=True)
        path = FAILURES / f"{name}.json"
        write_case(Case(ast, title=f"Fails {name}", origin="fuzz", opts=opts), path)
        (note if currently_in_test_context() else print)(f"kept as {path}")
        raise
