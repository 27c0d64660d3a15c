"""Whether a place that is to be written can be: asked before any work is done for it."""

from __future__ import annotations

import tempfile
from pathlib import Path

from kernelref.errors import InvalidInput


def check_file(path: Path, option: str) -> None:
    """Whether a file can be written there. Raises: InvalidInput."""
    where = f"{option} {path}"
    if path.is_dir():
        raise InvalidInput("a folder; name a file", where=where)
    if not path.parent.exists():
        raise InvalidInput(f"there is no folder {path.parent}", where=where)
    _try(path.parent, where)


def check_folder(path: Path, option: str) -> None:
    """Whether it is a folder to write into, or can become one; none is made. Raises: InvalidInput.

    A folder that is missing can be made where the nearest one that is there can be written into.
    """
    nearest = path.absolute()
    while not nearest.exists() and nearest != nearest.parent:
        nearest = nearest.parent
    _try(nearest, f"{option} {path}")


def _try(folder: Path, where: str) -> None:
    if not folder.is_dir():
        raise InvalidInput(f"{folder} is no folder", where=where)
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        message = f"nothing can be written in {folder}: {error.strerror}"
        raise InvalidInput(message, where=where) from None
