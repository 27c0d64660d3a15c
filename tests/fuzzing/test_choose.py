from __future__ import annotations

from collections import Counter

import pytest

from kernelref.fuzzing.choose import Chooser, FixedChooser, SeededChooser


class Simplest(Chooser):
    def integer(self, low: int, high: int) -> int:
        return low


def test_the_same_seed_gives_the_same_answers():
    answers = [[SeededChooser("7/1").integer(0, 99) for _ in range(5)] for _ in range(2)]
    assert answers[0] == answers[1]
    assert SeededChooser("7/2").integer(0, 10**9) != SeededChooser("7/1").integer(0, 10**9)


def test_integers_reach_both_ends_and_no_further():
    chooser = SeededChooser(0)
    assert {chooser.integer(3, 5) for _ in range(200)} == {3, 4, 5}


def test_weights_and_chances_are_what_they_say():
    chooser = SeededChooser(1)
    found = Counter(chooser.weighted((("a", 1), ("b", 3))) for _ in range(4000))
    assert 0.70 < found["b"] / 4000 < 0.80
    assert 0.25 < sum(chooser.chance(30) for _ in range(4000)) / 4000 < 0.35
    assert not any(chooser.chance(0) for _ in range(100))
    assert all(chooser.chance(100) for _ in range(100))


def test_the_first_option_is_the_simplest():
    chooser = Simplest()
    assert chooser.choice("abc") == "a"
    assert chooser.weighted((("a", 1), ("b", 9))) == "a"
    assert chooser.chance(99) is False
    assert chooser.subset((1, 2, 3), 50) == []
    assert chooser.subset((1, 2, 3), 50, at_least=1) == [1]
    assert chooser.shuffled((1, 2, 3)) == [1, 2, 3]


@pytest.mark.parametrize("seed", range(20))
def test_a_shuffle_keeps_all_and_a_subset_keeps_order(seed):
    chooser = SeededChooser(seed)
    assert sorted(chooser.shuffled(range(6))) == list(range(6))
    kept = chooser.subset(range(6), 40, at_least=2)
    assert kept == sorted(kept)
    assert len(kept) >= 2


def test_fixed_answers_are_cut_to_the_question_and_end_simple():
    chooser = FixedChooser([7, 2])
    assert chooser.integer(1, 3) == 1 + 7 % 3
    assert chooser.integer(0, 9) == 2
    assert chooser.integer(4, 9) == 4
