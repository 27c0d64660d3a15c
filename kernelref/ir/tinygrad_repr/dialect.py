"""What a line is as a whole: its stores, its opts, and the release whose text it is."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any

from kernelref.errors import InvalidInput
from kernelref.ir.ast import Alu, Ast, Op, Store, postorder
from kernelref.ir.tinygrad_repr.arguments import typed
from kernelref.ir.tinygrad_repr.vocabulary import WrittenOpt


class Dialect(enum.Enum):
    """The release whose text a line is, as far as the text tells: the name of its rule set."""

    V0_8_0 = "tinygrad-0.8.0"
    V0_9_0 = "tinygrad-0.9.0"
    V0_9_1 = "tinygrad-0.9.1"


@dataclass(frozen=True, slots=True)
class Reading:
    """One line: the AST, the opts when the line has them, and whose text it is."""

    ast: Ast
    opts: tuple[WrittenOpt, ...] | None
    dialect: Dialect


_ONLY_BEFORE_0_9_1 = frozenset({Op.SUB, Op.DIV, Op.CMPEQ})


def interpret(value: Any) -> Reading:
    """The kernel that one line's value is: an AST, or a pair (AST, opts).

    0.8.0 prints a STORE, the later releases a tuple of them.
    Raises: InvalidInput when it is neither.
    """
    opts = None
    if isinstance(value, tuple) and len(value) == 2 and _is_opts(value[1]):
        value, written = value
        opts = tuple(typed(opt, WrittenOpt, "opts") for opt in written)
    if isinstance(value, Store):
        return Reading((value,), opts, Dialect.V0_8_0)
    if not isinstance(value, tuple) or not value or not all(isinstance(v, Store) for v in value):
        raise InvalidInput("a line is a STORE or a tuple of STOREs, alone or paired with opts")
    return Reading(value, opts, dialect_of(value))


def _is_opts(value: object) -> bool:
    if isinstance(value, list):
        return True
    return isinstance(value, tuple) and not any(isinstance(item, Store) for item in value)


def dialect_of(ast: Ast) -> Dialect:
    """The newest release that has every op of `ast`."""
    ops = {node.op for node in postorder(ast) if isinstance(node, Alu)}
    return Dialect.V0_9_0 if ops & _ONLY_BEFORE_0_9_1 else Dialect.V0_9_1
