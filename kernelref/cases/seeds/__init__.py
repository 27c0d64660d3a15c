"""The seeds of the corpus, written from what real models compute.

Each seed is a function whose docstring is the case's title; `cases` makes them all. The files in
corpus/seeds are what `python -m kernelref.cases.seeds FOLDER` writes, and a test holds them equal.
"""

from __future__ import annotations

from collections.abc import Iterator

from kernelref.cases.case import Case
from kernelref.cases.corpus import slug
from kernelref.cases.seeds import convolution, layers, linear, movement, pointwise, special

MODULES = (linear, convolution, layers, movement, pointwise, special)


def cases() -> Iterator[tuple[str, Case]]:
    """The seeds by file name."""
    for module in MODULES:
        for build in module.SEEDS:
            title = (build.__doc__ or build.__name__).partition("\n")[0].rstrip(".")
            origin = f"{module.__name__}.{build.__name__}"
            yield f"{slug(build.__name__)}.json", Case(build(), title=title, origin=origin)
