"""Where a tinygrad release lives: installed once into the user's cache, or a user's checkout.

A release is known by its version, a checkout by what its files define. Nothing of either is ever
imported or run here; `process` starts a worker with the folder on its path.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from kernelref.errors import InvalidInput, KernelRefError
from kernelref.optimizers.genuine import is_published

VERSIONS = ("0.8.0", "0.9.0", "0.9.1")
INSTALL_SECONDS = 300


class ReleaseMissingError(KernelRefError):
    """A release is neither in the cache nor installable now."""


@dataclass(frozen=True, slots=True)
class Release:
    """A folder that holds a package `tinygrad`, and the version whose rules it follows."""

    name: str
    version: str
    folder: Path

    @property
    def family(self) -> str:
        """The worker's family module."""
        return "family_08" if self.version == "0.8.0" else "family_09"

    @property
    def is_genuine(self) -> bool:
        """Whether it is the release as it was published; a checkout that was changed is not."""
        return is_published(self.folder, self.version)

    @property
    def rules(self) -> str:
        """The rule set that copies it."""
        return f"tinygrad-{self.version}"


def cache_folder() -> Path:
    """Where installed releases are kept: KERNELREF_CACHE, else the user's cache."""
    chosen = os.environ.get("KERNELREF_CACHE")
    return Path(chosen) if chosen else platformdirs.user_cache_path("kernelref")


def installed(version: str) -> Release | None:
    """The release in the cache, if it is there."""
    folder = cache_folder() / "releases" / f"tinygrad-{version}"
    if not (folder / "tinygrad" / "__init__.py").is_file():
        return None
    return Release(f"tinygrad=={version}", version, folder)


def release(version: str) -> Release:
    """The release, installed now if need be. Raises: InvalidInput, ReleaseMissingError."""
    if version not in VERSIONS:
        raise InvalidInput(f"unknown release {version}; known are {', '.join(VERSIONS)}")
    return installed(version) or _install(version)


def _install(version: str) -> Release:
    """Into a folder of its own, then renamed, so that a killed install leaves nothing half done."""
    target = cache_folder() / "releases" / f"tinygrad-{version}"
    target.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=".install-", dir=target.parent))
    command = [
        sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-input",
        "--disable-pip-version-check", "--only-binary", ":all:", "--target", str(scratch / "r"),
        f"tinygrad=={version}", "tqdm",
    ]  # fmt: skip
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False
        )
        if done.returncode != 0:
            reason = done.stderr.strip().splitlines() or ["pip failed without a message"]
            raise ReleaseMissingError(
                f"tinygrad {version} is not in {target.parent} and could not be installed "
                f"(offline?): {reason[-1]}"
            )
        _take_place(scratch / "r", target)
    except subprocess.TimeoutExpired:
        raise ReleaseMissingError(
            f"tinygrad {version}: the package index gave no answer in {INSTALL_SECONDS} s"
        ) from None
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    found = installed(version)
    if found is None:
        raise ReleaseMissingError(f"the package tinygrad {version} holds no module tinygrad")
    return found


def _take_place(made: Path, target: Path) -> None:
    """Rename into place; another process may have been first, which is as good."""
    if target.exists() and not (target / "tinygrad" / "__init__.py").is_file():
        shutil.rmtree(target)
    try:
        made.rename(target)
    except OSError:
        if not target.exists():
            raise


def checkout(path: str) -> Release:
    """A user's checkout, with the version that its files follow. Raises: InvalidInput."""
    folder = Path(path).resolve()
    package = folder / "tinygrad"
    name = f"tinygrad@{path}"
    if not (package / "__init__.py").is_file():
        raise InvalidInput("no package tinygrad here", where=str(folder))
    kernel, ops = _text(package / "codegen" / "kernel.py"), _text(package / "ops.py")
    if "class LinearizerOptions" in kernel and (package / "features" / "search.py").is_file():
        return Release(name, "0.8.0", folder)
    has_linearizer = (package / "codegen" / "linearizer.py").is_file()
    if "class KernelOptError" in kernel and has_linearizer and "CMPEQ" in ops:
        return Release(name, "0.9.0", folder)
    if "class KernelOptError" in kernel and has_linearizer and "def verify_lazyop" in ops:
        return Release(name, "0.9.1", folder)
    raise InvalidInput(
        "this tinygrad is not of a known family (0.8.0, 0.9.0, 0.9.1)", where=str(folder)
    )


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.is_file() else ""
