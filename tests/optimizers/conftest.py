"""Installed releases for tests: one worker each, or a skip that says why there is none."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kernelref.optimizers.installed import InstalledOptimizer
from kernelref.optimizers.releases import VERSIONS, Release, ReleaseMissingError, release


def found(version: str) -> Release:
    try:
        return release(version)
    except ReleaseMissingError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module", params=VERSIONS)
def installed(request: pytest.FixtureRequest) -> Iterator[InstalledOptimizer]:
    optimizer = InstalledOptimizer(found(request.param))
    yield optimizer
    optimizer.close()


@pytest.fixture(scope="module")
def release_0_9_1() -> Release:
    return found("0.9.1")
