"""What the text of a program may use and a launch may ask for, as a device reports it.

Limits (`opt/limits`) say what an optimizer may do; a Target says what the text may contain. The two
are separate because an optimizer may believe in a device that is not there.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Target:
    """What rendered text may use; bfloat16 arithmetic is never native.

    Units: `group_max` counts work-items of a group, `local_max` work-items and `grid_max`
    work-groups along (x, y, z), `image_max` texels along (columns, rows), what ends in nbytes bytes
    on chip for a group, of one buffer and of all, `loop_max` the iterations of a work-item after
    which the device silently goes on (nested ones counted together). None: there is no such bound.
    """

    name: str
    native_half: bool = False
    double: bool = False
    images: bool = False
    image_max: tuple[int, int] = (8192, 8192)
    group_max: int = 256
    local_max: tuple[int, int, int] = (256, 256, 256)
    grid_max: tuple[int, int, int] = (2**31 - 1, 2**31 - 1, 2**31 - 1)
    shared_nbytes: int | None = None
    buffer_nbytes: int | None = None
    memory_nbytes: int | None = None
    loop_max: int | None = None


POCL = Target("pocl", double=True, images=True, group_max=4096, local_max=(4096, 4096, 4096))
FULL = Target(
    "full", native_half=True, double=True, images=True, group_max=1024, local_max=(1024,) * 3
)
MINIMAL = Target("minimal", group_max=64, local_max=(64, 64, 64), grid_max=(65535, 65535, 65535))

TARGETS: dict[str, Target] = {target.name: target for target in (POCL, FULL, MINIMAL)}
