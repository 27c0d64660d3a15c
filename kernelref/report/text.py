"""Plain text for a person: aligned columns, counts, one line a finding."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any


def columns(rows: Iterable[Sequence[str]], *, indent: str = "  ") -> list[str]:
    """Rows with every column but the last padded to its widest cell."""
    table = [list(row) for row in rows]
    count = max((len(row) for row in table), default=0)
    widths = [max((len(row[i]) for row in table if i < len(row)), default=0) for i in range(count)]
    return [
        indent + "  ".join(cell.ljust(widths[i]) for i, cell in enumerate(row)).rstrip()
        for row in table
    ]


def counts(numbers: Mapping[str, int]) -> list[str]:
    """One line a name, largest count first."""
    ordered = sorted(numbers.items(), key=lambda item: (-item[1], item[0]))
    width = max((len(f"{number:,}") for _, number in ordered), default=0)
    return [f"  {number:>{width},}  {name}" for name, number in ordered]


def in_one_line(numbers: Mapping[str, int]) -> str:
    """`497 PASS, 3 UNSUPPORTED`."""
    ordered = sorted(numbers.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{number:,} {name}" for name, number in ordered) or "none"


def many(number: int, noun: str) -> str:
    """`1 case`, `1,024 cases`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def duration(seconds: float) -> str:
    """Seconds as a person says them."""
    if seconds < 100:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s"


def figures(measured: Mapping[str, Any]) -> list[str]:
    """One line a figure; figures of figures by their path."""
    return columns(_flat(measured))


def _flat(measured: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, str]]:
    for name, value in measured.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{path}{name}.")
        elif isinstance(value, list):
            yield from ((f"{path}{name}", str(item)) for item in value)
        else:
            yield f"{path}{name}", _figure(value)


def _figure(value: float | int | str | None) -> str:
    match value:
        case None:
            return "none"
        case float():
            return f"{value:,.3g}" if abs(value) < 100 else f"{value:,.0f}"
        case int():
            return f"{value:,}"
    return value
