"""What `selftest` tells a person: the kill table, and docs/mutants.md."""

from __future__ import annotations

from collections.abc import Iterator

from kernelref.fuzzing.mutants.kill import Kill
from kernelref.jobs.selftest import STATUSES, SelftestReport
from kernelref.report.text import columns, duration, in_one_line, many


def summary(report: SelftestReport) -> str:
    """How many mutants of which kind were noticed, by what, and the table."""
    return "\n".join(_lines(report))


def _lines(report: SelftestReport) -> Iterator[str]:
    told = report.as_json()
    yield f"{many(told['mutants'], 'mutant')} in {duration(report.seconds)}"
    yield f"  {in_one_line({name.replace('_', ' '): told[name] for name in STATUSES})}"
    if report.interrupted:
        yield "stopped early: interrupted"
    noticed = told["killed"] + told["conform_only"]
    alive = noticed + told["survived"]
    if alive:
        yield f"  {100 * noticed / alive:.1f}% of those that are not equivalent were noticed"
    yield f"killed by outcome: {in_one_line(told['by_outcome'])}"
    if told["by_proof"]:
        yield f"of wrong kernels the prover says: {in_one_line(told['by_proof'])}"
    yield from columns(_row(kill) for kill in report.kills)
    if report.proved_wrong:
        yield f"{many(len(report.proved_wrong), 'wrong kernel')} proved right:"
        yield from columns(
            (kill.mutant.name, kill.verdict.proof_probe) for kill in report.proved_wrong
        )
    if report.unexpected:
        yield f"{len(report.unexpected)} ended in another way than the registry says:"
        yield from columns(
            (kill.mutant.name, f"{kill.verdict.ended}, not {kill.mutant.expects or 'equivalent'}")
            for kill in report.unexpected
        )


def _row(kill: Kill) -> tuple[str, ...]:
    verdict = kill.verdict
    cost = f"{verdict.asked} asked" if verdict.asked else "at import"
    return kill.status, kill.mutant.name, verdict.ended.outcome, cost, verdict.probe
