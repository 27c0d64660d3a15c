"""Feedback: what was seen so far steers what is generated next.

Cases come in generations. The steering of a generation follows from what the generations up to the
one before the last have seen, so it does not depend on how many jobs run, and nobody waits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from kernelref.fuzzing.campaign_features import is_pair
from kernelref.fuzzing.generate_opts import Memory
from kernelref.fuzzing.generate_taste import DEFAULT, Taste
from kernelref.ir.ast import Op
from kernelref.ir.dtype import DType
from kernelref.opt.opt import Opt, OptOps

GENERATION = 128
"""Cases in a generation."""

FRESH = 4
"""By how much the weight of the op or dtype grows that new features come from most."""


@dataclass(frozen=True, slots=True)
class Steering:
    """Weights for one generation: of ops and dtypes, and the pairs of opts seen so far."""

    ops: tuple[tuple[str, int], ...] = ()
    dtypes: tuple[tuple[str, int], ...] = ()
    pairs: tuple[tuple[str, int], ...] = ()

    def taste(self) -> Taste:
        """The default taste with these weights."""
        if not self.ops:
            return DEFAULT
        ops = {Op[name]: weight for name, weight in self.ops}
        known = {dtype.name: dtype for dtype in DEFAULT.dtypes}
        dtypes: dict[DType, int] = {known[name]: weight for name, weight in self.dtypes}
        return replace(DEFAULT, ops=ops, dtypes=dtypes)

    def memory(self) -> Memory:
        """The pairs as a walk asks for them."""
        pairs: Counter[tuple[OptOps | None, OptOps]] = Counter()
        for name, count in self.pairs:
            before, _, after = name.partition(">")
            pairs[OptOps[before] if before else None, OptOps[after]] = count
        return Memory(pairs)


@dataclass(slots=True)
class Feedback:
    """What was seen: how often each feature and each ordered pair of opts, and what was new."""

    features: Counter[str] = field(default_factory=Counter)
    pairs: Counter[str] = field(default_factory=Counter)
    new_ops: Counter[str] = field(default_factory=Counter)
    new_dtypes: Counter[str] = field(default_factory=Counter)

    def end_generation(self, cases: Iterable[tuple[Sequence[str], Sequence[Opt]]]) -> None:
        """Add the features and applied opts of the cases of a generation."""
        self.new_ops, self.new_dtypes = Counter(), Counter()
        for features, opts in cases:
            for feature in features:
                if feature not in self.features:
                    reader = feature.split(" < ")[0].split(" ")
                    self.new_ops[reader[0]] += 1
                    self.new_dtypes[reader[1]] += 1
                self.features[feature] += 1
            memory = Memory()
            memory.add(opts)
            for (before, after), count in memory.pairs.items():
                self.pairs[f"{before.name if before else ''}>{after.name}"] += count

    def steering(self) -> Steering:
        """Weights that favour where new features still come from."""
        ops = {op.name: weight for op, weight in DEFAULT.ops.items()}
        dtypes = {dtype.name: weight for dtype, weight in DEFAULT.dtypes.items()}
        return Steering(
            _favoured(ops, self.new_ops),
            _favoured(dtypes, self.new_dtypes),
            tuple(sorted(self.pairs.items())),
        )

    @property
    def singles_and_pairs(self) -> tuple[int, int]:
        """How many features and how many pairs were seen."""
        pairs = sum(map(is_pair, self.features))
        return len(self.features) - pairs, pairs


def _favoured(base: Mapping[str, int], new: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    """Base weights, up to FRESH times as large by how much was new."""
    most = max((new.get(name, 0) for name in base), default=0)
    if not most:
        return tuple((name, 4 * weight) for name, weight in base.items())
    return tuple(
        (name, 4 * weight + 4 * (FRESH - 1) * weight * new.get(name, 0) // most)
        for name, weight in base.items()
    )
