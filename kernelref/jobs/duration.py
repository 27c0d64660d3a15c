"""Durations as people write them: 60s, 10m, 2h."""

from __future__ import annotations

import math

from kernelref.errors import InvalidInput

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}


def seconds(text: str | None) -> float | None:
    """A duration in seconds; None stays None. A bare number counts seconds.

    Raises: InvalidInput.
    """
    if text is None:
        return None
    number, unit = (text[:-1], text[-1]) if text[-1:] in _UNITS else (text, "s")
    if number.replace(".", "", 1).isdecimal():
        value = float(number) * _UNITS[unit]
        if 0 < value < math.inf:
            return value
    raise InvalidInput(f"{text!r} is no duration such as 60s, 10m, 2h")
