"""The integers of tinygrad's own index arithmetic: sums of atoms in the order they were met.

`Linear` is a value; `bounds` are the intervals that a release gives it. A bound can itself be
Linear (an axis of symbolic extent), and an undecided comparison counts as true, as upstream.

Source: tinygrad 0.8.0, 0.9.0 and 0.9.1, shape/symbolic.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TypeAlias

from kernelref.errors import Unsupported
from kernelref.ir.index import Sint, Var, add, mul, polynomial


@dataclass(frozen=True)
class Axis:
    """A variable: an axis or a symbolic extent. Its bounds are inclusive."""

    name: str
    low: int
    high: Number

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Quotient:
    """`of` // `by`, with `of` never negative."""

    of: Linear
    by: int

    def __str__(self) -> str:
        return f"({self.of}//{self.by})"


@dataclass(frozen=True)
class Remainder:
    """`of` % `by`, with `of` never negative."""

    of: Linear
    by: int

    def __str__(self) -> str:
        return f"({self.of}%{self.by})"


Atom: TypeAlias = Axis | Quotient | Remainder


@dataclass(frozen=True, eq=False)
class Linear:
    """A sum of atoms times coefficients, and a constant. Equal whatever the order of its terms."""

    terms: tuple[tuple[Atom, Number], ...]
    constant: int = 0

    @cached_property
    def _key(self) -> tuple[frozenset[tuple[Atom, Number]], int]:
        return frozenset(self.terms), self.constant

    @cached_property
    def _hash(self) -> int:
        return hash(self._key)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Linear) and self._key == other._key

    def __str__(self) -> str:
        terms = [str(a) if c == 1 else f"{a}*{c}" for a, c in self.terms]
        return f"({'+'.join([*terms, str(self.constant)] if self.constant else terms)})"

    @cached_property
    def axes(self) -> frozenset[Axis]:
        """The variables in it."""
        found: frozenset[Axis] = frozenset()
        for atom, coefficient in self.terms:
            found |= frozenset({atom}) if isinstance(atom, Axis) else atom.of.axes
            if isinstance(coefficient, Linear):
                found |= coefficient.axes
        return found

    @property
    def single(self) -> tuple[Atom, Number] | None:
        """Its only component, unless that is the constant."""
        return self.terms[0] if len(self.terms) == 1 and not self.constant else None

    def components(self) -> list[Number]:
        """Its summands, the constant last."""
        parts: list[Number] = [Linear((term,)) for term in self.terms]
        return [*parts, self.constant] if self.constant else parts


Number: TypeAlias = int | Linear


def release_raises(what: str) -> Unsupported:
    """The exception for a place where the release itself raises."""
    return Unsupported("release-raises", what)


def of_atom(atom: Atom) -> Linear:
    """The atom as a value."""
    return Linear(((atom, 1),))


def plus(*values: Number) -> Number:
    """The sum, like terms collected where the first of them stood."""
    terms: dict[Atom, Number] = {}
    constant = 0
    for value in values:
        if isinstance(value, int):
            constant += value
            continue
        constant += value.constant
        for atom, c in value.terms:
            known = terms.get(atom, 0)
            plain = isinstance(known, int) and isinstance(c, int)
            terms[atom] = known + c if plain else plus(known, c)  # type: ignore[operator]
    kept = tuple((atom, c) for atom, c in terms.items() if c != 0)
    return Linear(kept, constant) if kept else constant


def times(value: Number, factor: Number) -> Number:
    """The product, distributed over the terms of `value`."""
    if isinstance(value, int):
        if isinstance(factor, int):
            return value * factor
        value, factor = factor, value
    if factor == 0:
        return 0
    if factor == 1:
        return value
    parts = [Linear(((atom, times(c, factor)),)) for atom, c in value.terms]
    return plus(*parts, times(factor, value.constant))


def minus(left: Number, right: Number) -> Number:
    """The difference."""
    return plus(left, times(right, -1))


def bounds(value: Number, *, old: bool = False) -> tuple[Number, Number]:
    """The least and the largest value, by intervals. `old`: as 0.8.0 has them."""
    return (value, value) if isinstance(value, int) else _bounds(value, old)


