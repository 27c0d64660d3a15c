"""Dividing extents, which are ints or symbolic."""

from __future__ import annotations

from kernelref.ir.index import Sint, simplify


def is_multiple(extent: Sint, amount: Sint) -> bool:
    """Whether `amount` divides `extent`, for every value of its variables, as far as can be told.

    Raises: ZeroDivisionError for an amount of 0.
    """
    return bool(simplify(extent % amount) == 0)


def quotient(extent: Sint, amount: Sint) -> Sint:
    """`extent` divided by an amount that divides it."""
    return simplify(extent // amount)
