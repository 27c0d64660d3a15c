"""A case: an AST, opts and what is expected of them, as one JSON file (schema 1).

The case is stored, not the seed that generated it: seeds die when the generator changes. Read
`Case` first; `to_json` and `from_json` are exact inverses.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from kernelref.cases.expressions import variables_from_json, variables_to_json
from kernelref.cases.json_text import faults_in, parse_json, read_text
from kernelref.cases.layout import dumps
from kernelref.cases.limits import limits_from_json, limits_to_json
from kernelref.cases.nodes import ast_from_json, ast_to_json
from kernelref.cases.schema import validate
from kernelref.errors import InvalidInput
from kernelref.ir.ast import Ast, Constant, Load, Store, postorder
from kernelref.ir.index import Expr, Var, variables
from kernelref.ir.verify import verify
from kernelref.opt.limits import OPENCL, Limits
from kernelref.opt.opt import Opt, OptOps

Json: TypeAlias = Any


@dataclass(frozen=True, slots=True)
class Inputs:
    """The recipe of the inputs: a seed, and which numbers are drawn.

    `domain`: auto (the strictest contract that holds for the kernel), bits (any), integers (such
    that nothing rounds), reals, negative (where a padded zero would win a maximum).
    """

    seed: int = 0
    domain: str = "auto"


@dataclass(frozen=True, slots=True)
class Expect:
    """What must hold: whether the opts are legal (None: either) and how a run ends.

    A refusal is right only for its reason: `check` names it.
    """

    legal: bool | None = True
    outcome: str = "PASS"
    check: str | None = None


@dataclass(frozen=True, slots=True)
class Case:
    """One kernel with its schedule, where it came from and what it must do.

    `vars` gives values to symbolic variables by name; one without a value is the runner's choice.
    """

    ast: Ast
    title: str = ""
    origin: str = ""
    opts: tuple[Opt, ...] = ()
    rules: str = "sound"
    limits: Limits = OPENCL
    vars: tuple[tuple[str, int], ...] = ()
    inputs: Inputs = field(default_factory=Inputs)
    expect: Expect = field(default_factory=Expect)


def symbols_of(ast: Ast) -> frozenset[Var]:
    """The symbolic variables that an AST depends on."""
    found: set[Var] = set()
    for node in postorder(ast):
        if isinstance(node, Load | Constant | Store):
            found |= node.st.variables()
        if isinstance(node, Constant) and isinstance(node.value, Expr):
            found |= variables(node.value)
    return frozenset(found)


def to_json(case: Case) -> Json:
    """The document of a case, keys in schema order."""
    check = {} if case.expect.check is None else {"check": case.expect.check}
    return {
        "schema": 1,
        "title": case.title,
        "origin": case.origin,
        "ast": ast_to_json(case.ast),
        "opts": [[opt.op.value, opt.axis, opt.amt] for opt in case.opts],
        "rules": case.rules,
        "limits": limits_to_json(case.limits),
        "vars": variables_to_json(symbols_of(case.ast), dict(case.vars)),
        "inputs": {"seed": case.inputs.seed, "domain": case.inputs.domain},
        "expect": {"legal": case.expect.legal, "outcome": case.expect.outcome, **check},
    }


def from_json(document: Json) -> Case:
    """The case that a document is.

    Raises: InvalidInput whose `where` is the field or the AST node.
    """
    validate(document)
    symbols, values = variables_from_json(document["vars"])
    ast = verify(ast_from_json(document["ast"], symbols))
    unused = symbols.keys() - {symbol.name for symbol in symbols_of(ast)}
    if unused:
        raise InvalidInput(f"the AST does not depend on {min(unused)}", where="vars")
    return Case(
        ast,
        document["title"],
        document["origin"],
        tuple(Opt(OptOps[op], axis, amt) for op, axis, amt in document["opts"]),
        document["rules"],
        limits_from_json(document["limits"]),
        tuple(sorted(values.items())),
        Inputs(**document["inputs"]),
        Expect(**document["expect"]),
    )


def dump_case(case: Case) -> str:
    """The text of a case file."""
    return dumps(to_json(case))


def parse_case(text: str, *, name: str = "<text>") -> Case:
    """The case in the text of a file called `name`.

    Raises: InvalidInput naming file and field, or file, line and column.
    """
    with faults_in(name):
        return from_json(parse_json(text))


def read_case(path: Path) -> Case:
    """The case in a file.

    Raises: InvalidInput naming file and field, or file, line and column.
    """
    return parse_case(read_text(path), name=str(path))


def write_case(case: Case, path: Path) -> None:
    """Write a case file whole or not at all."""
    temporary = path.with_name(path.name + ".part")
    temporary.write_text(dump_case(case), encoding="utf-8")
    temporary.replace(path)
