"""The questions that solvers are asked, kept as SMT-LIB: `kernelref prove --smt2 DIR`.

Each question is a file of its own, so that any solver can be asked it. Files are named by what they
hold: two claims that ask the same share one, and nothing is lost when processes write together.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from kernelref.errors import InvalidInput, Unsupported
from kernelref.prove.claim import Claim, OneToOne
from kernelref.prove.solve import GUESSED, smtlib

HOLDS = "The claim holds if this, and each other question of it, is unsatisfiable."
IS_GUESS = "Unsatisfiable: each key is met. Satisfiable: a key is missing, or a guess is wrong."


def dump(claim: Claim, folder: Path) -> list[Path]:
    """Write the questions of a claim; none for one that no solver can be asked.

    Raises: InvalidInput where the folder cannot be written.
    """
    try:
        questions = smtlib(claim)
    except Unsupported:
        return []
    return [_write(claim, text, number, folder) for number, text in enumerate(questions)]


def _write(claim: Claim, text: str, number: int, folder: Path) -> Path:
    is_guess = isinstance(claim, OneToOne) and number == GUESSED
    subject = " ".join(claim.subject.split())
    whole = f"; kernelref: {subject}\n; {IS_GUESS if is_guess else HOLDS}\n{text}"
    path = folder / f"{hashlib.sha256(whole.encode()).hexdigest()[:20]}.smt2"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f"{path.name}.part")
        temporary.write_text(whole, encoding="utf-8")
        temporary.replace(path)
    except OSError as error:
        raise InvalidInput(error.strerror or "cannot be written", where=str(folder)) from None
    return path
