from __future__ import annotations

import subprocess
import sys

import pytest

from kernelref.pytest_plugin import Settings

PROBE = """
def test_probe(kernelref_settings):
    print("\\n", kernelref_settings)
"""


def run_pytest(folder, *flags):
    (folder / "test_probe.py").write_text(PROBE)
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider", *flags, "."],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def test_defaults(kernelref_settings):
    assert kernelref_settings == Settings(
        optimizer="reference", devices=("pocl",), budget=None, seed=0, require_device=False
    )


def test_flags_reach_a_users_own_tests(tmp_path):
    ended = run_pytest(
        tmp_path,
        "--kernelref-optimizer=tinygrad==0.9.1",
        "--kernelref-device=interp",
        "--kernelref-device=oclgrind",
        "--kernelref-budget=2m",
        "--kernelref-seed=7",
        "--require-device",
    )
    assert ended.returncode == 0, ended.stdout
    expected = Settings("tinygrad==0.9.1", ("interp", "oclgrind"), 120.0, 7, require_device=True)
    assert str(expected) in ended.stdout


def test_a_bad_budget_is_a_usage_error(tmp_path):
    ended = run_pytest(tmp_path, "--kernelref-budget=soon")
    assert ended.returncode == pytest.ExitCode.TESTS_FAILED
    assert "soon" in ended.stdout


def test_the_plugin_loads_no_device_and_no_solver():
    loaded = subprocess.run(
        [sys.executable, "-c", "import kernelref.pytest_plugin, sys; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert not {"pyopencl", "z3", "hypothesis", "numpy"} & set(loaded)
