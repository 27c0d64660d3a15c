"""A device as plain values: how a worker reaches it, and what it reports of itself."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DeviceKind:
    """How a worker reaches a device.

    `platform` begins the OpenCL platform's name, `index` counts its devices. `environment` is set
    before the driver loads; in its values `{private}` is the worker's own folder and `{threads}`
    the threads it may use. `options` are the compiler's unless a launch asks for optimisation
    (`optimised_options` then). A simulator checks addresses itself, needs no red zones, and its
    memory cannot be damaged by a wild write. `needs_linker`: its compiler runs `ld`. `loop_max`:
    the device silently leaves loops after so many iterations of a work-item, nested ones counted
    together (None: it does not). `has_images`: what it reads of an image can be believed.
    """

    name: str
    platform: str
    index: int = 0
    environment: tuple[tuple[str, str], ...] = ()
    options: tuple[str, ...] = ("-cl-opt-disable",)
    optimised_options: tuple[str, ...] = ()
    is_simulator: bool = False
    needs_linker: bool = False
    loop_max: int | None = None
    has_images: bool = True
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class DeviceInfo:
    """What a device reports.

    Units: `group_max` and `local_max` count work-items, `image_max` texels along (columns, rows),
    what ends in nbytes bytes.
    """

    name: str
    platform: str
    device: str
    version: str
    half: bool
    double: bool
    images: bool
    image_max: tuple[int, int]
    group_max: int
    local_max: tuple[int, int, int]
    local_nbytes: int
    memory_nbytes: int
    allocation_nbytes: int
    units: int
    loop_max: int | None = None
