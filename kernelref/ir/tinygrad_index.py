"""How far the index arithmetic of tinygrad 0.8.0 to 0.9.1 simplifies, as a copy of its behaviour.

Which real strides a release knows, and which axes it calls masked, depends on what its own
simplifier happens to fold; the heuristics then act on that. This module reproduces those folds and
no others. It never says what an expression means: `evaluate` and `View.address` do.

`old` means as 0.8.0 does. Read `tinygrad_linear` first.

Source: tinygrad 0.8.0, 0.9.0 and 0.9.1, shape/symbolic.py.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import gcd
from typing import TypeAlias

from kernelref.ir.tinygrad_linear import (
    Axis,
    Linear,
    Number,
    Quotient,
    Remainder,
    atom_bounds,
    bounds,
    is_possible_ge,
    is_possible_lt,
    lt_bounds,
    minus,
    of_atom,
    plus,
    release_raises,
    times,
)


def floordiv(value: Number, by: Number, *, old: bool = False) -> Number:
    """value // by, as far as a release folds it."""
    return _floordiv(value, by, old=old, factoring=True)


def _floordiv(value: Number, by: Number, *, old: bool, factoring: bool) -> Number:
    if isinstance(by, Linear):
        return _floordiv_symbolic(value, by, old=old)
    if by <= 0:
        raise release_raises(f"{value} // {by}")
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
                return times(of_atom(atom), c // by)
            if by % c == 0 and c > 0:
                return floordiv(of_atom(atom), by // c, old=old)
        case (atom, c):
            if mod(c, by, old=old) == 0:
                return times(of_atom(atom), floordiv(c, by, old=old))
            mod(by, c, old=old)
    return _floordiv_plain(value, by, old=old)


def _floordiv_plain(value: Number, by: int, *, old: bool) -> Number:
    """A Quotient; a value that can be negative is shifted first."""
    if isinstance(value, int):
        return value // by
    if by == 1:
        return value
    low, _ = bounds(value, old=old)
    if not is_possible_ge(low, 0, old=old):
        shift = floordiv(low, by, old=old)
        shifted = plus(value, times(shift, -by))
        return plus(_floordiv(shifted, by, old=old, factoring=False), shift)
    return _settled(Quotient(value, by), old=old)


def _settled(atom: Quotient | Remainder, *, old: bool) -> Number:
    """A plain int where the bounds leave one value."""
    low, high = atom_bounds(atom, old=old)
    return low if isinstance(low, int) and low == high else of_atom(atom)


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
        inner = floordiv(plus(*rest), first, old=old)
        return plus(*whole, floordiv(inner, by // first, old=old))
    return plus(*whole, _floordiv_plain(plus(*rest), by, old=old))


def _floordiv_symbolic(value: Number, by: Linear, *, old: bool) -> Number:
    if value == by:
        return 1
    if isinstance(value, Linear):
        if value.single is None:
            taken = _taken_by_constants(value, by) if old else 0
            if taken:
                return plus(taken, floordiv(minus(value, times(by, taken)), by, old=old))
            parts = [(part, mod(part, by, old=old) == 0) for part in value.components()]
            whole = plus(*(floordiv(part, by, old=old) for part, divides in parts if divides))
            if whole != 0:
                rest = plus(*(part for part, divides in parts if not divides))
                return plus(whole, floordiv(rest, by, old=old))
        else:
            atom, c = value.single
            if c != 1 and mod(c, by, old=old) == 0:
                return times(of_atom(atom), floordiv(c, by, old=old))
    if _is_below(value, by, old=old):
        return 0
    raise release_raises(f"{value} // {by}")


def _taken_by_constants(value: Linear, by: Linear) -> int:
    """0.8.0: how often the constant of a sum divisor goes into the constant of a sum."""
    if by.single is not None or value.constant <= 0 or by.constant == 0:
        return 0
    return max(value.constant // by.constant, 0)


def _is_below(value: Number, by: Linear, *, old: bool) -> bool:
    """Whether upstream takes value for one of 0 .. by - 1."""
    room, _ = bounds(minus(by, value), old=old)
    low, _ = bounds(value, old=old)
    return is_possible_lt(0, room, old=old) and is_possible_ge(low, 0, old=old)


def mod(value: Number, by: Number, *, old: bool = False) -> Number:
    """value % by, as far as a release folds it."""
    if isinstance(by, int) and by <= 0:
        raise release_raises(f"{value} % {by}")
    if isinstance(value, int) and isinstance(by, int):
        return value % by
    if isinstance(value, Linear):
        match value.single:
            case None:
                return _mod_sum(value, by, old=old)
            case (Remainder(of, inner), 1) if isinstance(by, int) and inner % by == 0:
                return mod(of, by, old=old)
            case (_, 1):
                pass
            case (atom, c):
                value = times(of_atom(atom), mod(c, by, old=old))
    return _mod_plain(value, by, old=old)


def _mod_sum(value: Linear, by: Number, *, old: bool) -> Number:
    """Inside a sum only constants and multiples are reduced."""
    if isinstance(by, Linear):
        taken = _taken_by_constants(value, by) if old else 0
        if taken:
            return mod(minus(value, times(by, taken)), by, old=old)
        if value == by:
            return 0
        room, _ = bounds(minus(by, value), old=old)
        if is_possible_lt(0, room, old=old):
            return value
    parts = [
        part if isinstance(part, Linear) and part.terms[0][1] == 1 else mod(part, by, old=old)
        for part in value.components()
    ]
    return _mod_plain(plus(*parts), by, old=old)


def _mod_plain(value: Number, by: Number, *, old: bool) -> Number:
    if isinstance(by, Linear):
        if value == by:
            return 0
        if _is_below(value, by, old=old):
            return value
        raise release_raises(f"{value} % {by}")
    if isinstance(value, int):
        return value % by
    if by == 1:
        return 0
    low, high = bounds(value, old=old)
    if isinstance(low, int) and isinstance(high, int):
        if low // by == high // by:
            return minus(value, low // by * by)
        if low < 0:
            return mod(minus(value, low // by * by), by, old=old)
    return _settled(Remainder(value, by), old=old)


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


def less(left: Number, right: Number, *, old: bool = False) -> Condition:
    """left < right in the form that a release gives it."""
    if isinstance(left, Linear) and isinstance(right, int):
        match left.single:
            case None:
                left, right = _without_small_terms(left, right, old=old)
                if isinstance(left, Linear) and left.single is not None:
                    return less(left, right, old=old)
            case (_, 1 | -1):
                pass
            case (atom, int(c)):
                left = times(of_atom(atom), 1 if c > 0 else -1)
                right = (right + abs(c) - 1) // abs(c)
    never, ever = lt_bounds(left, right, old=old)
    if never == ever:
        return bool(ever)
    if isinstance(left, int):
        left, right = times(right, -1), times(left, -1)
    assert isinstance(left, Linear), "a comparison of ints is decided"
    return Less(left, right)


def not_less(left: Number, right: Number, *, old: bool = False) -> Condition:
    """left >= right in the form that a release gives it."""
    return less(times(left, -1), plus(times(right, -1), 1), old=old)


def _without_small_terms(left: Linear, right: int, *, old: bool) -> tuple[Number, int]:
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
            raise release_raises("a symbolic multiple in a comparison")
        if c != 1 and c > 0 and is_possible_ge(bounds(part, old=old)[1], right, old=old):
            large.append(part)
            common = gcd(common, c)
        else:
            others.append(part)
    low, high = bounds(plus(*others), old=old)
    fits = is_possible_ge(low, 0, old=old) and is_possible_lt(high, common, old=old)
    if large and fits:
        return plus(*(floordiv(part, common, old=old) for part in large)), right // common
    return plus(*parts), right


def conjunction(conditions: Iterable[Condition]) -> tuple[Less, ...] | None:
    """All conditions that are not decided; None when one is false."""
    kept: list[Less] = []
    for condition in conditions:
        if condition is False:
            return None
        if isinstance(condition, Less):
            kept.append(condition)
    return tuple(kept)
