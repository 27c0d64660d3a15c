"""The reader on whole dumps: how fast, in how much memory, and what it makes of damaged lines.

    python -m kernelref.jobs.benchmarks.reader FILE...

prints the figures as JSON. A damaged line is read or refused with InvalidInput; anything else is a
finding.
"""

from __future__ import annotations

import json
import random
import resource
import sys
import time
import tracemalloc
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kernelref.cases.lines import decoded, open_lines
from kernelref.errors import InvalidInput
from kernelref.ir.tinygrad_repr import Reader
from kernelref.jobs.benchmarks.mutations import mutated

MUTATIONS = 10_000
MOST_FINDINGS = 20


def run(files: Sequence[Path], mutations: int = MUTATIONS, seed: int = 0) -> dict[str, Any]:
    """Read every line of every file, the largest once more by itself, and damaged lines."""
    read = {path.name: read_file(path) for path in files}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    lines = [decoded(line, path.name) for path in files for line in open_lines(path)]
    return {
        "files": read,
        "peak_nbytes": peak,
        "largest": read_one(max(lines, key=len)),
        "damaged": read_damaged(lines, mutations, seed),
    }


def read_file(path: Path) -> dict[str, Any]:
    """Counts and processor seconds for one file, unpacking included."""
    started = time.process_time()
    reader, lines, characters, slowest = Reader(path.name), 0, 0, 0.0
    refused: list[str] = []
    for line in open_lines(path):
        before = time.process_time()
        try:
            reader.read(decoded(line, path.name), line.number)
        except InvalidInput as error:
            refused.append(str(error))
        slowest = max(slowest, time.process_time() - before)
        lines += 1
        characters += len(line.data)
    return {
        "lines": lines,
        "characters": characters,
        "refused": len(refused),
        "seconds": round(time.process_time() - started, 2),
        "slowest_seconds": round(slowest, 3),
        "findings": refused[:MOST_FINDINGS],
    }


def read_one(text: str) -> dict[str, Any]:
    """Processor seconds for one line by a new reader, and the most bytes alive meanwhile."""
    started = time.process_time()
    Reader().read(text)
    seconds = time.process_time() - started
    tracemalloc.start()
    try:
        Reader().read(text)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return {"characters": len(text), "seconds": round(seconds, 3), "peak_nbytes": peak}


def read_damaged(lines: Sequence[str], count: int, seed: int) -> dict[str, Any]:
    """How `count` damaged lines end; `other` counts what is neither read nor refused."""
    rng = random.Random(seed)
    reader = Reader("damaged")
    ends: Counter[str] = Counter(read=0, refused=0, other=0)
    findings: list[str] = []
    slowest = 0.0
    for _ in range(count):
        text = mutated(rng.choice(lines), rng)
        before = time.process_time()
        try:
            reader.read(text)
            ends["read"] += 1
        except InvalidInput:
            ends["refused"] += 1
        except Exception as error:  # Any other end is what this run looks for.
            ends["other"] += 1
            findings.append(f"{error!r} on {text[:2000]}")
        slowest = max(slowest, time.process_time() - before)
    return {
        "lines": count,
        **ends,
        "slowest_seconds": round(slowest, 3),
        "findings": findings[:MOST_FINDINGS],
    }


if __name__ == "__main__":
    print(json.dumps(run([Path(name) for name in sys.argv[1:]]), indent=1))
