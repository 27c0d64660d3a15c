"""An Opt: one request to an optimizer, as a value that can be printed, stored and replayed."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class OptOps(enum.Enum):
    """The opts of tinygrad 0.9.1, and LASTLOCAL of 0.8.0."""

    TC = "TC"
    UPCAST = "UPCAST"
    UPCASTMID = "UPCASTMID"
    UNROLL = "UNROLL"
    LOCAL = "LOCAL"
    LASTLOCAL = "LASTLOCAL"
    GROUP = "GROUP"
    GROUPTOP = "GROUPTOP"
    NOLOCALS = "NOLOCALS"
    PADTO = "PADTO"


@dataclass(frozen=True, slots=True)
class Opt:
    """A request. `axis` counts as the op counts (RuleSet docs); `amt` 0 means the whole axis."""

    op: OptOps
    axis: int | None = None
    amt: int | None = None

    def __str__(self) -> str:
        return f"{self.op.value}({self.axis}, {self.amt})"
