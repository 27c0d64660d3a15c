"""docs/generator.md says what the generator makes today."""

from __future__ import annotations

from pathlib import Path

from kernelref.fuzzing.generate_counts import BEGIN, END, KERNELS, counted, made, with_counts

PAGE = (Path(__file__).parents[2] / "docs" / "generator.md").read_text(encoding="utf-8")


def test_the_page_has_the_figures_of_today():
    lines = counted(made(KERNELS))
    assert with_counts(PAGE, lines) == PAGE, (
        "python -m kernelref.fuzzing.generate_counts docs/generator.md"
    )


def test_what_the_page_says_comes_often_enough():
    """A property that no kernel has would be a row of 0.0."""
    figures = PAGE.partition(BEGIN)[2].partition(END)[0]
    shares = [line.split("|")[2].strip() for line in figures.splitlines() if line.count("|") == 3]
    assert min(float(share) for share in shares if share.replace(".", "").isdigit()) > 1


def test_with_counts_keeps_the_rest():
    assert with_counts(f"a\n{BEGIN}\nold\n{END}\nb", ["new"]) == f"a\n{BEGIN}\nnew\n{END}\nb"
