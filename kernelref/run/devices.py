"""Devices: which OpenCL implementations are here, what they can do, and how to get the rest.

A driver may crash while it is asked, so every question is put to a process of its own. The default
device is PoCL as `pyopencl[pocl]` brings it; the simulator (`run/oclgrind`) and rusticl are used
when they are installed, and whatever else the system offers is called gpu0, gpu1, cpu0, ...
"""

from __future__ import annotations

import importlib.util
import multiprocessing
import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import TimeoutError as FutureTimeoutError
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from pebble import ProcessExpired, ProcessPool

from kernelref.codegen.target import Target
from kernelref.errors import DeviceError, InvalidInput
from kernelref.run import elf_link, oclgrind
from kernelref.run.device import DeviceInfo, DeviceKind

DEFAULT_DEVICE = "pocl"
INTERPRETER = "interp"
PROBE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class DeviceReport:
    """Whether a device is here; if not, why not and how to get it."""

    name: str
    info: DeviceInfo | None
    problem: str = ""
    remedy: str = ""


def device_kind(name: str) -> DeviceKind:
    """The kind of a device that `--device` names. Raises: InvalidInput for an unknown name."""
    kinds = {kind.name: kind for kind in known_kinds()}
    if name in kinds:
        return kinds[name]
    others = {kind.name: kind for kind in system_kinds()}
    if name in others:
        return others[name]
    names = ", ".join([*kinds, *others, INTERPRETER])
    raise InvalidInput(f"no device {name!r}; there are {names}", where="--device")


def known_kinds() -> tuple[DeviceKind, ...]:
    """The implementations that kernelref knows by name, whether here or not."""
    pocl = DeviceKind(
        "pocl",
        "Portable Computing Language",
        environment=(
            *_only_driver(_bundled_driver()),
            ("POCL_CACHE_DIR", "{private}"),
            ("POCL_MAX_PTHREAD_COUNT", "{threads}"),
        ),
        needs_linker=True,
        remedy='pip install "pyopencl[pocl]"',
    )
    rusticl = DeviceKind(
        "rusticl",
        "rusticl",
        environment=(
            *_only_driver(_first_file("/etc/OpenCL/vendors/rusticl.icd")),
            ("RUSTICL_ENABLE", "llvmpipe"),
            ("LP_NUM_THREADS", "{threads}"),
            ("MESA_SHADER_CACHE_DIR", "{private}"),
        ),
        options=(),
        # llvmpipe's guard against endless shaders; Mesa 22.3, LP_MAX_TGSI_LOOP_ITERATIONS.
        loop_max=65535,
        remedy="apt install mesa-opencl-icd",
    )
    simulator = DeviceKind(
        oclgrind.NAME,
        oclgrind.PLATFORM,
        environment=(*_only_driver(oclgrind.driver()), *oclgrind.ENVIRONMENT),
        optimised_options=("-cl-opt-disable",),
        is_simulator=True,
        # It takes what read_imagef gives for uninitialised (21.10).
        has_images=False,
        remedy="apt install oclgrind",
    )
    return (pocl, rusticl, simulator)


def system_kinds() -> tuple[DeviceKind, ...]:
    """Whatever else the system's OpenCL loader finds."""
    known = tuple(kind.platform for kind in known_kinds())
    try:
        found: list[tuple[str, str, int]] = _ask(_list_system)
    except DeviceError:
        return ()
    kinds: list[DeviceKind] = []
    for sort, platform, index in found:
        if platform.startswith(known):
            continue
        number = sum(kind.name.startswith(sort) for kind in kinds)
        kinds.append(DeviceKind(f"{sort}{number}", platform, index))
    return tuple(kinds)


def report(kind: DeviceKind) -> DeviceReport:
    """Ask one device what it can do, in a process of its own."""
    try:
        return DeviceReport(kind.name, _ask(_describe, kind))
    except DeviceError as error:
        return DeviceReport(kind.name, None, str(error), kind.remedy)


def inventory() -> tuple[DeviceReport, ...]:
    """A report for every known kind and for whatever else is here."""
    return tuple(report(kind) for kind in (*known_kinds(), *system_kinds()))


