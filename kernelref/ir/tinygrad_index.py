"""How far the index arithmetic of tinygrad 0.8.0 to 0.9.1 simplifies, as a copy of its behaviour.

Which real strides a release knows, and which axes it calls masked, depends on what its own
simplifier happens to fold; the heuristics then act on that. This module reproduces those folds and
no others. It never says what an expression means: `evaluate` and `View.address` do.

A value is `Linear`: multiples of atoms in the order in which they were met, and a constant. A bound
can itself be Linear (an axis of symbolic extent), and an undecided comparison counts as true, as
it does upstream.

Source: tinygrad 0.8.0, 0.9.0 and 0.9.1, shape/symbolic.py.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from math import gcd
from typing import TypeAlias

from kernelref.errors import Unsupported
from kernelref.ir.index import Sint, Var, add, mul, polynomial


@dataclass(frozen=True)
class Axis:
    """A variable: an axis or a symbolic extent. Its bounds are inclusive."""

    name: str
    low: int
    high: Number


@dataclass(frozen=True)
class Quotient:
    """`of` // `by`, with `of` never negative."""

    of: Linear
    by: int
    low: Number = field(init=False, compare=False)
    high: Number = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "low", floordiv(self.of.low, self.by))
        object.__setattr__(self, "high", floordiv(self.of.high, self.by))


@dataclass(frozen=True)
class Remainder:
    """`of` % `by`, with `of` never negative."""

    of: Linear
    by: int
    low: Number = field(init=False, compare=False)
    high: Number = field(init=False, compare=False)

    def __post_init__(self) -> None:
        first, last, by = self.of.low, self.of.high, self.by
        low, high = mod(first, by), mod(last, by)
        wraps = is_possible_le(by, minus(last, first))
        if wraps or (first != last and is_possible_le(high, low)):
            low, high = 0, by - 1
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)


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

    @cached_property
    def low(self) -> Number:
        """The least value, by intervals."""
        return plus(self.constant, *(_term_bounds(a, c)[0] for a, c in self.terms))

    @cached_property
    def high(self) -> Number:
        """The largest value, by intervals."""
        return plus(self.constant, *(_term_bounds(a, c)[1] for a, c in self.terms))

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


def _raises(what: str) -> Unsupported:
    return Unsupported("release-raises", what)


def _term_bounds(atom: Atom, c: Number) -> tuple[Number, Number]:
    """The bounds of atom * c; an atom is never negative."""
    if isinstance(c, int):
        ends = times(atom.low, c), times(atom.high, c)
        return ends if c >= 0 else (ends[1], ends[0])
    if is_possible_le(0, c.low):
        return times(atom.low, c.low), times(atom.high, c.high)
    return times(atom.high, c.low), times(atom.low, c.high)


def low_of(value: Number) -> Number:
    """The least value."""
    return value.low if isinstance(value, Linear) else value


def high_of(value: Number) -> Number:
    """The largest value."""
    return value.high if isinstance(value, Linear) else value


def _settled(value: Linear) -> Number:
    """A plain int where the bounds leave one value."""
    if not value.terms:
        return value.constant
    low = value.low
    return low if isinstance(low, int) and low == value.high else value


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
            both_plain = isinstance(known, int) and isinstance(c, int)
            terms[atom] = known + c if both_plain else plus(known, c)  # type: ignore[operator]
    kept = tuple((atom, c) for atom, c in terms.items() if c != 0)
    return _settled(Linear(kept, constant))


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


def is_possible_lt(left: Number, right: Number) -> bool:
    """Whether upstream takes `left < right` for true: unless its intervals exclude it."""
    return _lt_bounds(left, right) != (0, 0)


def is_possible_le(left: Number, right: Number) -> bool:
    """Whether upstream takes `left <= right` for true."""
    return is_possible_lt(left, plus(right, 1))


def _lt_bounds(left: Number, right: Number) -> tuple[int, int]:
    if isinstance(left, int):
        if isinstance(right, int):
            return int(left < right), int(left < right)
        return _lt_bounds(times(right, -1), -left)
    if left == right:
        return 0, 0
    if is_possible_lt(high_of(left), low_of(right)):
        return 1, 1
    return (0, 0) if is_possible_le(high_of(right), low_of(left)) else (0, 1)


