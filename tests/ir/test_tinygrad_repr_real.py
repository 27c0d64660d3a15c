"""The reader on real kernels: every form comes back as it was, damage is always refused."""

from __future__ import annotations

import os
import random
import re
import time
import tracemalloc
from functools import cache

import pytest

from kernelref.cases.lines import decoded, open_lines
from kernelref.errors import InvalidInput
from kernelref.ir.tinygrad_repr import Reader, read_line
from kernelref.jobs.benchmarks.mutations import WORDS, mutated
from tests.ir.print_text import text_of
from tests.shared_bugs import KERNEL_FILES, kernel_file

IS_LONG = bool(os.environ.get("KERNELREF_LONG"))
SAMPLE = 20_000 if IS_LONG else 250
MUTATIONS = 5_000 if IS_LONG else 600


@cache
def lines(name: str) -> tuple[str, ...]:
    path = kernel_file(name)
    return tuple(decoded(line, name) for line in open_lines(path))


def sample(name: str, count: int, seed: int = 1) -> list[str]:
    everything = lines(name)
    return random.Random(seed).sample(everything, min(count, len(everything)))


@pytest.mark.parametrize("name", KERNEL_FILES)
def test_what_is_read_prints_as_it_was(name: str) -> None:
    """`contiguous` too: it is not read but derived, and the release derives the same."""
    reader, compared = Reader(name), 0
    for text in sample(name, SAMPLE):
        reading = reader.read(text)
        if "Variable" in text:
            continue
        compared += 1
        assert text_of(reading.ast, reading.dialect) == re.sub(r"NumNode\((-?\d+)\)", r"\1", text)
    assert compared > 0.9 * min(SAMPLE, len(lines(name)))


@pytest.mark.parametrize("name", KERNEL_FILES)
def test_what_a_reader_remembers_does_not_change_what_it_reads(name: str) -> None:
    reader = Reader(name)
    texts = sample(name, 40, seed=2)
    for text in (*texts, *texts):
        if len(text) < 50_000:
            assert reader.read(text).ast == read_line(text).ast


@pytest.mark.parametrize("name", KERNEL_FILES)
def test_symbolic_lines_read(name: str) -> None:
    symbolic = [text for text in lines(name) if "Variable" in text]
    assert len(symbolic) == {"tinygrad-0.8.0.txt.gz": 45, "tinygrad-0.9.1.txt.gz": 51}[name]
    reader = Reader(name)
    for text in symbolic:
        assert reader.read(text).ast


@pytest.mark.parametrize("name", KERNEL_FILES)
def test_damaged_lines_are_read_or_refused(name: str) -> None:
    """Nothing but success or InvalidInput, and the reader's memory survives what it refused."""
    rng = random.Random(7)
    reader = Reader(name)
    short = [text for text in lines(name) if len(text) < 6_000]
    places = []
    for _ in range(MUTATIONS):
        text = mutated(rng.choice(short), rng)
        try:
            reader.read(text)
        except InvalidInput as error:
            places.append(error.where)
    assert len(places) > MUTATIONS // 2
    assert all(place.startswith(f"{name}:1") for place in places)
    for text in short[:20]:
        assert reader.read(text).ast == read_line(text).ast


@pytest.mark.parametrize("word", WORDS)
def test_one_word_many_times_takes_linear_time(word: str) -> None:
    start = time.process_time()
    with pytest.raises(InvalidInput):
        read_line(word * (400_000 // len(word)))
    assert time.process_time() - start < 5


@pytest.mark.parametrize(
    "part",
    [
        "View(shape=",
        "View(shape=(1,), strides=",
        "View(shape=(1,), strides=(1,), offset=0, mask=None, contiguous=True), ",
        "LazyOp(op=BufferOps.LOAD, src=(), arg=MemBuffer(idx=",
        "LazyOp(op=BufferOps.LOAD, src=(), arg=MemBuffer(idx=1, dtype=dtypes.float, "
        "st=ShapeTracker(views=(View(shape=(1,), strides=(1,), offset=0, mask=None, "
        "contiguous=True), ",
    ],
)
def test_the_shortcut_for_repeated_text_takes_linear_time(part: str) -> None:
    start = time.process_time()
    with pytest.raises(InvalidInput):
        read_line("(" + part * (1_000_000 // len(part)))
    assert time.process_time() - start < 10


def test_the_largest_line_reads_in_bounded_memory() -> None:
    largest = max((text for name in KERNEL_FILES for text in lines(name)), key=len)
    tracemalloc.start()
    try:
        reading = read_line(largest)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert reading.ast
    assert peak < 100 << 20
