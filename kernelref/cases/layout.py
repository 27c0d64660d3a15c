"""JSON that a person can read: what fits on a line stands on one."""

from __future__ import annotations

import json
from typing import Any

WIDTH = 100


def dumps(document: Any) -> str:
    """The text of a JSON document, keys in the order given, with a newline at the end.

    Law: json.loads(dumps(x)) == x. Raises: ValueError for a float that JSON does not have.
    """
    return _text(document, indent=0, room=WIDTH) + "\n"


def _text(value: Any, *, indent: int, room: int) -> str:
    flat = json.dumps(value, ensure_ascii=False, allow_nan=False)
    if len(flat) <= room or not isinstance(value, dict | list):
        return flat
    inner = " " * (indent + 1)
    parts = []
    if isinstance(value, dict):
        for key, item in value.items():
            head = f"{json.dumps(key, ensure_ascii=False)}: "
            text = _text(item, indent=indent + 1, room=WIDTH - len(inner) - len(head) - 1)
            parts.append(f"{inner}{head}{text}")
        opening, closing = "{}"
    else:
        for item in value:
            text = _text(item, indent=indent + 1, room=WIDTH - len(inner) - 1)
            parts.append(f"{inner}{text}")
        opening, closing = "[]"
    return f"{opening}\n" + ",\n".join(parts) + f"\n{' ' * indent}{closing}"
