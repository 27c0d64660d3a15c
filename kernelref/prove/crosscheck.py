"""The engine `cvc5`: a second solver, asked the questions that Z3 is asked, as SMT-LIB text.

It is not among the engines by default: a sample of proofs and every certificate are checked by it.
"""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

from kernelref.errors import Unsupported
from kernelref.prove.claim import (
    Claim,
    Counterexample,
    GaveUp,
    OneToOne,
    Proved,
    Result,
)
from kernelref.prove.solve import GUESSED, smtlib

ENGINE = "cvc5"


def is_here() -> bool:
    """Whether the second solver is installed."""
    return importlib.util.find_spec("cvc5") is not None


def crosscheck(claim: Claim, steps: int) -> Result:
    """What the second solver says. Units: `steps` cvc5's own resource units for one question."""
    if not is_here():
        return GaveUp(ENGINE, "not installed: pip install 'kernelref[crosscheck]'")
    try:
        questions = smtlib(claim)
    except Unsupported as error:
        return GaveUp(ENGINE, str(error))
    for number, text in enumerate(questions):
        answer, model = _ask(text, steps)
        if answer == "sat" and number == GUESSED:
            return GaveUp(ENGINE, "the guessed inverse is wrong, or a key is missing")
        if answer == "sat":
            return _counterexample(claim, model)
        if answer != "unsat":
            return GaveUp(ENGINE, answer)
    return Proved(ENGINE)


def _counterexample(claim: Claim, model: dict[str, int]) -> Counterexample:
    def point(mark: str) -> tuple[int, ...]:
        return tuple(model.get(f"{mark}.{axis}", 0) for axis in range(len(claim.box)))

    values = {var.name: model.get(var.name, var.low) for var in claim.symbols}
    other = point("y") if isinstance(claim, OneToOne) else None
    return Counterexample(ENGINE, values, point("x"), other)


def _ask(text: str, steps: int) -> tuple[str, dict[str, int]]:
    """The answer to one question, and the integers of its model."""
    cvc5: Any = importlib.import_module("cvc5")
    solver: Any = cvc5.Solver(cvc5.TermManager())
    solver.setOption("produce-models", "true")
    solver.setOption("rlimit-per", str(steps))
    parser: Any = cvc5.InputParser(solver)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, text, "claim")
    symbols = parser.getSymbolManager()
    answer = "no answer"
    while not (command := parser.nextCommand()).isNull():
        said = str(command.invoke(solver, symbols)).strip()
        answer = said or answer
    if answer != "sat":
        return answer, {}
    held = {str(term).strip("|"): solver.getValue(term) for term in symbols.getDeclaredTerms()}
    return answer, {
        name: int(value.getIntegerValue()) for name, value in held.items() if value.isIntegerValue()
    }
