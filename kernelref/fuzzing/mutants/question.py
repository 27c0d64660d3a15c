"""Questions: what a process with a mutant is asked, and what the process without it answered.

Plain values only, so that they come to a process that has imported nothing yet.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]
Request: TypeAlias = tuple[str, int | None, int | None]
"""An opt as (op, axis, amount)."""


@dataclass(frozen=True, slots=True)
class Probe:
    """An input: a case of the corpus, and opts that are requested one after the other.

    `case` is folder/name; `opts` None: the case's own. A refused opt is skipped. `limits` is a
    preset or "small", "" the case's own. `target` names a Target of `examine`. `is_built`: the AST
    is built anew by the seed's function, so that the movement ops take part; else it is read.
    """

    case: str
    opts: tuple[Request, ...] | None = None
    limits: str = ""
    target: str = "full"
    is_built: bool = False

    @property
    def name(self) -> str:
        """All of it in one line."""
        opts = "".join(f" {op}:{axis}:{amt}" for op, axis, amt in self.opts or ())
        extras = [self.limits, "" if self.target == "full" else self.target]
        extras += ["built"] if self.is_built else []
        return self.case + opts + "".join(f" ({extra})" for extra in extras if extra)


@dataclass(frozen=True, slots=True, eq=False)
class Wanted:
    """What the oracle says of one output: elements of buffer `number`, with their bounds."""

    output: int
    number: int
    addresses: Array
    value: Array
    reference: Array
    bound: Array


@dataclass(frozen=True, slots=True, eq=False)
class Subject:
    """A case with its inputs and what must come out. Units: `elements` of each buffer."""

    case: str
    text: str
    seed: str
    variables: dict[str, int]
    inputs: dict[int, Array]
    elements: dict[int, int]
    rung: str
    wanted: tuple[Wanted, ...]
    points: int


@dataclass(frozen=True, slots=True)
class Ended:
    """How a question was answered: an outcome, and why."""

    outcome: str
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.outcome} ({self.detail})" if self.detail else self.outcome


@dataclass(frozen=True, slots=True)
class Question:
    """A probe with the answers of the code as it is: to each request ("": accepted), at last."""

    probe: Probe
    answers: tuple[str, ...]
    ended: Ended


@dataclass(frozen=True, slots=True)
class Suite:
    """All questions in the order they are asked; `states` are what conform compares, by name.

    `walks`: the requests of those states, by case.
    """

    subjects: dict[str, Subject]
    questions: dict[str, Question]
    states: dict[str, str] = field(default_factory=dict)
    walks: dict[str, tuple[Request, ...]] = field(default_factory=dict)
