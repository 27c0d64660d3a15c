"""A check: one named condition that an opt must meet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kernelref.opt.rules.request import Request


@dataclass(frozen=True, slots=True)
class Check:
    """A condition with a name.

    `holds` decides, `found` and `needed` tell a person why not. `upstream` is how the release's own
    message begins when it refuses; for a check with `breaks`, whose failing is a fall and not a
    refusal, it is the name of the release's exception.
    """

    name: str
    says: str
    holds: Callable[[Request], bool]
    found: Callable[[Request], object]
    needed: Callable[[Request], object]
    upstream: str = ""
    breaks: bool = False
