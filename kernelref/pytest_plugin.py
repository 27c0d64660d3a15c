"""kernelref under pytest: the options that `fuzz/` and a user's own tests read.

pytest loads this in every run of an environment that holds kernelref, so it imports nothing of
kernelref at module level: no solver and no device is loaded before a test asks for one.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest


@dataclass(frozen=True, slots=True)
class Settings:
    """What a run was asked for. Units: `budget` seconds for each test, None: the profile's own."""

    optimizer: str
    devices: tuple[str, ...]
    budget: float | None
    seed: int
    require_device: bool


def pytest_addoption(parser: pytest.Parser) -> None:
    """The command-line options."""
    group = parser.getgroup("kernelref", "kernelref: GPU kernels against their reference")
    group.addoption("--kernelref-optimizer", default="reference", help="the optimizer under test")
    group.addoption(
        "--kernelref-device",
        action="append",
        default=[],
        help="a device to run kernels on, as `kernelref doctor` names it; may be repeated",
    )
    group.addoption("--kernelref-budget", default=None, help="time for each test, such as 60s")
    group.addoption("--kernelref-seed", type=int, default=0, help="seed of randomised tests")
    group.addoption(
        "--require-device",
        action="store_true",
        help="fail where a test would be skipped because its device is missing",
    )


@pytest.fixture(scope="session")
def kernelref_settings(request: pytest.FixtureRequest) -> Settings:
    """The options of this run."""
    from kernelref.errors import InvalidInput
    from kernelref.jobs.duration import seconds

    config = request.config
    try:
        budget = seconds(config.getoption("--kernelref-budget"))
    except InvalidInput as error:
        raise pytest.UsageError(f"--kernelref-budget: {error}") from error
    return Settings(
        optimizer=config.getoption("--kernelref-optimizer"),
        devices=tuple(config.getoption("--kernelref-device")) or ("pocl",),
        budget=budget,
        seed=config.getoption("--kernelref-seed"),
        require_device=config.getoption("--require-device"),
    )
