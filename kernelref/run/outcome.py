"""Outcomes: how one run of one kernel ended."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Outcome(enum.Enum):
    """How a run ended. PASS and REFUSED are fine, UNSUPPORTED is counted, the rest are findings.

    HARNESS_ERROR is a fault of kernelref, never of the kernel.
    """

    PASS = "PASS"
    WRONG_VALUE = "WRONG_VALUE"
    UNWRITTEN = "UNWRITTEN"
    OUT_OF_BOUNDS = "OUT_OF_BOUNDS"
    UNINITIALISED = "UNINITIALISED"
    RACE = "RACE"
    BARRIER_DIVERGENCE = "BARRIER_DIVERGENCE"
    INDEX_OVERFLOW = "INDEX_OVERFLOW"
    TRAP = "TRAP"
    BUILD_ERROR = "BUILD_ERROR"
    CRASH = "CRASH"
    TIMEOUT = "TIMEOUT"
    OUT_OF_MEMORY = "OUT_OF_MEMORY"
    REFUSED = "REFUSED"
    BROKE = "BROKE"
    UNSUPPORTED = "UNSUPPORTED"
    HARNESS_ERROR = "HARNESS_ERROR"


@dataclass(frozen=True, slots=True)
class RunResult:
    """How one kernel ended on one device. Units: outputs count elements, `seconds` wall time."""

    outcome: Outcome
    detail: str = ""
    outputs_checked: int = 0
    outputs_total: int = 0
    seconds: float = 0.0