def floordiv(value: Number, by: Number, *, old: bool = False) -> Number:
    """value // by, as far as a release folds it. `old`: as 0.8.0 does."""
    return _floordiv(value, by, old=old, factoring=True)


def _floordiv(value: Number, by: Number, *, old: bool, factoring: bool) -> Number:
    if isinstance(by, Linear):
        return _floordiv_symbolic(value, by)
    if by <= 0:
        raise _raises(f"{value} // {by}")
    if isinstance(value, int):
        return value // by
    match value.single:
        case None:
            if by != 1 and factoring:
                return _floordiv_sum(value, by, old=old)
        case (atom, 1):
            if isinstance(atom, Quotient):
                return floordiv(atom.of, atom.by * by, old=old)
            if isinstance(atom, Remainder) and atom.by % by == 0:
                return mod(floordiv(atom.of, by, old=old), atom.by // by, old=old)
        case (atom, int(c)):
            if c % by == 0:
                return times(Linear(((atom, 1),)), c // by)
            if by % c == 0 and c > 0:
                return floordiv(Linear(((atom, 1),)), by // c, old=old)
        case (atom, c):
            if mod(c, by, old=old) == 0:
                return times(Linear(((atom, 1),)), floordiv(c, by, old=old))
            mod(by, c, old=old)
    return _floordiv_plain(value, by, old=old)


def _floordiv_plain(value: Number, by: int, *, old: bool) -> Number:
    """A Quotient; a value that can be negative is shifted first."""
    if isinstance(value, int):
        return value // by
    if by == 1:
        return value
    if not is_possible_le(0, value.low):
        shift = floordiv(value.low, by)
        shifted = plus(value, times(shift, -by))
        return plus(_floordiv(shifted, by, old=old, factoring=False), shift)
    return _settled(Linear(((Quotient(value, by), 1),)))


def _floordiv_sum(value: Linear, by: int, *, old: bool) -> Number:
    """Take out what divides; then divide by a common factor first, or by the first that fits."""
    whole: list[Number] = []
    rest: list[Number] = []
    common, divisor = by, 1
    for part in value.components():
        c = part if isinstance(part, int) else part.terms[0][1]
        if isinstance(part, Linear) and c == 1:
            rest.append(part)
            common = 1
        elif mod(c, by, old=old) == 0:
            whole.append(floordiv(part, by, old=old))
        elif isinstance(part, int):
            quotient = 0 if old else part // by
            if quotient:
                whole.append(quotient)
            rest.append(part - by * quotient)
            common = gcd(common, part - by * quotient)
        else:
            rest.append(part)
            common = gcd(common, c) if isinstance(c, int) else 1
            if isinstance(c, int) and divisor == 1 and by % c == 0:
                divisor = c
    first = common if common > 1 else divisor
    if first > 1:
        inner = _floordiv(plus(*rest), first, old=old, factoring=True)
        return plus(*whole, floordiv(inner, by // first, old=old))
    return plus(*whole, _floordiv_plain(plus(*rest), by, old=old))


def _floordiv_symbolic(value: Number, by: Linear) -> Number:
    if value == by:
        return 1
    if isinstance(value, Linear):
        if value.single is None:
            parts = [(part, mod(part, by) == 0) for part in value.components()]
            whole = plus(*(_floordiv_symbolic(part, by) for part, divides in parts if divides))
            if whole != 0:
                rest = plus(*(part for part, divides in parts if not divides))
                return plus(whole, _floordiv_symbolic(rest, by))
        elif isinstance(value.single[1], Linear) and mod(value.single[1], by) == 0:
            atom, c = value.single
            return times(Linear(((atom, 1),)), _floordiv_symbolic(c, by))
    if _is_below(value, by):
        return 0
    raise _raises(f"{value} // {by}")


def _is_below(value: Number, by: Linear) -> bool:
    """Whether upstream takes value for one of 0 .. by - 1."""
    return is_possible_lt(0, low_of(minus(by, value))) and is_possible_le(0, low_of(value))


def mod(value: Number, by: Number, *, old: bool = False) -> Number:
    """value % by, as far as a release folds it. `old`: as 0.8.0 does."""
    if isinstance(by, int) and by <= 0:
        raise _raises(f"{value} % {by}")
    if isinstance(value, int) and isinstance(by, int):
        return value % by
    if isinstance(value, Linear):
        match value.single:
            case None:
                if value == by:
                    return 0
                if isinstance(by, Linear) and is_possible_lt(0, low_of(minus(by, value))):
                    return value
                value = plus(*(_mod_part(part, by, old=old) for part in value.components()))
            case (Remainder(of, inner), 1) if isinstance(by, int) and inner % by == 0:
                return mod(of, by, old=old)
            case (_, 1):
                pass
            case (atom, c):
                value = times(Linear(((atom, 1),)), mod(c, by, old=old))
    return _mod_plain(value, by, old=old)


def _mod_part(part: Number, by: Number, *, old: bool) -> Number:
    """Inside a sum only constants and multiples are reduced."""
    is_atom = isinstance(part, Linear) and part.terms[0][1] == 1
    return part if is_atom else mod(part, by, old=old)


def _mod_plain(value: Number, by: Number, *, old: bool) -> Number:
    if isinstance(by, Linear):
        if value == by:
            return 0
        if _is_below(value, by):
            return value
        raise _raises(f"{value} % {by}")
    if isinstance(value, int):
        return value % by
    if by == 1:
        return 0
    low, high = value.low, value.high
    if isinstance(low, int) and isinstance(high, int):
        if low // by == high // by:
            return minus(value, low // by * by)
        if low < 0:
            return mod(minus(value, low // by * by), by, old=old)
    return _settled(Linear(((Remainder(value, by), 1),)))


@dataclass(frozen=True)
class Less:
    """The condition left < right, undecided by intervals."""

    left: Linear
    right: Number

    @property
    def axes(self) -> frozenset[Axis]:
        """The variables in it."""
        right = self.right.axes if isinstance(self.right, Linear) else frozenset[Axis]()
        return self.left.axes | right


Condition: TypeAlias = bool | Less


def less(left: Number, right: Number) -> Condition:
    """left < right in the form that a release gives it."""
    if isinstance(left, Linear) and isinstance(right, int):
        match left.single:
            case None:
                left, right = _without_small_terms(left, right)
                if isinstance(left, Linear) and left.single is not None:
                    return less(left, right)
            case (_, 1 | -1):
                pass
            case (atom, int(c)):
                left = times(Linear(((atom, 1),)), 1 if c > 0 else -1)
                right = (right + abs(c) - 1) // abs(c)
    decided = _lt_bounds(left, right)
    if decided[0] == decided[1]:
        return bool(decided[0])
    assert isinstance(left, Linear), "a comparison of ints is decided"
    return Less(left, right)


def not_less(left: Number, right: Number) -> Condition:
    """left >= right in the form that a release gives it."""
    return less(times(left, -1), plus(times(right, -1), 1))


def _without_small_terms(left: Linear, right: int) -> tuple[Number, int]:
    """Constants to the right; then terms too small to matter beside a common factor go."""
    right -= left.constant
    parts = Linear(left.terms).components()
    large: list[Linear] = []
    others: list[Number] = []
    common = right
    for part in parts:
        assert isinstance(part, Linear), "the constant is gone"
        c = part.terms[0][1]
        if isinstance(c, Linear):
            raise _raises("a symbolic multiple in a comparison")
        if c != 1 and c > 0 and is_possible_le(right, part.high):
            large.append(part)
            common = gcd(common, c)
        else:
            others.append(part)
    small = plus(*others)
    if large and is_possible_le(0, low_of(small)) and is_possible_lt(high_of(small), common):
        return plus(*(floordiv(part, common) for part in large)), right // common
    return plus(*parts), right


def from_sint(value: Sint) -> Number:
    """One of our integers in upstream's form; symbolic ones are polynomials of variables."""
    if isinstance(value, int):
        return value
    return plus(*(_from_monomial(atoms, c) for atoms, c in polynomial(value)))


def _from_monomial(atoms: tuple[object, ...], coefficient: int) -> Number:
    total: Number = coefficient
    for atom in reversed(atoms):
        if not isinstance(atom, Var):
            raise _raises(f"a symbolic extent that is not a polynomial: {atom}")
        axis = Axis(atom.name, atom.low, from_sint(atom.high))
        total = times(Linear(((axis, 1),)), total)
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


def conjunction(conditions: Iterable[Condition]) -> tuple[Less, ...] | None:
    """All conditions that are not decided; None when one is false."""
    kept: list[Less] = []
    for condition in conditions:
        if condition is False:
            return None
        if isinstance(condition, Less):
            kept.append(condition)
    return tuple(kept)
