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
    brackets = "{}" if isinstance(value, dict) else "[]"
    entries = value.items() if isinstance(value, dict) else ((None, item) for item in value)
    lines: list[str] = []
    packs = False
    for key, item in entries:
        head = f"{json.dumps(key, ensure_ascii=False)}: " if key is not None else ""
        text = head + _text(item, indent=indent + 1, room=WIDTH - indent - len(head) - 2)
        is_plain = not isinstance(item, dict | list)
        # Inside the document the short facts of a node share a line; its own are one a line.
        if packs and is_plain and indent and len(lines[-1]) + len(text) + indent + 4 <= WIDTH:
            lines[-1] += f", {text}"
        else:
            lines.append(text)
        packs = is_plain and key is not None
    space = " " * (indent + 1)
    body = f",\n{space}".join(lines)
    return f"{brackets[0]}\n{space}{body}\n{' ' * indent}{brackets[1]}"
