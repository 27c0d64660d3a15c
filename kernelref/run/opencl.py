"""Runs kernels through PyOpenCL: the one module that touches a driver, in a worker process only.

Read `run/job` first for what goes in and comes out, and `run/poison` for how writes are seen.
Pointer buffers lie between red zones in one allocation; inputs are compared after the run; outputs
hold poison before it. A simulator checks addresses itself, so there buffers stand alone.
"""

from __future__ import annotations

import re
import time
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TypeAlias

import numpy as np
import pyopencl as cl

from kernelref.errors import DeviceError
from kernelref.run import pocl_cpu
from kernelref.run.batch import join_sources, launch_boxes
from kernelref.run.device import DeviceInfo, DeviceKind
from kernelref.run.job import Array, KernelLaunch, LaunchBuffer, LaunchResult, stored_type
from kernelref.run.outcome import Outcome
from kernelref.run.poison import (
    Bits,
    as_bits,
    bits_type,
    poison_bits,
    zone_bits,
    zone_damage,
    zone_elements,
)
from kernelref.run.written import look

CHUNK_NBYTES = 1 << 26
DETAIL_LENGTH = 2000

_OUT_OF_MEMORY = {
    cl.status_code.MEM_OBJECT_ALLOCATION_FAILURE,
    cl.status_code.OUT_OF_RESOURCES,
    cl.status_code.OUT_OF_HOST_MEMORY,
}
_TOO_LARGE = {
    cl.status_code.INVALID_BUFFER_SIZE,
    cl.status_code.INVALID_IMAGE_SIZE,
    cl.status_code.INVALID_WORK_GROUP_SIZE,
    cl.status_code.INVALID_WORK_ITEM_SIZE,
    cl.status_code.INVALID_GLOBAL_WORK_SIZE,
    cl.status_code.IMAGE_FORMAT_NOT_SUPPORTED,
}
_BUILD = {
    cl.status_code.BUILD_PROGRAM_FAILURE,
    cl.status_code.COMPILE_PROGRAM_FAILURE,
    cl.status_code.LINK_PROGRAM_FAILURE,
}


def open_device(kind: DeviceKind) -> cl.Device:
    """The driver's device of this kind. Raises: DeviceError when it is not here."""
    try:
        platforms = cl.get_platforms()
    except cl.Error as error:
        raise DeviceError(f"no OpenCL platform: {error}") from None
    for platform in platforms:
        if platform.name.startswith(kind.platform):
            devices = _devices(platform)
            if kind.index < len(devices):
                device = devices[kind.index]
                if pocl_cpu.is_unnamed(device.version):
                    pocl_cpu.name_processor(device.int_ptr)
                return device
    raise DeviceError(f"no OpenCL platform {kind.platform!r} with a device {kind.index}")


def describe(name: str, device: cl.Device) -> DeviceInfo:
    """What the device reports, once it has shown that it can run a kernel at all."""
    _say_hello(device)
    extensions = device.extensions.split()
    images = bool(device.image_support)
    local_max = tuple(device.max_work_item_sizes)
    return DeviceInfo(
        name,
        platform=device.platform.name.strip(),
        device=device.name.strip(),
        version=f"{device.version.strip()}; driver {device.driver_version.strip()}",
        half="cl_khr_fp16" in extensions,
        double="cl_khr_fp64" in extensions,
        images=images,
        image_max=(device.image2d_max_width, device.image2d_max_height) if images else (0, 0),
        group_max=device.max_work_group_size,
        local_max=(local_max[0], local_max[1], local_max[2]),
        local_nbytes=device.local_mem_size,
        memory_nbytes=device.global_mem_size,
        allocation_nbytes=device.max_mem_alloc_size,
        units=device.max_compute_units,
    )


def list_devices() -> list[tuple[str, str, int]]:
    """Every device here as (gpu or cpu, platform name, index)."""
    return [
        ("gpu" if device.type & cl.device_type.GPU else "cpu", platform.name.strip(), index)
        for platform in cl.get_platforms()
        for index, device in enumerate(_devices(platform))
    ]


