"""A Program run on the interpreter, against what its Kernel computes: the replay of a difference.

`domain` compares texts. Where they differ in a way that no engine settles, a run with small whole
numbers decides whether the difference shows.
"""

from __future__ import annotations

import random
from collections.abc import Mapping

import numpy as np

from kernelref.codegen.program import Program
from kernelref.errors import Unsupported
from kernelref.ir import semantics
from kernelref.ir.dtype import DType
from kernelref.ir.index import evaluate
from kernelref.ir.semantics import Array
from kernelref.opt.axis import REDUCES
from kernelref.opt.kernel import Kernel
from kernelref.prove.claim import lift_at
from kernelref.prove.measure import Measure
from kernelref.prove.step import side_of, symbols_of
from kernelref.prove.verdict import Witness
from kernelref.run.interp import interpret
from kernelref.run.job import GroupRange

MOST_ELEMENTS = 1 << 24
MOST_GROUPS = 1 << 14
"""Work-groups up to which a launch is run whole."""
SOME_GROUPS = 64
POINTS = 256


def small_numbers(buffer: int, dtype: DType, address: Array) -> Array:
    """Whole numbers from 1 to 5 that change from element to element (0 and 1 for bool)."""
    mixed = (np.asarray(address, np.int64) * 2_654_435_761 + buffer * 40_503) >> 7
    return (mixed % 5 + 1 if dtype.value.bits > 1 else mixed % 2).astype(dtype.numpy)


def rerun(kernel: Kernel, program: Program) -> Witness | str:
    """A point at which the Program's result is not the Kernel's, or why none was seen."""
    side = side_of(kernel)
    rng = random.Random(0)
    values = {var.name: var.low for var in symbols_of(side)} | {
        var.name: var.low for var in program.variables
    }
    elements = {b.number: int(evaluate(b.elements, values)) for b in program.buffers}
    if sum(elements.values()) > MOST_ELEMENTS:
        return "too large to run"
    held: dict[int, Array] = {}
    for buffer in program.buffers:
        dtype = buffer.dtype
        numbers = small_numbers(buffer.number, dtype, np.arange(elements[buffer.number]))
        held[buffer.number] = np.asarray(semantics.encode(numbers, dtype))
    x, y, z = (int(evaluate(count, values)) for count in program.groups)
    count = (x, y, z) if x * y * z <= MOST_GROUPS else (min(x, SOME_GROUPS), min(y, 2), min(z, 2))
    some = GroupRange((0, 0, 0), count)
    result = interpret(program, held, values, ranges=(some,))
    if result.fault is not None:
        return Witness("program", "a run of it", (), "no fault", str(result.fault))
    measure = Measure(side, kernel.reduces, kernel.index, small_numbers, values)
    is_whole = count == (x, y, z)
    try:
        return _compare(kernel, measure, result.buffers, result.written, is_whole, rng)
    except Unsupported as error:
        return str(error)


def _compare(
    kernel: Kernel,
    measure: Measure,
    buffers: Mapping[int, Array],
    written: Mapping[int, Array],
    is_whole: bool,
    rng: random.Random,
) -> Witness | str:
    side, lift = measure.side, lift_at(measure.symbols)
    along = [axis for axis, kind in enumerate(side.types) if kind not in REDUCES]
    for store in kernel.ast:
        access = side.accesses[kernel.buffer_of(store)]
        for _ in range(POINTS):
            point = [0] * len(side.extents)
            for axis in along:
                point[axis] = rng.randrange(lift(side.extents[axis]))
            address, valid = access.address(point, lift)
            held = written.get(store.buffer)
            is_there = held is not None and address < len(held) and bool(held[address])
            if not valid or not (is_whole or is_there):
                continue
            wanted = measure.value(store.value, dict(enumerate(point))).item()
            subject = f"output {store.buffer}"
            if not is_there:
                return Witness(subject, "an element", (address,), wanted, "not written")
            stored = buffers[store.buffer][address : address + 1]
            found = semantics.decode(stored, store.dtype).item()
            if not _close(wanted, found):
                return Witness(subject, "an element", (address,), wanted, found)
    return "a run shows no difference"


def _close(wanted: float, found: float) -> bool:
    return bool(np.isclose(float(wanted), float(found), rtol=1e-2, atol=1e-3, equal_nan=True))
