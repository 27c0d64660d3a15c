"""Oclgrind: a simulator of OpenCL devices that checks every access, as a device of ours.

It reports invalid accesses, races, divergent barriers and uninitialised values in a log and exits
0 whatever it found, so a run is fine only when its part of the log is empty. Its driver is loaded
like any other; what it checks is set in the environment before that.

Programs are always built without optimisation: Oclgrind 21.10 segfaults on vector shuffles that
LLVM's optimiser leaves and refuses its `freeze`, and what was optimised away cannot be checked.

Source: Oclgrind 21.10, README and the messages it prints.
"""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from kernelref.run.outcome import Outcome

NAME = "oclgrind"
PLATFORM = "Oclgrind"
LOG_NAME = "oclgrind.log"
MEMORY_NBYTES = 64 << 20
"""All buffers of a launch: for each of their bytes the race check keeps about 60 of its own."""
ENVIRONMENT = (
    ("OCLGRIND_DATA_RACES", "1"),
    ("OCLGRIND_UNIFORM_WRITES", "1"),
    ("OCLGRIND_UNINITIALIZED", "1"),
    ("OCLGRIND_MAX_ERRORS", "1000"),
    ("OCLGRIND_GLOBAL_MEM_SIZE", str(MEMORY_NBYTES)),
    ("OCLGRIND_LOCAL_MEM_SIZE", str(64 << 10)),
    ("OCLGRIND_NUM_THREADS", "{threads}"),
    ("OCLGRIND_LOG", "{private}/" + LOG_NAME),
)

# What a message begins with, and what it means; earlier ones are the causes of later ones.
_MEANINGS: tuple[tuple[str, Outcome], ...] = (
    (r"OCLGRIND FATAL ERROR", Outcome.UNSUPPORTED),
    (r"Work-group divergence", Outcome.BARRIER_DIVERGENCE),
    (r"Invalid (read|write)|Index \(.*exceeds static array size", Outcome.OUT_OF_BOUNDS),
    (r"Invalid memory (load|store)|Unaligned address", Outcome.TRAP),
    (r"(Read|Write)-write data race", Outcome.RACE),
    (r"Uninitialized|Controlflow depends on uninitialized", Outcome.UNINITIALISED),
)
_SUPPRESSED = re.compile(r"Oclgrind: \d+ errors generated")


@dataclass(frozen=True, slots=True)
class Finding:
    """One message: what it means, and its first lines."""

    outcome: Outcome
    message: str


def driver() -> Path | None:
    """The simulator's OpenCL driver, or None when it is not installed."""
    program = shutil.which("oclgrind")
    prefixes = [Path(program).resolve().parent.parent] if program else []
    for prefix in (*prefixes, Path("/usr"), Path("/usr/local")):
        found = sorted(prefix.glob("lib*/oclgrind/liboclgrind-rt-icd.so"))
        if found:
            return found[0]
    return None


def parse_log(text: str) -> tuple[Finding, ...]:
    """The findings of a part of the log, gravest cause first, one of each kind of message."""
    findings: dict[str, Finding] = {}
    for block in re.split(r"\n(?=\S)", text.strip("\n")):
        lines = [line.strip() for line in block.splitlines() if line.strip()]
        if not lines or _SUPPRESSED.match(lines[0]):
            continue
        findings.setdefault(
            re.sub(r"0x[0-9a-f]+|\d+", "#", lines[0]), Finding(_meaning(lines[0]), _shorten(lines))
        )
    ranks = [outcome for _, outcome in _MEANINGS] + [Outcome.HARNESS_ERROR]
    return tuple(sorted(findings.values(), key=lambda finding: ranks.index(finding.outcome)))


def _meaning(headline: str) -> Outcome:
    for pattern, outcome in _MEANINGS:
        if re.match(pattern, headline):
            return outcome
    return Outcome.HARNESS_ERROR


def _shorten(lines: list[str]) -> str:
    """The headline, the work-items it names and the statement."""
    wanted = ("Entity:", "First entity:", "Second entity:", "Work-group:", "Only ", "At line")
    kept = [line for line in lines[1:] if line.startswith(wanted)]
    return "; ".join([lines[0], *kept])
