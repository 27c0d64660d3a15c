"""A Program run on the interpreter, against what its Kernel computes: the replay of a difference.

`domain` compares texts. Where they differ in a way that no engine settles, runs with whole
numbers, of both signs and all alike, decide whether the difference shows.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from kernelref.codegen.program import Program
from kernelref.errors import Unsupported
from kernelref.ir import semantics
from kernelref.ir.ast import ReduceOp
from kernelref.ir.dtype import DType
from kernelref.ir.index import Var, evaluate
from kernelref.ir.semantics import Array
from kernelref.opt.axis import REDUCES
from kernelref.opt.kernel import Kernel
from kernelref.prove.claim import lift_at, ordered
from kernelref.prove.measure import Inputs, Measure
from kernelref.prove.step import Side, side_of, symbols_of
from kernelref.prove.verdict import Witness
from kernelref.run.interp import interpret
from kernelref.run.job import GroupRange
from kernelref.run.outcome import Outcome

MOST_ELEMENTS = 1 << 24
MOST_GROUPS = 1 << 14
"""Work-groups up to which a launch is run whole."""
SOME_GROUPS = 64
POINTS = 256
BINDINGS = 5
NARROW = 32
"""Bits of floats in which sums of small whole numbers round."""
SECONDS = 20.0
"""After which no other inputs are tried: there is no proof to lose."""


def small_numbers(buffer: int, dtype: DType, address: Array) -> Array:
    """Whole numbers from 1 to 5 that change from element to element (0 and 1 for bool)."""
    mixed = _mixed(buffer, address)
    return (mixed % 5 + 1 if dtype.value.bits > 1 else mixed % 2).astype(dtype.numpy)


def mixed_signs(buffer: int, dtype: DType, address: Array) -> Array:
    """Whole numbers from -3 to 3, of unsigned dtypes what they wrap to."""
    if dtype.value.bits == 1:
        return small_numbers(buffer + 1, dtype, address)
    return (_mixed(buffer, address) % 7 - 3).astype(dtype.numpy)


def _mixed(buffer: int, address: Array) -> Array:
    mixed: Array = (np.asarray(address, np.int64) * 2_654_435_761 + buffer * 40_503) >> 7
    return mixed


def all_of(number: float | None) -> Inputs:
    """One number in every element; None: the lowest of the dtype."""

    def numbers(_: int, dtype: DType, address: Array) -> Array:
        lowest = -np.inf if dtype.value.is_float else dtype.value.lowest
        filled = np.full(np.shape(address), lowest if number is None else number)
        if dtype.value.is_float:
            return filled.astype(dtype.numpy)
        return filled.astype(np.int64 if number is not None else dtype.numpy).astype(dtype.numpy)

    return numbers


def inputs_for(kernel: Kernel) -> Iterator[Inputs]:
    """Contents of the buffers to try: with each of them the order of a sum shows in no result."""
    yield small_numbers
    yield all_of(-1)
    yield all_of(0)
    yield all_of(1)
    is_narrow = any(r.dtype.value.is_float and r.dtype.value.bits < NARROW for r in kernel.reduces)
    if not is_narrow:
        yield mixed_signs
    if all(reduce.op is ReduceOp.MAX for reduce in kernel.reduces):
        yield all_of(None)
    if not kernel.reduces:
        yield all_of(-0.0)


def bindings_for(symbols: Sequence[Var], rng: random.Random) -> Iterator[dict[str, int]]:
    """Values of symbols: all the least, all the most, and some between."""
    known: list[dict[str, int]] = []
    for number in range(BINDINGS):
        values: dict[str, int] = {}
        for var in symbols:
            high = int(evaluate(var.high, values))
            values[var.name] = (var.low, high, rng.randint(var.low, high))[min(number, 2)]
        if values not in known:
            known.append(values)
            yield values


def rerun(kernel: Kernel, program: Program) -> Witness | str:
    """A point at which the Program's result is not the Kernel's, or why none was seen."""
    side = side_of(kernel)
    rng = random.Random(0)
    symbols = ordered({*symbols_of(side), *program.variables})
    answer = "a run shows no difference"
    begin = time.process_time()
    for values in bindings_for(symbols, rng):
        for inputs in inputs_for(kernel):
            found = _once(kernel, program, side, inputs, values)
            if isinstance(found, Witness):
                return found
            answer = found or answer
            if time.process_time() - begin > SECONDS:
                return answer
    return answer


def _once(
    kernel: Kernel, program: Program, side: Side, inputs: Inputs, values: dict[str, int]
) -> Witness | str:
    """What one run shows: a difference, why it cannot be compared, or nothing ("")."""
    elements = {b.number: int(evaluate(b.elements, values)) for b in program.buffers}
    if sum(elements.values()) > MOST_ELEMENTS:
        return "too large to run"
    held: dict[int, Array] = {}
    for buffer in program.buffers:
        dtype = buffer.dtype
        numbers = inputs(buffer.number, dtype, np.arange(elements[buffer.number]))
        held[buffer.number] = np.asarray(semantics.encode(numbers, dtype))
    x, y, z = (int(evaluate(count, values)) for count in program.groups)
    count = (x, y, z) if x * y * z <= MOST_GROUPS else (min(x, SOME_GROUPS), min(y, 2), min(z, 2))
    some = GroupRange((0, 0, 0), count)
    result = interpret(program, held, values, ranges=(some,))
    if result.fault is not None:
        if result.fault.outcome is Outcome.TRAP and inputs is not small_numbers:
            # Nor is the Kernel asked to divide by what these inputs hold.
            return ""
        return Witness("program", "a run of it", (), "no fault", str(result.fault))
    measure = Measure(side, kernel.reduces, kernel.index, inputs, values)
    is_whole = count == (x, y, z)
    try:
        return _compare(kernel, measure, result.buffers, result.written, is_whole)
    except Unsupported as error:
        return str(error)


def _compare(
    kernel: Kernel,
    measure: Measure,
    buffers: Mapping[int, Array],
    written: Mapping[int, Array],
    is_whole: bool,
) -> Witness | str:
    rng = random.Random(0)
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
            if kernel.reduces and math.isnan(wanted + found):
                # Whether a maximum of a NaN is one depends on the order.
                continue
            if not _close(wanted, found):
                return Witness(subject, "an element", (address,), wanted, found)
    return ""


def _close(wanted: float, found: float) -> bool:
    return bool(np.isclose(float(wanted), float(found), rtol=1e-2, atol=1e-3, equal_nan=True))
