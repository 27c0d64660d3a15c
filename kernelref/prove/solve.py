"""The engines `z3-structured` and `z3-bitvector`.

A private context for each claim, so that a verdict does not depend on what was asked before.
`rlimit` decides when to stop; the clock is only a kill switch, ten times as far away.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import z3  # type: ignore[import-untyped]  # z3 ships without types

from kernelref.errors import Unsupported
from kernelref.ir.index import Binary, IndexOp, Sint, Var
from kernelref.prove.claim import (
    Claim,
    Counterexample,
    Everywhere,
    GaveUp,
    Missing,
    OneToOne,
    Proved,
    Result,
    Values,
)
from kernelref.prove.digit_claims import facts_of, inverse_of, term_lift
from kernelref.prove.encode import Encoding, check_divisors
from kernelref.prove.spans import span
from kernelref.prove.terms import Term, coordinates, raw, written

STRUCTURED = "z3-structured"
BITVECTOR = "z3-bitvector"
INTERRUPTED = "interrupted from keyboard"
"""Z3 takes Ctrl-C for itself while it searches, and gives this as the reason of its UNKNOWN."""
GUESSED = 2
"""The question of a `OneToOne` claim whose answer rests on a guess."""


@dataclass(frozen=True, slots=True)
class Effort:
    """When a solver stops. Units: `rlimit` Z3's own steps, `kill_ms` milliseconds of the clock."""

    rlimit: int = 2_000_000
    kill_ms: int = 20_000


def structured(claim: Claim, effort: Effort) -> Result:
    """The claim in linear integer arithmetic."""
    return _ask(claim, effort, STRUCTURED, None)


def bitvector(claim: Claim, effort: Effort) -> Result:
    """The claim in bit-vectors wide enough that nothing wraps."""
    if claim.reach is None or claim.reach >= 1 << 62:
        return GaveUp(BITVECTOR, "numbers beyond 64 bits")
    return _ask(claim, effort, BITVECTOR, claim.reach.bit_length() + 2)


def smtlib(claim: Claim) -> tuple[str, ...]:
    """The questions of a claim, in integers, as SMT-LIB: it holds when each is unsatisfiable."""
    texts = []
    questions = _questions(claim)
    if isinstance(claim, OneToOne) and claim.onto is not None:
        questions.append(_key_missing(claim, claim.onto))
    for question in questions:
        encoding = Encoding(z3.Context())
        solver = z3.Solver(ctx=encoding.context)
        wrong = question(encoding)
        solver.add(*encoding.facts, wrong)
        texts.append(f"(set-logic ALL)\n{solver.to_smt2()}")
    return tuple(texts)


Question = Callable[[Encoding], Any]
"""The negation of what is claimed, as a term of an encoding."""


def _ask(claim: Claim, effort: Effort, engine: str, bits: int | None) -> Result:
    try:
        for question in _questions(claim):
            result = _one(claim, question, effort, engine, bits)
            if not isinstance(result, Proved):
                return result
        if isinstance(claim, OneToOne) and claim.onto is not None:
            return _onto(claim, claim.onto, effort, engine, bits)
    except Unsupported as error:
        return GaveUp(engine, str(error))
    return Proved(engine)


def _onto(claim: OneToOne, onto: Sint, effort: Effort, engine: str, bits: int | None) -> Result:
    """Whether a guessed inverse gives a point for every key; if not, whether a key has none."""
    missed = _model(_key_missing(claim, onto), effort, bits)
    if not isinstance(missed, dict):
        return Proved(engine) if missed == "unsat" else GaveUp(engine, missed)
    values = {var.name: missed.get(var.name, var.low) for var in claim.symbols}
    key = missed.get("key", 0)
    found = _model(_has_key(claim, key, values), effort, bits)
    if found == "unsat":
        return Missing(engine, values, key)
    return GaveUp(engine, "the guessed inverse is wrong")


def _one(claim: Claim, question: Question, effort: Effort, engine: str, bits: int | None) -> Result:
    model = _model(question, effort, bits)
    if not isinstance(model, dict):
        return Proved(engine) if model == "unsat" else GaveUp(engine, model)
    values = {var.name: model.get(var.name, var.low) for var in claim.symbols}

    def point(mark: str) -> tuple[int, ...]:
        return tuple(model.get(f"{mark}.{axis}", 0) for axis in range(len(claim.box)))

    is_pair = isinstance(claim, OneToOne) and any(name.startswith("y.") for name in model)
    return Counterexample(engine, values, point("x"), point("y") if is_pair else None)


