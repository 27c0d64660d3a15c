"""One memory, its elements, and who touched them: the rules of shared and global memory.

Work-items are numbered through the launch, `group_size` of them to a group. Between two barriers
(one epoch) no two work-items of a group may touch an element with a write among them; two groups
never may. Law: a race is reported exactly when the accesses of this run break a rule.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernelref.ir import semantics
from kernelref.ir.dtype import DType
from kernelref.ir.semantics import Array

NOBODY, MANY = 0, -1
"""Who touched an element; a work-item or group is its number plus one.

What is 0 takes no memory until it is touched, so a few groups of a huge launch are cheap.
"""


@dataclass(frozen=True, slots=True)
class Race:
    """An element, and the work-items that race for it, as far as they are known."""

    place: int
    items: tuple[int, ...]


class Memory:
    """Elements as stored, which of them hold a value, and who read and wrote them.

    `data` None: nothing is known of the elements. Accesses are remembered only where they matter:
    writes of a memory that is written, reads of one that is written and read.
    """

    def __init__(
        self, dtype: DType, elements: int, data: Array | None, *, writes: bool, reads: bool
    ) -> None:
        self.dtype = dtype
        self.elements = elements
        self.data = np.zeros(elements, semantics.storage(dtype)) if data is None else data
        self.epoch = 0
        self.is_written = np.zeros(elements if writes else 0, bool)
        self.holds_value = np.zeros(elements, bool) if data is None and reads else None
        self._writer = _Accesses(elements) if writes else None
        self._reader = _Accesses(elements) if writes and reads else None

    @property
    def is_tracked(self) -> bool:
        """Whether reads have rules: of a memory that is written too, or that holds nothing yet."""
        return self._reader is not None or self.holds_value is not None

    def read(self, places: Array, items: Array, group_size: int) -> Race | None:
        """Note reads at flat `places`; the first that races, if any does."""
        if self._writer is None or self._reader is None:
            return None
        self._reader.note(places, items, self.epoch, group_size)
        return self._writer.conflict(places, items, self.epoch, group_size)

    def write(self, places: Array, values: Array, items: Array, group_size: int) -> Race | None:
        """Store; of several values for one place the last stays. The first race, if any."""
        assert self._writer is not None
        race = self._writer.conflict(places, items, self.epoch, group_size)
        if race is None and self._reader is not None:
            race = self._reader.conflict(places, items, self.epoch, group_size)
        self._writer.note(places, items, self.epoch, group_size)
        if race is None:
            race = self._writer.conflict(places, items, self.epoch, group_size)
        self.data[places] = semantics.encode(values, self.dtype)
        self.is_written[places] = True
        if self.holds_value is not None:
            self.holds_value[places] = True
        return race

    def first_without_value(self, places: Array) -> int | None:
        """The position of a read of what nobody wrote, if there is one."""
        if self.holds_value is None or (found := self.holds_value[places]).all():
            return None
        return int(found.argmin())


class _Accesses:
    """Per element who accessed it in the last epoch it was accessed in, and from which groups."""

    def __init__(self, elements: int) -> None:
        self.item = np.zeros(elements, np.int64)
        self.epoch = np.zeros(elements, np.int32)
        self.group = np.zeros(elements, np.int64)

    def conflict(self, places: Array, items: Array, epoch: int, group_size: int) -> Race | None:
        """The first access that meets one of another work-item or group."""
        known, group = self.item[places], self.group[places]
        is_other = (known != items + 1) & (known != NOBODY) & (self.epoch[places] == epoch)
        is_other |= (group != items // group_size + 1) & (group != NOBODY)
        if not is_other.any():
            return None
        first = int(is_other.argmax())
        place, item, other = int(places[first]), int(items[first]), int(known[first]) - 1
        if other in (item, MANY - 1):
            now = items[(places == place) & (items != item)]
            return Race(place, (int(now[0]), item) if now.size else (item,))
        return Race(place, (other, item))

    def note(self, places: Array, items: Array, epoch: int, group_size: int) -> None:
        """Add accesses; several work-items at one element become MANY."""
        is_stale = self.epoch[places] != epoch
        _merge(self.item, places, np.where(is_stale, NOBODY, self.item[places]), items + 1)
        _merge(self.group, places, self.group[places], items // group_size + 1)
        self.epoch[places] = epoch


def _merge(owner: Array, places: Array, before: Array, now: Array) -> None:
    merged = np.where((before == NOBODY) | (before == now), now, MANY)
    owner[places] = merged
    owner[places[owner[places] != merged]] = MANY
