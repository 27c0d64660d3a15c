"""Where releases are found: installed once, refused clearly, checkouts known by their files."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kernelref.errors import InvalidInput
from kernelref.optimizers import releases
from kernelref.optimizers.names import open_optimizer
from kernelref.optimizers.releases import Release, ReleaseMissingError, checkout, release
from tests.optimizers.conftest import found


def test_an_unknown_version_is_bad_input() -> None:
    with pytest.raises(InvalidInput, match=r"unknown release 0\.7\.0.*0\.9\.1"):
        open_optimizer("tinygrad==0.7.0")


def test_an_unknown_optimizer_is_bad_input() -> None:
    with pytest.raises(InvalidInput, match="unknown optimizer 'halide'"):
        open_optimizer("halide")


def test_offline_and_missing_is_one_clear_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KERNELREF_CACHE", str(tmp_path))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(ReleaseMissingError, match=r"tinygrad 0\.9\.1 is not in .*offline"):
        release("0.9.1")
    assert list((tmp_path / "releases").iterdir()) == []


def test_a_package_index_that_never_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KERNELREF_CACHE", str(tmp_path))
    monkeypatch.setattr(releases, "INSTALL_SECONDS", 0.05)
    with pytest.raises(ReleaseMissingError, match="gave no answer"):
        release("0.9.1")


def test_an_installed_release_is_used_without_the_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, release_0_9_1: Release
) -> None:
    target = tmp_path / "releases" / "tinygrad-0.9.1"
    shutil.copytree(release_0_9_1.folder, target)
    monkeypatch.setenv("KERNELREF_CACHE", str(tmp_path))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    assert release("0.9.1") == Release("tinygrad==0.9.1", "0.9.1", target)


@pytest.mark.parametrize("version", releases.VERSIONS)
def test_a_checkout_is_known_by_its_files(version: str) -> None:
    folder = found(version).folder
    assert checkout(str(folder)).version == version
    assert checkout(str(folder)).rules == f"tinygrad-{version}"


def test_a_folder_of_another_family_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="no package tinygrad here"):
        checkout(str(tmp_path))
    (tmp_path / "tinygrad" / "codegen").mkdir(parents=True)
    (tmp_path / "tinygrad" / "__init__.py").touch()
    (tmp_path / "tinygrad" / "codegen" / "kernel.py").write_text("class Kernel: pass\n")
    with pytest.raises(InvalidInput, match="not of a known family"):
        checkout(str(tmp_path))