def _model(question: Question, effort: Effort, bits: int | None) -> dict[str, int] | str:
    """Values of the variables for which the question holds; "unsat", or why it is not known.

    Raises: KeyboardInterrupt.
    """
    encoding = Encoding(z3.Context(), bits)
    solver = z3.Solver(ctx=encoding.context)
    solver.set("rlimit", effort.rlimit)
    solver.set("timeout", effort.kill_ms)
    wrong = question(encoding)
    solver.add(*encoding.facts, wrong)
    answer = solver.check()
    if answer == z3.unsat:
        return "unsat"
    if answer == z3.unknown:
        reason = str(solver.reason_unknown())
        if reason == INTERRUPTED:
            raise KeyboardInterrupt
        return reason
    model = solver.model()
    found: dict[str, int] = {}
    for name, term in encoding.variables.items():
        value = model.eval(term, model_completion=True)
        found[name] = int(value.as_long() if bits is None else value.as_signed_long())
    return found


def _questions(claim: Claim) -> list[Question]:
    if isinstance(claim, Everywhere):
        return [_some_fact_fails(claim)]
    asked = [_same_key_twice(claim)]
    if claim.onto is not None:
        asked.append(_key_outside(claim, claim.onto))
    return asked


def _some_fact_fails(claim: Everywhere) -> Question:
    def question(encoding: Encoding) -> Any:
        wrong = []
        for fact in facts_of(claim):
            where, left, right = written(fact)
            _check(where, left, right)
            wrong.append(z3.And(encoding.condition(where), _differ(encoding, left, right)))
        return z3.Or(*wrong, z3.BoolVal(False, encoding.context))

    return question


def _same_key_twice(claim: OneToOne) -> Question:
    def question(encoding: Encoding) -> Any:
        first, second = coordinates(claim), coordinates(claim, "y")
        (where, key), (also, same) = (
            tuple(map(raw, claim.key(point, term_lift))) for point in (first, second)
        )
        _check(where, key)
        moved = [
            encoding.number(raw(a)) != encoding.number(raw(b))
            for a, b in zip(first, second, strict=True)
        ]
        return z3.And(
            encoding.condition(where),
            encoding.condition(also),
            encoding.number(key) == encoding.number(same),
            z3.Or(*moved, z3.BoolVal(False, encoding.context)),
        )

    return question


def _key_outside(claim: OneToOne, onto: Sint) -> Question:
    def question(encoding: Encoding) -> Any:
        where, key = map(raw, claim.key(coordinates(claim), term_lift))
        number, top = encoding.number(key), encoding.number(onto)
        outside = z3.Or(number < encoding.constant(0), number >= top)
        return z3.And(encoding.condition(where), outside)

    return question


def _key_missing(claim: OneToOne, onto: Sint) -> Question:
    """A key at which the guessed inverse is no point of that key. The guess need not be right."""

    def question(encoding: Encoding) -> Any:
        wanted = Term(Var("key", 0, onto - 1))
        guess = inverse_of(claim, wanted)
        if guess is None:
            raise Unsupported("no-inverse", claim.subject)
        where, key = map(raw, claim.key(guess, term_lift))
        inside = [
            z3.And(number >= encoding.constant(0), number < encoding.number(extent))
            for number, extent in zip(
                (encoding.number(raw(at)) for at in guess), claim.box, strict=True
            )
        ]
        hit = z3.And(
            encoding.condition(where),
            encoding.number(key) == encoding.number(wanted.expr),
            *inside,
        )
        return z3.Not(hit)

    return question


def _has_key(claim: OneToOne, wanted: int, values: Values) -> Question:
    """A point with this key, under this binding of the symbols."""

    def question(encoding: Encoding) -> Any:
        where, key = map(raw, claim.key(coordinates(claim), term_lift))
        hit = [encoding.condition(where), encoding.number(key) == encoding.constant(wanted)]
        bound = [
            encoding.number(var) == encoding.constant(values[var.name]) for var in claim.symbols
        ]
        return z3.And(*hit, *bound)

    return question


def _differ(encoding: Encoding, left: Sint, right: Sint) -> Any:
    if _is_condition(left) and _is_condition(right):
        return encoding.condition(left) != encoding.condition(right)
    return encoding.number(left) != encoding.number(right)


def _is_condition(value: Sint) -> bool:
    match value:
        case 0 | 1 | Binary(IndexOp.LT | IndexOp.AND):
            return True
        case _:
            return False


def _check(*expressions: Sint) -> None:
    for expression in expressions:
        check_divisors(expression, lambda d: span(d)[0])


SOLVERS = ((STRUCTURED, structured), (BITVECTOR, bitvector))