class Runner:
    """One device with a queue; it lives as long as its worker process."""

    def __init__(self, kind: DeviceKind) -> None:
        self.kind = kind
        self.device = open_device(kind)
        self.context = cl.Context([self.device])
        self.queue = cl.CommandQueue(self.context)

    def build(self, launches: tuple[KernelLaunch, ...]) -> list[cl.Kernel | LaunchResult]:
        """A kernel for each launch, or why it has none: batches first, then one by one."""
        kernels: list[cl.Kernel | LaunchResult] = [LaunchResult(None)] * len(launches)
        for optimise in (False, True):
            members = [i for i, launch in enumerate(launches) if launch.optimise == optimise]
            if members:
                options = self.kind.optimised_options if optimise else self.kind.options
                built = self._build_program([launches[i] for i in members], options)
                for i, kernel in zip(members, built, strict=True):
                    kernels[i] = kernel
        return kernels

    def _build_program(
        self, launches: list[KernelLaunch], options: tuple[str, ...]
    ) -> list[cl.Kernel | LaunchResult]:
        text, names = join_sources(launches)
        try:
            with warnings.catch_warnings():
                # A compiler's remark on a text is not ours to act on.
                warnings.simplefilter("ignore")
                program = cl.Program(self.context, text).build(options=list(options))
            return [cl.Kernel(program, name) for name in names]
        except cl.Error as error:
            if len(launches) > 1:
                return [
                    kernel
                    for launch in launches
                    for kernel in self._build_program([launch], options)
                ]
            return [_failure(error, building=True)]

    def run(self, launch: KernelLaunch, kernel: cl.Kernel) -> LaunchResult:
        """Launch one kernel; a second time under other poison if it may have left some."""
        try:
            result, suspects = self._run_once(launch, kernel, second=False)
            if not suspects:
                return result
            again, left = self._run_once(launch, kernel, second=True)
        except (cl.Error, MemoryError) as error:
            return _failure(error, building=False)
        unwritten = {
            number: np.intersect1d(positions, left[number])
            for number, positions in suspects.items()
            if number in left
        }
        sentences = [
            f"buffer {number}: {len(positions)} elements not written, first [{positions[0]}]"
            for number, positions in unwritten.items()
            if len(positions)
        ]
        if not sentences:
            return result
        if result.fault is not None:
            return replace(result, notes=(*result.notes, *sentences))
        return replace(again, fault=Outcome.UNWRITTEN, detail="; ".join(sentences))

    def _run_once(
        self, launch: KernelLaunch, kernel: cl.Kernel, *, second: bool
    ) -> tuple[LaunchResult, dict[int, Array]]:
        if kernel.num_args != len(launch.buffers) + len(launch.variables):
            detail = f"the kernel takes {kernel.num_args} arguments"
            return LaunchResult(Outcome.HARNESS_ERROR, detail), {}
        memories = [self._memory(buffer, second=second) for buffer in launch.buffers]
        for i, memory in enumerate(memories):
            kernel.set_arg(i, memory.argument)
        for i, value in enumerate(launch.variables, len(memories)):
            kernel.set_arg(i, np.int32(value))
        self.queue.finish()
        start = time.perf_counter()
        for size, local, offset in launch_boxes(launch):
            cl.enqueue_nd_range_kernel(self.queue, kernel, size, local, offset)
        self.queue.finish()
        seconds = time.perf_counter() - start
        faults = [sentence for memory in memories if (sentence := memory.damage())]
        outputs: dict[int, Array] = {}
        suspects: dict[int, Array] = {}
        for memory in memories:
            buffer = memory.buffer
            if buffer.is_written:
                seen = look(buffer, memory.pieces())
                outputs[buffer.number] = seen.wanted.view(stored_type(buffer.dtype))
                if len(seen.unwritten):
                    suspects[buffer.number] = seen.unwritten
                if seen.stray:
                    faults.append(seen.stray)
        fault = Outcome.OUT_OF_BOUNDS if faults else None
        return LaunchResult(
            fault, "; ".join(faults[:1]), outputs, tuple(faults[1:]), seconds
        ), suspects

    def _memory(self, buffer: LaunchBuffer, *, second: bool) -> Memory:
        if buffer.dtype.is_image:
            return ImageMemory(self.queue, buffer, second=second)
        zone = 0 if self.kind.is_simulator else zone_elements(buffer.dtype, buffer.elements)
        return PointerMemory(self.queue, buffer, zone, second=second)


