"""The folder that a campaign is kept in: held by one campaign at a time, with its findings."""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
from pathlib import Path

from kernelref.cases.corpus import slug
from kernelref.errors import InvalidInput

LOCK = "campaign.lock"
FINDINGS = "findings"


class Folder:
    """A folder that is this campaign's alone until `close`, or until the process ends."""

    def __init__(self, path: Path) -> None:
        """Make it and take it.

        Raises: InvalidInput when it cannot be one, or another campaign has it.
        """
        self.path = path
        try:
            path.mkdir(parents=True, exist_ok=True)
            self._lock = os.open(path / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
        except FileExistsError:
            raise InvalidInput("no folder", where=str(path)) from None
        except OSError as error:
            raise _unusable(error, path) from None
        try:
            self._take()
        except InvalidInput:
            self.close()
            raise

    def _take(self) -> None:
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            message = "another campaign is running here"
            raise InvalidInput(message, where=str(self.path)) from None
        except OSError as error:
            raise _unusable(error, self.path) from None
        findings = self.path / FINDINGS
        if findings.exists() and not findings.is_dir():
            raise InvalidInput("no folder; findings are kept there", where=str(findings))

    def close(self) -> None:
        """Let another campaign have it."""
        os.close(self._lock)

    def keep(self, key: str, case: str) -> Path:
        """Write the case file of a finding. Raises: InvalidInput where it cannot be written."""
        path = self.path / FINDINGS / f"{_file_name(key)}.json"
        try:
            path.parent.mkdir(exist_ok=True)
            path.write_text(case, encoding="utf-8")
        except (FileExistsError, IsADirectoryError, NotADirectoryError, PermissionError) as error:
            raise _unusable(error, path) from None
        return path


def _file_name(key: str) -> str:
    """A name of a kind of findings that no other kind has, however long they are."""
    whole = "-".join(re.findall("[a-z0-9]+", key.lower()))
    if slug(key) == whole:
        return whole
    return f"{slug(key)}-{hashlib.sha256(key.encode()).hexdigest()[:8]}"


def _unusable(error: OSError, path: Path) -> InvalidInput:
    return InvalidInput(error.strerror or "cannot be used", where=str(path))
