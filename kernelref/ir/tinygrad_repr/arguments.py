"""What stands between a constructor's brackets, and how a builder takes it apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from kernelref.errors import InvalidInput
from kernelref.ir.index import Expr, Sint

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Word:
    """A name that stands for itself: an op, an opt."""

    family: str
    name: str

    def __str__(self) -> str:
        return f"{self.family}.{self.name}"


@dataclass(frozen=True, slots=True)
class Arguments:
    """The values between the brackets of one constructor."""

    items: tuple[Any, ...]
    fields: Mapping[str, Any]

    def named(self, *names: str) -> tuple[Any, ...]:
        """The values of exactly these fields."""
        if self.items or self.fields.keys() != set(names):
            found = [shown(item)[:40] for item in self.items] + [f"{name}=" for name in self.fields]
            raise InvalidInput(f"needs the fields {', '.join(names)}; found {', '.join(found)}")
        return tuple(self.fields[name] for name in names)

    def positional(self, count: int) -> tuple[Any, ...]:
        """Exactly `count` values without names."""
        if self.fields or len(self.items) != count:
            raise InvalidInput(f"needs {count} unnamed arguments")
        return self.items


def typed(value: object, kind: type[T], field: str) -> T:
    """`value`, if it is a `kind` (a bool is not an int)."""
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise InvalidInput(f"{field} is {shown(value)}, not {kind.__name__}")
    return value


def sint(value: object, field: str) -> Sint:
    """`value`, if it is an index."""
    return value if isinstance(value, Expr) else typed(value, int, field)


def sints(value: object, field: str) -> tuple[Sint, ...]:
    """`value`, if it is a tuple of indices."""
    return tuple(sint(item, field) for item in typed(value, tuple, field))


def shown(value: object) -> str:
    """How a message names a value: scalars in full, anything larger by its kind."""
    is_short = value is None or isinstance(value, bool | int | float | str | Word)
    return str(value) if is_short else type(value).__name__
