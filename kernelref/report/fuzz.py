"""The summary of `fuzz` for a person, who need not have read any docs."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any

from kernelref.report.text import columns, counts, duration, in_one_line, many

MOST_FINDINGS = 20
INTERPRETER = "interp"
DEVICE, PROOF, OPEN, OPTS = "device", "proof", "open", "opts"
"""The stages that another verb than `replay` shows."""
BROKE = "BROKE "

ALONE = {
    "history": "only after other kernels: not in a process of the release that served this case "
    "alone, so it depends on those before",
    "unsteady": "not every time: the same text ended otherwise when it was run again",
}
"""What is said of findings that their case alone does not show, by the word for it in JSON."""


def summary(report: dict[str, Any]) -> str:
    """Cases, how they ended, what they covered, and what was found."""
    return "\n".join(_lines(report))


def _lines(report: dict[str, Any]) -> Iterator[str]:
    yield _cases(report)
    yield _way(report)
    if report["left_out"] or report["unreadable"] or report["looked_at"] < report["listed"]:
        yield _taken(report)
    yield from ("", "how the cases ended:", *counts(report["outcomes"]))
    if report["unsupported"]:
        yield f"unsupported: {in_one_line(report['unsupported'])}"
    if report["unproved"]:
        yield f"neither proved nor refuted: {in_one_line(report['unproved'])}"
    if report["not_run"]:
        yield f"not run on a device: {in_one_line(report['not_run'])}"
    if report["differs"]:
        yield f"otherwise than the release: {in_one_line(report['differs'])}"
    if report["inherited"]:
        yield "faults that the release itself has too:"
        yield from columns((many(n, "case"), key) for key, n in report["inherited"].items())
    yield from ("", "what they covered:", *columns(_covered(report)))
    if report["stopped_early"]:
        why = "interrupted" if report["interrupted"] else "the time given was up"
        yield f"stopped: {why}"
    yield ""
    yield from _findings(report)


def _cases(report: dict[str, Any]) -> str:
    made = f"kernels of {', '.join(report['kernels'])}" if report["kernels"] else "random kernels"
    text = f"{many(report['cases'], 'case')}: {made} under random opts, seed {report['seed']}"
    before = report["cases"] - report["new_cases"]
    earlier = f"; {before:,} more by earlier calls" if before else ""
    rate = f"{report['cases_per_second']:.1f}/s"
    return f"{text} ({report['new_cases']:,} in {duration(report['seconds'])}, {rate}{earlier})"


def _taken(report: dict[str, Any]) -> str:
    """What was taken of the kernels of files."""
    without = report["left_out"] | ({"unreadable": n} if (n := len(report["unreadable"])) else {})
    not_taken = f"; not taken: {in_one_line(without)}" if without else ""
    return f"looked at {report['looked_at']:,} of {many(report['listed'], 'kernel')}{not_taken}"


def _way(report: dict[str, Any]) -> str:
    """What is done to each case."""
    devices = [name for name in report["devices"] if name != INTERPRETER]
    run = "run in the interpreter" + "".join(f" and on {name}" for name in devices)
    optimizer = report["optimizer"]
    if optimizer.startswith("tinygrad"):
        chosen = f"opts of {optimizer}'s own search or heuristics, its views run in the interpreter"
        chosen += ", proved where they differ from the release's" if "@" in optimizer else ""
        texts = "".join(f", its text on {name}" for name in devices)
        return f"each: {chosen}{texts}, every output compared with the oracle"
    who = "" if optimizer == "reference" else f" by {optimizer}"
    return f"each: optimised{who}, proved equal, {run}, every output compared with the oracle"


def _covered(report: dict[str, Any]) -> Iterator[tuple[str, str]]:
    applied = report["opts_applied"]
    yield "opts applied", f"{sum(applied.values()):,}: {in_one_line(applied)}"
    yield "opts refused", f"{report['opts_refused']:,}"
    points, opts = report["median_points"], report["median_opts"]
    yield "median case", f"{many(points, 'iteration point')}, {many(opts, 'opt')}"
    yield (
        "features",
        f"{many(report['features'], 'kind')} of nodes (op, dtype, mask, views, beside a reduction "
        f"or not), {many(report['feature_pairs'], 'kind')} of edges between them",
    )


def _findings(report: dict[str, Any]) -> Iterator[str]:
    found = report["findings"]
    if not found:
        yield "findings: none"
        return
    yield f"findings: {many(report['findings_total'], 'kind')}, the most severe first"
    yield from columns(
        (f"case {kind['first_case']}", f"{kind['cases']:,} alike", kind["kind"])
        for kind in found[:MOST_FINDINGS]
    )
    if len(found) > MOST_FINDINGS:
        yield f"  and {len(found) - MOST_FINDINGS:,} more (--json lists all)"
    for word, says in ALONE.items():
        if any(kind["confirmed"] == word for kind in found):
            yield says
    kept = sorted((k for k in found if k["file"]), key=lambda kind: kind["confirmed"] in ALONE)
    if not kept:
        yield "--store DIR keeps a case file of each"
        return
    first = kept[0]
    command, ends = again(report, first), ""
    if first["confirmed"] in ALONE:
        ends = ", which need not end so: alone the case ended otherwise"
    show = f"kernelref show {shlex.quote(first['file'])}"
    yield f"see one with `{show}`, try it again with `{command}`{ends}"


def again(report: dict[str, Any], kind: dict[str, Any]) -> str:
    """The command that ends a finding's case as it ended.

    Below the devices a published release was stood in for by its rule set, which the case names. A
    changed one is asked itself, and so is each that fell over.
    """
    optimizer, file = report["optimizer"], shlex.quote(kind["file"])
    of = f" --optimizer {shlex.quote(optimizer)}" if optimizer.startswith("tinygrad") else ""
    if kind["stage"] == DEVICE:
        devices = [name for name in report["devices"] if name != INTERPRETER]
        on = "".join(f" --device {name}" for name in devices)
        return f"kernelref {'run' if of else 'replay'} {file}{of}{on}"
    if of and kind["kind"].startswith(BROKE) and kind["stage"] in (OPEN, OPTS):
        # The release itself shows it, where our copy may not, and no text need be run.
        return f"kernelref run {file}{of} --device {INTERPRETER}"
    if kind["stage"] == PROOF or "@" in of:
        return f"kernelref prove {file}{of}"
    return f"kernelref replay {file} --device {INTERPRETER}"
