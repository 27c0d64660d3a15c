"""What a device can do, as the optimizer sees it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Device limits.

    Units: `shared_max` bytes of on-chip memory a work-group; `global_max` work-groups and `local_max`
    work-items along (x, y, z); `group_max` work-items in a group. None: no limit. `tc` is the
    tensor-core level (0 off, 1 the instruction, 2 the shape only).
    """

    has_local: bool = True
    has_shared: bool = True
    shared_max: int = 32768
    global_max: tuple[int, int, int] | None = None
    local_max: tuple[int, int, int] | None = None
    group_max: int | None = None
    supports_float4: bool = True
    tensor_cores: tuple[object, ...] = ()
    tc: int = 1