def device_info(name: str) -> DeviceInfo:
    """What the named device reports. Raises: InvalidInput, DeviceError when it is not here."""
    answer = report(device_kind(name))
    if answer.info is None:
        raise DeviceError(f"device {name} is not usable: {answer.problem}; try: {answer.remedy}")
    return answer.info


def target_of(info: DeviceInfo) -> Target:
    """What text for this device may use."""
    return Target(
        info.name,
        native_half=info.half,
        double=info.double,
        images=info.images,
        image_max=info.image_max,
        group_max=info.group_max,
        local_max=info.local_max,
        shared_nbytes=info.local_nbytes,
        buffer_nbytes=info.allocation_nbytes,
        memory_nbytes=info.memory_nbytes,
        loop_max=info.loop_max,
    )


def prepare_worker(kind: DeviceKind, private: Path, threads: int) -> None:
    """Set this process's environment for a device, before its driver loads.

    `private` is a folder for this process alone: compiled kernels, temporary files and logs stay
    there, so nothing stale is ever found.
    """
    os.environ |= {"PYOPENCL_NO_CACHE": "1", "TMPDIR": str(private)}
    for name, value in kind.environment:
        os.environ[name] = value.format(private=private, threads=threads)
    if kind.needs_linker:
        _put_linker(private)
        os.environ["PATH"] = f"{private}{os.pathsep}{os.environ.get('PATH', os.defpath)}"


def _put_linker(folder: Path) -> None:
    """Put a program `ld` into `folder` that runs `run/elf_link`."""
    code = (
        f"import sys; sys.path.insert(0, {str(Path(elf_link.__file__).parents[2])!r}); "
        "from kernelref.run.elf_link import main; "
        f"sys.exit(main(sys.argv[1:], {shutil.which('ld')!r}))"
    )
    program = folder / "ld"
    # By way of a shell, since the system limits what may stand behind `#!`.
    command = shlex.join([sys.executable, "-IS", "-c", code])
    program.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
    program.chmod(0o755)


def _only_driver(driver: Path | None) -> tuple[tuple[str, str], ...]:
    """Load this driver and no other: faster, and no other driver's crash is ours."""
    return (("OCL_ICD_VENDORS", str(driver)),) if driver else ()


def _bundled_driver() -> Path | None:
    package = importlib.util.find_spec("pyopencl")
    if package is None or package.origin is None:
        return None
    return _first_file(str(Path(package.origin).parent / ".libs" / "pocl.icd"))


def _first_file(*paths: str) -> Path | None:
    return next((Path(path) for path in paths if Path(path).is_file()), None)


T = TypeVar("T")


def _ask(question: Callable[..., T], *arguments: object) -> T:
    """The answer of a fresh process. Raises: DeviceError for a crash, a hang or an exception."""
    context = multiprocessing.get_context("spawn")
    with ProcessPool(max_workers=1, context=context) as pool:
        future = pool.schedule(question, args=arguments, timeout=PROBE_SECONDS)
        try:
            return future.result()
        except FutureTimeoutError:
            raise DeviceError(f"no answer within {PROBE_SECONDS:.0f} s") from None
        except ProcessExpired as expired:
            raise DeviceError(f"the driver crashed (exit code {expired.exitcode})") from None
        except BrokenProcessPool:
            # It was gone before the pool had heard that it began.
            raise DeviceError("the driver crashed at once") from None
        except ImportError as error:
            raise DeviceError(f"{error}") from None


def _describe(kind: DeviceKind) -> DeviceInfo:
    # Drivers write to it from threads of their own, also while it is being removed.
    with tempfile.TemporaryDirectory(prefix="kernelref-", ignore_cleanup_errors=True) as private:
        prepare_worker(kind, Path(private), 1)
        # The import loads drivers, which only a worker may do, and only in its own environment.
        from kernelref.run.opencl import describe, open_device

        info = describe(kind.name, open_device(kind))
        return replace(info, loop_max=kind.loop_max, images=info.images and kind.has_images)


def _list_system() -> list[tuple[str, str, int]]:
    # As in _describe: importing loads drivers.
    from kernelref.run.opencl import list_devices

    return list_devices()
