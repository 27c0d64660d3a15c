"""Tensor cores: where the elements of a tile lie on the threads of a warp.

D's map is a bijection of the tile; those of A and B are onto, each element held equally often
(twice on AMD, where lanes 16 to 31 repeat 0 to 15, else once).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product

import pytest

from kernelref.opt.tensor_core import AMD, CUDA, HIP_0_8_0, METAL, METAL_0_8_0, PTX, TensorCore
from kernelref.prove.fragments import Fragment, fragments
from kernelref.prove.verdict import Obligation, Part
from proofs.theorem import Theorem, settle

TABLES = {
    "metal": METAL, "cuda": CUDA, "ptx": PTX, "amd": AMD,
    "metal 0.8.0": METAL_0_8_0, "hip 0.8.0": HIP_0_8_0,
}  # fmt: skip
CORES = [(name, core) for name, cores in TABLES.items() for core in cores]
OLDEST = {*METAL_0_8_0, *HIP_0_8_0}
Record = Callable[[str, object], None]


def fragments_of(core: TensorCore, *, is_oldest: bool) -> list[Fragment]:
    """A table of 0.8.0 lists its thread axes the other way round."""
    return list(fragments(core, is_last_first=is_oldest))


def swapped(core: TensorCore) -> Iterator[TensorCore]:
    """Two neighbouring aliases of one operand change places."""
    for number, aliases in enumerate(core.aliases):
        for i in range(len(aliases) - 1):
            if aliases[i] != aliases[i + 1]:
                changed = (*aliases[:i], aliases[i + 1], aliases[i], *aliases[i + 2 :])
                yield replace(
                    core, aliases=(*core.aliases[:number], changed, *core.aliases[number + 1 :])
                )


def one_alias_twice(core: TensorCore) -> Iterator[Part]:
    """D's last thread axis reads what its first does."""
    *others, result = core.aliases
    threads = len(core.threads)
    wrong = (*result[: threads - 1], result[0], *result[threads:])
    broken = replace(core, aliases=(*others, wrong))
    return iter([fragments_of(broken, is_oldest=core in OLDEST)[2].claim()])


@pytest.mark.parametrize(("table", "core"), CORES, ids=lambda value: str(value))
def test_fragments(table: str, core: TensorCore, record_property: Record) -> None:
    theorem = Theorem(
        f"{table} {core}: every fragment holds its tile",
        lambda: [f.claim() for f in fragments_of(core, is_oldest=core in OLDEST)],
        lambda: one_alias_twice(core),
        Obligation.BIJECTION,
    )
    settle(theorem, record_property)


@pytest.mark.parametrize(("table", "core"), CORES, ids=lambda value: str(value))
def test_multiplicity(table: str, core: TensorCore) -> None:
    """Counted one by one: every element as often as the fragment says."""
    expected = {"amd": 2, "hip 0.8.0": 2}.get(table, 1)
    for fragment in fragments_of(core, is_oldest=core in OLDEST):
        held = Counter(elements(fragment))
        rows, columns = fragment.shape
        assert set(held) == set(product(range(rows), range(columns)))
        assert set(held.values()) == {fragment.multiplicity}
        assert fragment.multiplicity == (1 if fragment.operand == "D" else expected)


def elements(fragment: Fragment) -> Iterator[tuple[int, int]]:
    for point in product(*(range(n) for n in fragment.box)):
        row, column = fragment.element(point)
        yield int(row), int(column)


def test_two_aliases_in_each_other_s_place_are_seen() -> None:
    """Of all such changes of the tables, many lose elements of a tile."""
    lost = 0
    for _, core in CORES:
        for wrong in swapped(core):
            for fragment in fragments_of(wrong, is_oldest=core in OLDEST):
                rows, columns = fragment.shape
                held = Counter(elements(fragment))
                is_whole = set(held) == set(product(range(rows), range(columns)))
                lost += not is_whole
    assert lost > 10