class PointerMemory:
    """A buffer between two red zones of `zone` elements, filled and ready to be an argument."""

    def __init__(
        self, queue: cl.CommandQueue, buffer: LaunchBuffer, zone: int, *, second: bool
    ) -> None:
        self.buffer = buffer
        self.queue = queue
        self.zone = zone
        self.second = second
        self.width = buffer.dtype.itemsize
        elements = max(buffer.elements, 1)
        flags = cl.mem_flags.READ_WRITE if buffer.is_written else cl.mem_flags.READ_ONLY
        self.memory = cl.Buffer(queue.context, flags, (elements + 2 * zone) * self.width)
        self.argument = self.memory
        if zone:
            self.argument = self.memory.get_sub_region(zone * self.width, elements * self.width)
            pattern = zone_bits(buffer.dtype, buffer.number, zone)
            self._write(-zone, pattern)
            self._write(elements, pattern)
        for start, bits in _initial(buffer, second=second):
            self._write(start, bits)

    def damage(self) -> str:
        """What was written that must not be: a red zone, or an input."""
        if self.zone:
            before = self._read(-self.zone, self.zone)
            after = self._read(max(self.buffer.elements, 1), self.zone)
            sentence = zone_damage(
                self.buffer.dtype, self.buffer.number, self.buffer.elements, before, after
            )
            if sentence:
                return sentence
        if self.buffer.is_written:
            return ""
        return _changed(self.buffer, self.pieces())

    def pieces(self) -> Iterator[tuple[int, Bits, Bits]]:
        """The whole buffer, piece by piece: first element, bits before the run, bits now."""
        for start, before in _initial(self.buffer, second=self.second):
            yield start, before, self._read(start, len(before))

    def _write(self, start: int, bits: Bits) -> None:
        cl.enqueue_copy(self.queue, self.memory, bits, dst_offset=(self.zone + start) * self.width)

    def _read(self, start: int, count: int) -> Bits:
        bits = np.empty(count, bits_type(self.buffer.dtype))
        if count:
            cl.enqueue_copy(
                self.queue, bits, self.memory, src_offset=(self.zone + start) * self.width
            )
        return bits


class ImageMemory:
    """An image; what lies around it is the driver's, so it has no red zones."""

    def __init__(self, queue: cl.CommandQueue, buffer: LaunchBuffer, *, second: bool) -> None:
        assert buffer.dtype.image is not None
        self.buffer = buffer
        self.queue = queue
        self.region = (buffer.dtype.image[1], buffer.dtype.image[0])
        flags = cl.mem_flags.READ_WRITE if buffer.is_written else cl.mem_flags.READ_ONLY
        channel = (
            cl.channel_type.HALF_FLOAT if buffer.dtype.itemsize == 2 else cl.channel_type.FLOAT
        )
        layout = cl.ImageFormat(cl.channel_order.RGBA, channel)
        self.argument = cl.create_image(queue.context, flags, layout, shape=self.region)
        self.initial = np.concatenate([bits for _, bits in _initial(buffer, second=second)])
        cl.enqueue_copy(
            queue, self.argument, self.initial, origin=(0, 0), region=self.region, is_blocking=True
        )

    def damage(self) -> str:
        """What was written that must not be: an input."""
        if self.buffer.is_written:
            return ""
        return _changed(self.buffer, self.pieces())

    def pieces(self) -> Iterator[tuple[int, Bits, Bits]]:
        """The whole image: first element, bits before the run, bits now."""
        yield 0, self.initial, self._read()

    def _read(self) -> Bits:
        bits = np.empty_like(self.initial)
        cl.enqueue_copy(
            self.queue, bits, self.argument, origin=(0, 0), region=self.region, is_blocking=True
        )
        return bits


