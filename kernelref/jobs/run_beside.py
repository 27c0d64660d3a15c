"""A changed release's texts beside those of the published one: what both do is not the change's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from kernelref.codegen.target import Target
from kernelref.fuzzing.campaign_case import in_words
from kernelref.jobs.opt_choice import Listed, Named, OptChoice
from kernelref.jobs.run_prepare import Prepared, Ready
from kernelref.jobs.run_release import prepare_release
from kernelref.jobs.run_report import SAME, Ending
from kernelref.jobs.run_subject import Subject
from kernelref.opt.limits import Limits
from kernelref.optimizers.names import opened_release
from kernelref.optimizers.releases import installed
from kernelref.run.outcome import Outcome


def published_name(optimizer: str) -> str | None:
    """The release that a changed one was made from, where it is installed; else None."""
    release = opened_release(optimizer).release
    if release.is_genuine or installed(release.version) is None:
        return None
    return f"tinygrad=={release.version}"


def beside_published(
    own: Iterable[Prepared],
    subject: Subject,
    optimizer: str,
    choice: OptChoice,
    limits: Limits,
    targets: tuple[Target, ...],
) -> Iterator[Prepared]:
    """Each pair; its `base` is SAME where the published release does the same with its opts."""
    published = published_name(optimizer)
    named = {target.name: target for target in targets}
    for mine in own:
        if published is None or not (isinstance(mine, Ready) or mine.outcome is Outcome.BROKE):
            yield mine
            continue
        # Heuristics that broke tell no opts: they are asked again, whole.
        asked = choice if isinstance(choice, Named) and not mine.pair.opts else None
        opts: OptChoice = Listed(mine.pair.opts) if asked is None else asked
        target = (named[mine.pair.device],)
        its = next(prepare_release(subject, published, opts, limits, target), None)
        if its is not None and is_same(mine, its):
            mine = replace(mine, pair=replace(mine.pair, base=SAME))
        yield mine


def is_same(left: Prepared, right: Prepared) -> bool:
    """Whether two releases print the same text, or break alike."""
    match left, right:
        case Ready(launch=mine), Ready(launch=its):
            return (mine.source, mine.groups, mine.local) == (its.source, its.groups, its.local)
        case Ending(outcome=Outcome.BROKE), Ending(outcome=Outcome.BROKE):
            return in_words(left.detail) == in_words(right.detail)
    return False
