"""One source of decisions for every generator: seeded and fast, or driven by a property tester.

A generator asks a `Chooser` and nothing else, so the same code makes the cases of a campaign
(`SeededChooser`) and of `fuzzing/strategies`, where each answer is drawn and shrunk by Hypothesis.
Smaller answers are simpler ones: a generator lists its simplest option first.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Chooser(ABC):
    """Answers questions. Only `integer` is asked of an implementation."""

    @abstractmethod
    def integer(self, low: int, high: int) -> int:
        """An integer from `low` to `high`, both included; towards `low` is simpler."""

    def choice(self, options: Sequence[T]) -> T:
        """One of the options; the first is the simplest."""
        return options[self.integer(0, len(options) - 1)]

    def weighted(self, table: Sequence[tuple[T, int]]) -> T:
        """One of the options by weight; the first is the simplest. Weights sum to at least 1."""
        place = self.integer(0, sum(weight for _, weight in table) - 1)
        for option, weight in table:
            place -= weight
            if place < 0:
                return option
        raise AssertionError("weights below zero")

    def chance(self, percent: int) -> bool:
        """True in `percent` of 100 answers; False is simpler."""
        return self.integer(0, 99) >= 100 - percent

    def subset(self, options: Sequence[T], percent: int, *, at_least: int = 0) -> list[T]:
        """Each option with this chance, in order, and no fewer than `at_least`."""
        kept = [option for option in options if self.chance(percent)]
        missing = at_least - len(kept)
        if missing > 0:
            others = [option for option in options if option not in kept]
            kept += self.shuffled(others)[:missing]
            kept.sort(key=options.index)
        return kept

    def shuffled(self, options: Sequence[T]) -> list[T]:
        """The options in another order; as they stand is the simplest."""
        rest = list(options)
        return [rest.pop(self.integer(0, len(rest) - 1)) for _ in range(len(rest))]


class FixedChooser(Chooser):
    """Answers from a list of numbers, each cut to the question; the simplest when it is used up."""

    def __init__(self, numbers: Sequence[int]) -> None:
        self._numbers = iter(numbers)

    def integer(self, low: int, high: int) -> int:
        """The next number, modulo the number of possible answers."""
        return low + next(self._numbers, 0) % (high - low + 1)


class SeededChooser(Chooser):
    """Answers that follow from a seed."""

    def __init__(self, seed: int | str) -> None:
        self._random = random.Random(seed)

    def integer(self, low: int, high: int) -> int:
        """An integer from `low` to `high`, uniform."""
        return low + int(self._random.random() * (high - low + 1))