Memory: TypeAlias = PointerMemory | ImageMemory
Kernel: TypeAlias = cl.Kernel


def _initial(buffer: LaunchBuffer, *, second: bool) -> Iterator[tuple[int, Bits]]:
    """What a buffer holds before the run, as pieces with their first elements."""
    step = CHUNK_NBYTES // buffer.dtype.itemsize
    data = None if buffer.data is None else as_bits(buffer.dtype, buffer.data)
    if data is not None and len(data) != buffer.elements:
        raise ValueError(f"buffer {buffer.number}: {len(data)} values, not {buffer.elements}")
    for start in range(0, buffer.elements, step):
        count = min(step, buffer.elements - start)
        if data is None:
            poison = poison_bits(buffer.dtype, second=second)
            yield start, np.full(count, poison, bits_type(buffer.dtype))
        else:
            yield start, data[start : start + count]


def _changed(buffer: LaunchBuffer, pieces: Iterable[tuple[int, Bits, Bits]]) -> str:
    for start, before, after in pieces:
        where = np.flatnonzero(before != after)
        if len(where):
            return f"input buffer {buffer.number}: [{start + int(where[0])}] was written"
    return ""


def _failure(error: cl.Error | MemoryError, *, building: bool) -> LaunchResult:
    """The outcome of an exception from the driver."""
    if isinstance(error, MemoryError):
        return LaunchResult(Outcome.OUT_OF_MEMORY, "no memory in the worker")
    detail = _compiler_log(str(error))[:DETAIL_LENGTH]
    if error.code in _OUT_OF_MEMORY:
        return LaunchResult(Outcome.OUT_OF_MEMORY, detail)
    if error.code in _TOO_LARGE:
        return LaunchResult(Outcome.UNSUPPORTED, f"device-limits: {detail}")
    if building or error.code in _BUILD:
        return LaunchResult(Outcome.BUILD_ERROR, detail)
    return LaunchResult(Outcome.HARNESS_ERROR, detail)


def _compiler_log(message: str) -> str:
    """The compiler's own words, where PyOpenCL's message has them."""
    log = re.search(r"Build on <.*?>:\s*(.*?)\s*\(options: ", message, re.DOTALL)
    return log[1] if log else message


def _devices(platform: cl.Platform) -> list[cl.Device]:
    try:
        return list(platform.get_devices())
    except cl.Error:
        # A platform without a device says so by failing.
        return []


def _say_hello(device: cl.Device) -> None:
    """Run one kernel with an offset. Raises: DeviceError when it does not do what it should."""
    context = cl.Context([device])
    queue = cl.CommandQueue(context)
    text = "__kernel void hello(__global int *out) { out[get_global_id(0)] = get_global_id(0); }"
    out = np.zeros(8, np.int32)
    try:
        kernel = cl.Kernel(cl.Program(context, text).build(), "hello")
        memory = cl.Buffer(context, cl.mem_flags.READ_WRITE, out.nbytes)
        cl.enqueue_copy(queue, memory, out)
        kernel.set_args(memory)
        cl.enqueue_nd_range_kernel(queue, kernel, (4,), (2,), (4,))
        cl.enqueue_copy(queue, out, memory)
    except cl.Error as error:
        raise DeviceError(f"it cannot run a kernel: {str(error)[:DETAIL_LENGTH]}") from None
    if out.tolist() != [0, 0, 0, 0, 4, 5, 6, 7]:
        raise DeviceError(f"it runs a kernel wrongly: {out.tolist()}")
