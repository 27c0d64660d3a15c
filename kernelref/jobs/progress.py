"""How a job says how far it is; the command line decides how that looks."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Called often with what is done, of how much (None: unknown), and a short note."""

    def __call__(self, done: int, total: int | None, note: str = "") -> None:
        """Take notice; must be cheap."""


def silent(done: int, total: int | None, note: str = "") -> None:
    """Progress that nobody watches."""
