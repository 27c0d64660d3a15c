from __future__ import annotations

import os
import time
from concurrent.futures.process import BrokenProcessPool

import pytest

from kernelref.codegen.target import Target
from kernelref.errors import DeviceError, InvalidInput
from kernelref.run import devices
from kernelref.run.device import DeviceInfo, DeviceKind
from kernelref.run.devices import (
    device_info,
    device_kind,
    inventory,
    report,
    target_of,
)
from tests.run.device_launches import need_device


def test_the_inventory_names_every_known_device_and_how_to_get_it() -> None:
    answers = {answer.name: answer for answer in inventory()}
    assert {"pocl", "rusticl", "oclgrind"} <= answers.keys()
    for answer in answers.values():
        assert (answer.info is None) == bool(answer.problem)
        assert answer.info is not None or answer.remedy


def test_a_target_follows_what_the_device_reports() -> None:
    info = DeviceInfo(
        name="toy",
        platform="p",
        device="d",
        version="v",
        half=True,
        double=False,
        images=True,
        image_max=(64, 32),
        group_max=16,
        local_max=(16, 8, 4),
        local_nbytes=1024,
        memory_nbytes=4096,
        allocation_nbytes=2048,
        units=1,
    )
    assert target_of(info) == Target(
        "toy",
        native_half=True,
        images=True,
        image_max=(64, 32),
        group_max=16,
        local_max=(16, 8, 4),
        shared_nbytes=1024,
        buffer_nbytes=2048,
        memory_nbytes=4096,
    )


def test_pocl_can_do_what_its_target_says() -> None:
    need_device("pocl")
    info = device_info("pocl")
    assert (info.double, info.images, info.half) == (True, True, False)
    assert info.group_max >= 1024


def test_oclgrind_is_given_no_images() -> None:
    need_device("oclgrind")
    assert not device_info("oclgrind").images


def test_an_unknown_name_lists_the_names_there_are() -> None:
    with pytest.raises(InvalidInput, match=r"pocl, rusticl, oclgrind.*interp"):
        device_kind("nonesuch")


def test_a_missing_platform_is_a_problem_not_a_crash() -> None:
    answer = report(DeviceKind("ghost", "No Such Platform", remedy="none"))
    assert answer.info is None
    assert "No Such Platform" in answer.problem


def test_a_driver_that_crashes_or_hangs_ends_only_its_own_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(DeviceError, match="crashed"):
        devices._ask(os.abort)
    with pytest.raises(DeviceError, match="crashed at once"):
        devices._ask(_broken)
    monkeypatch.setattr(devices, "PROBE_SECONDS", 0.5)
    with pytest.raises(DeviceError, match="no answer"):
        devices._ask(time.sleep, 30)


def _broken() -> None:
    raise BrokenProcessPool("All workers expired")