@lru_cache(maxsize=1 << 12)
def _bounds(value: Linear, old: bool) -> tuple[Number, Number]:
    low: Number = value.constant
    high: Number = value.constant
    for atom, c in value.terms:
        ends = _term_bounds(*atom_bounds(atom, old=old), c, old=old)
        low, high = plus(low, ends[0]), plus(high, ends[1])
    return low, high


def _term_bounds(least: Number, most: Number, c: Number, *, old: bool) -> tuple[Number, Number]:
    """The bounds of atom * c, for an atom in [least, most], which is never negative."""
    if isinstance(c, int):
        ends = times(least, c), times(most, c)
        return ends if c >= 0 else (ends[1], ends[0])
    if old:
        ends = times(least, c), times(most, c)
        return ends if is_possible_ge(c, 0, old=old) else (ends[1], ends[0])
    low, high = bounds(c)
    if is_possible_ge(low, 0):
        return times(least, low), times(most, high)
    return times(most, low), times(least, high)


def atom_bounds(atom: Atom, *, old: bool = False) -> tuple[Number, Number]:
    """The bounds of an atom."""
    if isinstance(atom, Axis):
        return atom.low, atom.high
    low, high = bounds(atom.of, old=old)
    if isinstance(atom, Quotient):
        return _divided(low, atom.by), _divided(high, atom.by)
    if not (isinstance(low, int) and isinstance(high, int)):
        return 0, atom.by - 1
    first, last = low % atom.by, high % atom.by
    if high - low >= atom.by or (low != high and first >= last):
        return 0, atom.by - 1
    return first, last


def _divided(value: Number, by: int) -> Number:
    """A symbolic bound is divided as a value, and stays a quotient of it."""
    return value // by if isinstance(value, int) else of_atom(Quotient(value, by))


def is_possible_lt(left: Number, right: Number, *, old: bool = False) -> bool:
    """Whether upstream takes `left < right` for true: unless its intervals exclude it."""
    return lt_bounds(left, right, old=old) != (0, 0)


def is_possible_ge(left: Number, right: Number, *, old: bool = False) -> bool:
    """Whether upstream takes `left >= right` for true: it asks whether -left < 1 - right."""
    if isinstance(left, int):
        return is_possible_lt(right, left + 1, old=old)
    return is_possible_lt(times(left, -1), plus(times(right, -1), 1), old=old)


def lt_bounds(left: Number, right: Number, *, old: bool = False) -> tuple[int, int]:
    """The bounds of the condition `left < right`: (0, 1) when it is not decided.

    Raises: Unsupported where 0.8.0 does: it rewrites a sum first, and knows no symbolic multiples.
    """
    if isinstance(left, int):
        if isinstance(right, int):
            return int(left < right), int(left < right)
        return lt_bounds(times(right, -1), -left, old=old)
    if old and isinstance(right, int) and left.single is None and _has_symbolic_multiple(left):
        raise release_raises("a symbolic multiple in a comparison")
    if left == right and not old:
        return 0, 0
    low, high = bounds(left, old=old)
    least, most = bounds(right, old=old)
    if is_possible_lt(high, least, old=old):
        return 1, 1
    return (0, 0) if is_possible_ge(low, most, old=old) else (0, 1)


def _has_symbolic_multiple(value: Linear) -> bool:
    return any(isinstance(c, Linear) for _, c in value.terms)


def from_sint(value: Sint) -> Number:
    """One of our integers in upstream's form; symbolic ones are polynomials of variables."""
    if isinstance(value, int):
        return value
    return plus(*(_from_monomial(atoms, c) for atoms, c in polynomial(value)))


def _from_monomial(atoms: tuple[object, ...], coefficient: int) -> Number:
    total: Number = coefficient
    for atom in reversed(atoms):
        if not isinstance(atom, Var):
            raise release_raises(f"a symbolic extent that is not a polynomial: {atom}")
        total = times(of_atom(Axis(atom.name, atom.low, from_sint(atom.high))), total)
    return total


def to_sint(value: Number) -> Sint:
    """One of our integers from upstream's form, for strides."""
    if isinstance(value, int):
        return value
    total: Sint = value.constant
    for atom, c in value.terms:
        assert isinstance(atom, Axis), "a stride is a polynomial of variables"
        total = add(total, mul(Var(atom.name, atom.low, to_sint(atom.high)), to_sint(c)))
    return total
