"""Small kernels made for tests, good and bad, and pools to run them on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kernelref.ir.dtype import FLOAT, DType
from kernelref.run.devices import device_kind, report
from kernelref.run.job import KernelLaunch, LaunchBuffer

ELEMENTS = 64
LOCAL = 4
INPUT = np.arange(1, ELEMENTS + 1, dtype=np.float32)
HEAD = (
    "__kernel void f(__global float *o, __global float *a) {"
    " int g = get_group_id(0); int l = get_local_id(0); int i = g * 4 + l; "
)

SEGFAULT = "*(__global float *)(64 + (long)i * 4) = 1.0f; o[i] = a[i];"
DIVERGENT = "if (l < 2) barrier(CLK_LOCAL_MEM_FENCE); o[i] = a[i];"
HANG = "while (1) o[i] = a[i];"
MISCOMPUTE = "o[i] = a[i] + 2.0f;"
NOT_C = "o[i] = nowhere;"
PAST_THE_END = "o[i + 1] = a[i]; if (i == 0) o[0] = 0.0f;"
BEFORE_THE_START = "o[i - 1] = a[i]; o[63] = 0.0f;"
UNWRITTEN = "if (i != 5) o[i] = a[i] + 1.0f;"
WRITES_INPUT = "o[i] = a[i] + 1.0f; if (i == 3) a[3] = 7.0f;"
GOOD = "o[i] = a[i] + 1.0f;"


def launch(body: str, *, label: str = "", **changes: Any) -> KernelLaunch:
    """One launch of 16 groups of 4: an output `o` and an input `a` of 64 floats."""
    buffers = (
        LaunchBuffer(0, FLOAT, ELEMENTS, is_written=True),
        LaunchBuffer(1, FLOAT, ELEMENTS, is_written=False, data=INPUT),
    )
    fields: dict[str, Any] = {
        "name": "f",
        "source": HEAD + body + "}",
        "groups": (ELEMENTS // LOCAL, 1, 1),
        "local": (LOCAL, 1, 1),
        "buffers": buffers,
        "label": label,
    }
    return KernelLaunch(**(fields | changes))


def copy_launch(dtype: DType, c_type: str, data: np.ndarray[Any, Any]) -> KernelLaunch:
    """Copy a buffer, one work-item an element, with the group size left to the driver."""
    source = (
        f"__kernel void f(__global {c_type} *o, const __global {c_type} *a)"
        " { o[get_global_id(0)] = a[get_global_id(0)]; }"
    )
    return KernelLaunch(
        "f",
        source,
        (len(data), 1, 1),
        None,
        (
            LaunchBuffer(0, dtype, len(data), is_written=True),
            LaunchBuffer(1, dtype, len(data), is_written=False, data=data),
        ),
    )


def need_device(name: str) -> None:
    """Skip the test when the device is not here."""
    answer = report(device_kind(name))
    if answer.info is None:
        pytest.skip(f"{name} is not here: {answer.problem}")
