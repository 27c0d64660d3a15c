"""Cases asked of a release process that has served no other case, and run on one device.

What a campaign files was found by a process that had served many. Here each question names the
cases that one process is given, in their order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from kernelref.cases.case import Case
from kernelref.cases.sources import KernelSource, Place
from kernelref.codegen.target import Target
from kernelref.errors import KernelRefError, Unsupported
from kernelref.fuzzing.campaign_result import CaseResult, Confirmed
from kernelref.ir.tinygrad_repr import Dialect
from kernelref.jobs.opt_choice import Listed
from kernelref.jobs.run_judge import judged
from kernelref.jobs.run_prepare import Ready
from kernelref.jobs.run_release import prepare_release
from kernelref.jobs.run_subject import Subject
from kernelref.optimizers.installed import InstalledOptimizer
from kernelref.optimizers.names import fresh_release
from kernelref.run.isolate import DevicePool
from kernelref.run.outcome import Outcome


@dataclass(frozen=True, slots=True)
class Answer:
    """How a case's text ended, and the text; none where it came to no launch."""

    outcome: Outcome
    text: str = ""


Ask: TypeAlias = Callable[[Iterable[Case]], list[Answer]]


@contextmanager
def process_alone(optimizer: str, target: Target, pool: DevicePool) -> Iterator[Ask]:
    """What answers for cases: a release process of its own. Raises: WorkerError, if none starts."""
    with fresh_release(optimizer) as release:

        def ask(cases: Iterable[Case]) -> list[Answer]:
            made = [_made(case, optimizer, target, release) for case in cases]
            launches = (item.with_data() for item in made if isinstance(item, Ready))
            results = iter(tuple(pool.run(launches)))
            return [
                Answer(judged(item, next(results)).outcome, item.launch.source)
                if isinstance(item, Ready)
                else Answer(item)
                for item in made
            ]

        yield ask


def _made(
    case: Case, optimizer: str, target: Target, release: InstalledOptimizer
) -> Ready | Outcome:
    """The launch of a case with exactly its opts, or how it ended before."""
    source = KernelSource(Place(Path("alone")), case.ast, None, Dialect.V0_9_1, case)
    try:
        subject = Subject.of(source, seed=0)
        choice, limits = Listed(case.opts), case.limits
        (item,) = prepare_release(
            subject, optimizer, choice, limits, (target,), release=release
        )  # fmt: skip
    except Unsupported:
        return Outcome.UNSUPPORTED
    except KernelRefError:
        return Outcome.HARNESS_ERROR
    if not isinstance(item, Ready):
        return item.outcome
    return item if item.pair.opts == case.opts else Outcome.REFUSED


def not_shown(result: CaseResult, answer: Answer, text: str) -> CaseResult:
    """A finding that ended otherwise alone; `text` is what ran when it was found.

    Law: the same text leaves the release out of it: what differs is the device.
    """
    confirmed = Confirmed.UNSTEADY if text and answer.text == text else Confirmed.HISTORY
    return result.marked(confirmed, answer.outcome)
