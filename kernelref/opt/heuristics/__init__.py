"""The hand-coded optimizations: named steps that choose opts, in the releases' order.

Read `sequence` first (what runs when), then one module per group of steps.
"""

from kernelref.opt.heuristics.sequence import (
    HAND_CODED,
    HeuristicStep,
    engine,
    hand_coded,
    required,
    settings_for,
)
from kernelref.opt.heuristics.session import Session, Settings

__all__ = [
    "HAND_CODED",
    "HeuristicStep",
    "Session",
    "Settings",
    "engine",
    "hand_coded",
    "required",
    "settings_for",
]
