"""What a verb prints on stdout."""

from __future__ import annotations

import json
from typing import Any


def print_json(value: dict[str, Any]) -> None:
    """One JSON object, keys in the order given."""
    print(json.dumps(value, indent=2, ensure_ascii=False))
