"""Every op, cast and bitcast of every dtype: the rendered text against `ir/semantics`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from kernelref.codegen.opencl import render
from kernelref.codegen.program import (
    Apply,
    BufferArgument,
    Convert,
    Define,
    LoadGlobal,
    Program,
    ProgramValue,
    Register,
    StoreGlobal,
)
from kernelref.codegen.target import POCL
from kernelref.ir import semantics
from kernelref.ir.ast import COMPARES, Op
from kernelref.ir.dtype import BFLOAT16, BOOL, HALF, SCALARS, DType, Kind
from kernelref.ir.index import Var
from kernelref.run.devices import device_kind
from kernelref.run.job import KernelLaunch, LaunchBuffer, LaunchResult, from_stored, to_stored

opencl = pytest.importorskip("kernelref.run.opencl", reason="no OpenCL here")

POINTS = 400
HERE = Var("gidx0", 0, POINTS - 1)
APPROXIMATE = {Op.EXP2: 4, Op.LOG2: 4, Op.SIN: 4, Op.SQRT: 3, Op.DIV: 3, Op.RECIP: 3}
"""Units in the last place that OpenCL C 1.2 section 7.4 allows for float, rounded up."""


@pytest.fixture(scope="module")
def runner() -> object:
    return opencl.Runner(device_kind("pocl"))


def samples(dtype: DType, rng: np.random.Generator) -> np.ndarray:
    """Values of `dtype`: small ones, extremes, and anything; finite for floats."""
    if dtype == BOOL:
        return rng.integers(0, 2, POINTS).astype(bool)
    if dtype.kind is not Kind.FLOAT:
        low, high = int(dtype.lowest), int(dtype.highest)
        values = rng.integers(low, high, POINTS, dtype=dtype.numpy, endpoint=True)
        small = rng.integers(max(low, -9), 10, POINTS).astype(dtype.numpy)
        mixed = np.where(rng.random(POINTS) < 0.6, small, values)
        mixed[:3] = (low, high, min(1, high))
        return mixed.astype(dtype.numpy)
    values = (rng.standard_normal(POINTS) * 8).astype(np.float32)
    values[:6] = (0.0, -0.0, 1.0, np.inf, -np.inf, np.nan)
    values[6:60] = rng.integers(-4, 5, 54)
    wide = values.astype(np.float64)
    wide[60:90] = [(1 + 2.0**-11 + 2.0**-40) * k for k in range(1, 31)]
    with semantics.quiet():
        narrow = semantics.round_to(wide.astype(dtype.numpy), dtype)
    return rng.permutation(narrow)


def program(name: str, sources: Sequence[DType], result: DType, value: ProgramValue) -> Program:
    loads = [
        Define(Register(f"x{i}", dtype), LoadGlobal(f"data{i + 1}", HERE, 1, dtype))
        for i, dtype in enumerate(sources)
    ]
    out = Register("y", result)
    return Program(
        name,
        (
            BufferArgument("data0", 0, result, POINTS, is_output=True),
            *(
                BufferArgument(f"data{i + 1}", i + 1, dtype, POINTS, is_output=False)
                for i, dtype in enumerate(sources)
            ),
        ),
        (),
        (POINTS, 1, 1),
        (1, 1, 1),
        (*loads, Define(out, value), StoreGlobal("data0", HERE, 1, out)),
    )


def launch(made: Program, inputs: Sequence[np.ndarray], sources: Sequence[DType]) -> KernelLaunch:
    output = made.buffers[0].dtype
    buffers = [LaunchBuffer(0, output, POINTS, is_written=True)]
    buffers += [
        LaunchBuffer(i + 1, dtype, POINTS, is_written=False, data=to_stored(dtype, values))
        for i, (dtype, values) in enumerate(zip(sources, inputs, strict=True))
    ]
    return KernelLaunch(
        made.name, render(made, POCL), (POINTS, 1, 1), None, tuple(buffers), label=made.name
    )


def results(runner: object, launches: Sequence[KernelLaunch]) -> list[np.ndarray]:
    kernels = runner.build(tuple(launches))  # type: ignore[attr-defined]
    found = []
    for job, kernel in zip(launches, kernels, strict=True):
        assert not isinstance(kernel, LaunchResult), (kernel.detail, job.source)
        result = runner.run(job, kernel)  # type: ignore[attr-defined]
        assert result.fault is None, (result.detail, job.source)
        found.append(from_stored(job.buffers[0].dtype, result.outputs[0]))
    return found


def agree(got: np.ndarray, want: np.ndarray, dtype: DType, ulps: float) -> np.ndarray:
    if not dtype.is_float:
        return got == want
    got64, want64 = got.astype(np.float64), want.astype(np.float64)
    step = np.abs(np.spacing(np.abs(want))).astype(np.float64)
    if dtype == BFLOAT16:
        step = step * 65536
    same = (got64 == want64) | (np.isnan(got64) & np.isnan(want64))
    return same | (np.abs(got64 - want64) <= ulps * step)


@pytest.mark.parametrize("dtype", SCALARS, ids=str)
def test_ops(runner: object, dtype: DType) -> None:
    rng = np.random.default_rng(1)
    jobs, wanted = [], []
    for op in Op:
        if not semantics.is_defined(op, dtype):
            continue
        kinds = [BOOL, dtype, dtype] if op is Op.WHERE else [dtype] * op.arity
        inputs = [samples(kind, rng) for kind in kinds]
        if op in (Op.LOG2, Op.SQRT):
            inputs = [np.abs(inputs[0])]
        result = BOOL if op in COMPARES else dtype
        with semantics.quiet():
            undefined = semantics.undefined_where(op, inputs, dtype)
            if undefined is not None:
                inputs[-1] = np.where(undefined, dtype.numpy.type(1), inputs[-1])
            wanted.append((op, semantics.apply(op, inputs, dtype)))
        registers = tuple(Register(f"x{i}", kind) for i, kind in enumerate(kinds))
        made = program(f"k_{op.name.lower()}", kinds, result, Apply(op, registers, dtype))
        jobs.append(launch(made, inputs, kinds))
    with np.errstate(all="ignore"):
        for (op, want), job, got in zip(wanted, jobs, results(runner, jobs), strict=True):
            ulps = APPROXIMATE.get(op, 0) if dtype not in (HALF, BFLOAT16) else 1
            ulps = ulps if op in APPROXIMATE else 0
            same = agree(got, want, BOOL if op in COMPARES else dtype, ulps)
            bad = np.flatnonzero(~same)[:5]
            assert same.all(), (op, bad, got[bad], want[bad], job.source)


@pytest.mark.parametrize("source", SCALARS, ids=str)
def test_casts_and_bitcasts(runner: object, source: DType) -> None:
    rng = np.random.default_rng(2)
    jobs, wanted = [], []
    for target in SCALARS:
        for bitcast in (False, True):
            if bitcast and (source.itemsize != target.itemsize or BOOL in (source, target)):
                continue
            values = samples(source, rng)
            with semantics.quiet():
                if bitcast:
                    if source.is_float or target.is_float:
                        values = np.resize(values[np.isfinite(values)], POINTS)
                    want = semantics.bitcast(values, source, target)
                else:
                    undefined = semantics.conversion_undefined_where(values, source, target)
                    if undefined is not None:
                        values = np.where(undefined, source.numpy.type(0), values)
                    want = semantics.convert(values, source, target)
            value = Convert(Register("x0", source), target, bitcast)
            made = program(f"k_{target.name}_{int(bitcast)}", [source], target, value)
            jobs.append(launch(made, [values], [source]))
            wanted.append((target, bitcast, want))
    with np.errstate(all="ignore"):
        for (target, bitcast, want), job, got in zip(
            wanted, jobs, results(runner, jobs), strict=True
        ):
            same = agree(got, want, target, 0)
            bad = np.flatnonzero(~same)[:5]
            assert same.all(), (source, target, bitcast, bad, got[bad], want[bad], job.source)
