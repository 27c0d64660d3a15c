"""Whether a checkout is a release as it was published, told by a digest of its Python files.

It decides whose fault a difference from our copy of the release is: of a genuine release ours, of a
changed one nobody's, because a difference is what the change is for.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path

APART = frozenset({"runtime", "nn", "viz"})
"""Folders that no kernel depends on; a repository holds more files of them than a package does."""

PUBLISHED = {
    "0.8.0": "cb2cf6b72662836724059029f5aa9b4546c52e0e23cc958a4317c7cf33b3074b",
    "0.9.0": "06aca6aed54669abcd26c194c977dc034c9f69da0c478f3cd5acf772a5c6fff6",
    "0.9.1": "3e3b09763e5c19e8495087ab786ec7adc82717abaa564647675be9dcb38022bd",
}


@lru_cache(maxsize=16)
def digest(folder: Path) -> str:
    """SHA-256 over the names and contents of the package's Python files but those in APART."""
    package = folder / "tinygrad"
    total = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        inside = path.relative_to(package)
        if inside.parts[0] not in APART:
            content = hashlib.sha256(path.read_bytes()).hexdigest()
            total.update(f"{inside.as_posix()} {content}\n".encode())
    return total.hexdigest()


def is_published(folder: Path, version: str) -> bool:
    """Whether the package in `folder` is the published `version`, file by file."""
    return digest(folder) == PUBLISHED[version]
