"""What a case file looks like: schema 1, as JSON Schema, and the check against it.

The schema holds the form; `nodes` and `verify` hold what a form cannot say.
"""

from __future__ import annotations

from functools import cache
from typing import Any, TypeAlias

from jsonschema import Draft202012Validator, TypeChecker
from jsonschema.exceptions import ValidationError, best_match
from jsonschema.protocols import Validator
from jsonschema.validators import extend

from kernelref.cases.nodes import NODE_OPS
from kernelref.errors import InvalidInput
from kernelref.ir.view import ViewAlgebra
from kernelref.opt.limits import PRESETS
from kernelref.opt.opt import OptOps

Json: TypeAlias = Any

RULE_SET_NAMES = ("sound", "tinygrad-0.8.0", "tinygrad-0.9.0", "tinygrad-0.9.1")
DOMAINS = ("auto", "bits", "integers", "reals", "negative")
OUTCOMES = (
    "PASS", "WRONG_VALUE", "UNWRITTEN", "OUT_OF_BOUNDS", "UNINITIALISED", "RACE",
    "BARRIER_DIVERGENCE", "INDEX_OVERFLOW", "TRAP", "BUILD_ERROR", "CRASH", "TIMEOUT",
    "OUT_OF_MEMORY", "REFUSED", "BROKE", "UNSUPPORTED", "HARNESS_ERROR",
)  # fmt: skip

_NAME = {"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]{0,63}$"}
_INDEX = {"type": ["integer", "string", "array"]}
_INDICES = {"type": "array", "items": _INDEX, "maxItems": 64}
_COUNT = {"type": "integer", "minimum": 0}
_TRIPLE = {
    "type": ["array", "null"],
    "items": {"type": "integer", "minimum": 1},
    "minItems": 3,
    "maxItems": 3,
}


def _object(required: dict[str, Json], optional: dict[str, Json] | None = None) -> Json:
    return {
        "type": "object",
        "properties": required | (optional or {}),
        "required": list(required),
        "additionalProperties": False,
    }


def _has_op(*ops: str) -> Json:
    return {"properties": {"op": {"enum": list(ops)}}, "required": ["op"]}


_VIEW = _object(
    {"shape": _INDICES, "strides": _INDICES},
    {
        "offset": _INDEX,
        "mask": {
            "type": ["array", "null"],
            "items": {"type": "array", "items": _INDEX, "minItems": 2, "maxItems": 2},
        },
    },
)
_VIEWS = {"type": "array", "items": _VIEW, "minItems": 1, "maxItems": 64}
_ALGEBRA = {"enum": [algebra.value for algebra in ViewAlgebra]}
_SOURCES = {"type": "array", "items": _COUNT}
_DTYPE = {"type": "string"}
_CONSTANT = {
    "anyOf": [
        {"type": ["boolean", "number"]},
        _object({"float": {"enum": ["nan", "inf", "-inf"]}}),
        _object({"index": _INDEX}),
    ]
}
_NODE_FORMS: dict[str, Json] = {
    "LOAD": _object(
        {"op": {}, "buffer": _COUNT, "dtype": _DTYPE, "views": _VIEWS}, {"algebra": _ALGEBRA}
    ),
    "STORE": _object(
        {"op": {}, "buffer": _COUNT, "dtype": _DTYPE, "views": _VIEWS, "src": _SOURCES},
        {"algebra": _ALGEBRA},
    ),
    "CONST": _object(
        {"op": {}, "value": _CONSTANT, "dtype": _DTYPE, "views": _VIEWS}, {"algebra": _ALGEBRA}
    ),
    "CAST": _object({"op": {}, "dtype": _DTYPE, "src": _SOURCES}),
    "BITCAST": _object({"op": {}, "dtype": _DTYPE, "src": _SOURCES}),
    "REDUCE_SUM": _object({"op": {}, "axes": _SOURCES, "src": _SOURCES}),
    "REDUCE_MAX": _object({"op": {}, "axes": _SOURCES, "src": _SOURCES}),
}
_ALU_FORM = _object({"op": {}, "src": _SOURCES})
_NODE = {
    "type": "object",
    "properties": {"op": {"enum": list(NODE_OPS)}},
    "required": ["op"],
    "allOf": [
        *({"if": _has_op(op), "then": form} for op, form in _NODE_FORMS.items()),
        {"if": _has_op(*(op for op in NODE_OPS if op not in _NODE_FORMS)), "then": _ALU_FORM},
    ],
}
_AXIS = {"type": ["integer", "null"]}
_OPT = {
    "type": "array",
    "prefixItems": [{"enum": [op.name for op in OptOps]}, _AXIS, _AXIS],
    "minItems": 3,
    "maxItems": 3,
}
_LIMITS = {
    "type": ["string", "object"],
    "if": {"type": "string"},
    "then": {"enum": list(PRESETS)},
    "else": _object(
        {},
        {
            "preset": {"enum": list(PRESETS)},
            **{name: {"type": "boolean"} for name in ("has_local", "has_shared")},
            "supports_float4": {"type": "boolean"},
            "shared_max": _COUNT,
            "global_max": _TRIPLE,
            "local_max": _TRIPLE,
            "group_max": {"type": ["integer", "null"], "minimum": 1},
            "tc": {"type": "integer"},
        },
    ),
}
_VARIABLE = _object({"low": {"type": "integer"}, "high": _INDEX}, {"value": {"type": "integer"}})

SCHEMA: Json = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "kernelref case, schema 1",
    **_object(
        {
            "schema": {"const": 1},
            "title": {"type": "string"},
            "origin": {"type": "string"},
            "ast": {"type": "array", "items": _NODE, "minItems": 1},
            "opts": {"type": "array", "items": _OPT},
            "rules": {"enum": list(RULE_SET_NAMES)},
            "limits": _LIMITS,
            "vars": {"type": "object", "propertyNames": _NAME, "additionalProperties": _VARIABLE},
            "inputs": _object(
                {"seed": _COUNT, "domain": {"enum": list(DOMAINS)}},
            ),
            "expect": _object(
                {"legal": {"type": ["boolean", "null"]}, "outcome": {"enum": list(OUTCOMES)}},
                {"check": {"type": "string"}},
            ),
        }
    ),
}


def _is_integer(_checker: TypeChecker, value: object) -> bool:
    """An int as written: 1.0 and true are none (JSON Schema takes 1.0 for one)."""
    return isinstance(value, int) and not isinstance(value, bool)


@cache
def _validator(*, of_limits: bool = False) -> Validator:
    checker = Draft202012Validator.TYPE_CHECKER.redefine("integer", _is_integer)
    # The stubs leave `extend` untyped.
    strict = extend(Draft202012Validator, type_checker=checker)  # type: ignore[no-untyped-call]
    validator: Validator = strict(_LIMITS if of_limits else SCHEMA)
    return validator


def validate(document: Json) -> None:
    """Check a case's form.

    Raises: InvalidInput whose `where` is the field, as in `ast[3].views[0].shape`.
    """
    _check(_validator(), document)


def validate_limits(document: Json) -> None:
    """Check the form of limits. Raises: InvalidInput whose `where` is the field."""
    _check(_validator(of_limits=True), document)


def _check(validator: Validator, document: Json) -> None:
    error = best_match(validator.iter_errors(document))
    if error is not None:
        raise InvalidInput(error.message[:200], where=_field(error))


def _field(error: ValidationError) -> str:
    steps = [f"[{step}]" if isinstance(step, int) else f".{step}" for step in error.absolute_path]
    return "".join(steps).removeprefix(".")
