"""Jobs: what a device worker is asked to run and what it answers, as plain picklable values.

A `KernelLaunch` is one kernel's text with its launch sizes and its memory; its answer is a
`LaunchResult`. Several launches go to one program build (`run/isolate` makes the batches), so a
kernel's text must be self-contained: it defines exactly one `__kernel` called `name` (renamed in
the batch, so names may repeat), and whatever else it defines stands under its own `#ifndef`.

Arguments are passed in the order `buffers`, then `variables` as 32-bit ints.

Nothing here imports a device library: the parent process builds jobs and judges answers, the
worker alone touches drivers (`run/opencl`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from kernelref.ir.dtype import BFLOAT16, BOOL, DType
from kernelref.run.outcome import Outcome

Array = NDArray[np.generic]
Stored: TypeAlias = range | NDArray[np.int64]
"""Elements of a buffer: a run of them (by steps of 1), or each by its number."""


@dataclass(frozen=True, slots=True)
class GroupRange:
    """A box of work-groups of a launch: `count` groups from `first` on, along (x, y, z)."""

    first: tuple[int, int, int]
    count: tuple[int, int, int]


@dataclass(frozen=True, slots=True, eq=False)
class LaunchBuffer:
    """One pointer or image argument.

    Units: `elements` counts elements of `dtype.storage`. `data` holds them as stored
    (`stored_type`); None means that nothing is known before the run, so the worker fills the
    buffer with poison. A buffer with data and `is_written` is read and written in place.
    `points` are the elements whose final values are wanted; None means all of them. `stored` are
    those that the launch must have written, and no other; None means that `points` must be written
    and nothing is known of the rest. An input (`is_written` false) must be unchanged after the run.
    """

    number: int
    dtype: DType
    elements: int
    is_written: bool
    data: Array | None = None
    points: NDArray[np.int64] | None = None
    stored: Stored | None = None


@dataclass(frozen=True, slots=True, eq=False)
class KernelLaunch:
    """One kernel, once.

    Units: `groups` counts work-groups, `local` work-items in a group; `local` None leaves the
    group size to the driver, and `groups` then counts work-items. `ranges` None launches every
    group; else only those boxes of groups, each by an offset of the launch (see `PARTIAL_PRELUDE`).
    `optimise` asks the device's compiler for its optimisations: PoCL then compiles half as fast and
    runs long loops three times as fast. `label` names the case in journals and messages.
    """

    name: str
    source: str
    groups: tuple[int, int, int]
    local: tuple[int, int, int] | None
    buffers: tuple[LaunchBuffer, ...]
    variables: tuple[int, ...] = ()
    ranges: tuple[GroupRange, ...] | None = None
    optimise: bool = False
    label: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class LaunchResult:
    """How a launch ended, as far as the device side can tell.

    `fault` is None when the kernel ran and nothing was wrong but perhaps its values, which the
    caller compares; `outputs` then holds, per written buffer, the elements asked for, as stored.
    Outputs are also there for UNWRITTEN and OUT_OF_BOUNDS. `notes` are further faults of the same
    run, `seconds` the wall time of the launch and `build_seconds` this launch's share of the build.
    """

    fault: Outcome | None
    detail: str = ""
    outputs: dict[int, Array] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    build_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Budget:
    """What one worker may use. Units: seconds of wall time, bytes of address space.

    `launch_seconds` counts for one launch with its first-launch compile, `build_seconds` for one
    program build, whatever the number of its kernels.
    """

    launch_seconds: float = 30.0
    build_seconds: float = 120.0
    memory_nbytes: int | None = 8 << 30


PARTIAL_PRELUDE = """#ifndef KERNELREF_GROUP_ID
#define KERNELREF_GROUP_ID(D) (get_global_id(D) / get_local_size(D))
#endif
"""
"""What stands for get_group_id in a text of which only some groups are launched.

A launch offset moves get_global_id and not get_group_id, so the text asks this instead and stays
otherwise as it is. Law: with offset = first * local size,
get_global_id / get_local_size = first + group. Source: OpenCL C 3.0, section 6.15.1.
"""


def stored_type(dtype: DType) -> np.dtype[np.generic]:
    """The numpy type of one stored element: bytes for bool, bit patterns for bfloat16."""
    storage = dtype.storage
    if storage == BOOL:
        return np.dtype(np.uint8)
    return np.dtype(np.uint16) if storage == BFLOAT16 else storage.numpy


def to_stored(dtype: DType, values: Array) -> Array:
    """Values in the dtype's numpy type, as they lie in a buffer (one-dimensional, contiguous)."""
    flat = np.ascontiguousarray(values).reshape(-1)
    if dtype.storage == BFLOAT16:
        return (flat.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return flat.astype(stored_type(dtype))


def from_stored(dtype: DType, stored: Array) -> Array:
    """The values of stored elements, in the numpy type of the dtype's values.

    A stored bool that is neither 0 nor 1 counts as true here; compare bools as stored.
    """
    if dtype.storage == BFLOAT16:
        return (stored.astype(np.uint32) << 16).view(np.float32)
    return stored.astype(dtype.numpy)
