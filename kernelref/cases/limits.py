"""Limits as JSON: a preset's name, or a preset and the fields that differ from it."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, TypeAlias

from kernelref.cases.schema import validate_limits
from kernelref.errors import Unsupported
from kernelref.opt.limits import PRESETS, Limits

Json: TypeAlias = Any

_TABLE = "tensor_cores"
LIMIT_FIELDS = tuple(field.name for field in fields(Limits) if field.name != _TABLE)


def limits_to_json(limits: Limits) -> Json:
    """The preset with the fewest differing fields, and the differences.

    Raises: Unsupported for a table of tensor cores that no preset has.
    """
    documents = [
        {"preset": name} | _differences(limits, preset)
        for name, preset in PRESETS.items()
        if preset.tensor_cores == limits.tensor_cores
    ]
    if not documents:
        raise Unsupported("tensor-core-table", "limits whose tensor cores are no preset's")
    nearest = min(documents, key=len)
    return nearest["preset"] if len(nearest) == 1 else nearest


def _differences(limits: Limits, preset: Limits) -> dict[str, Json]:
    values = {name: getattr(limits, name) for name in LIMIT_FIELDS}
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in values.items()
        if value != getattr(preset, name)
    }


def limits_from_json(document: Json) -> Limits:
    """The limits of a document. Raises: InvalidInput whose `where` is the field."""
    validate_limits(document)
    if isinstance(document, str):
        return PRESETS[document]
    changes: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in document.items()
        if name != "preset"
    }
    return replace(PRESETS[document.get("preset", "opencl")], **changes)
