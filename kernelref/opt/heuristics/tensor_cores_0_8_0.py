"""Tensor cores as 0.8.0 applies them: no TC opt, but other opts one by one.

Source: tinygrad 0.8.0 codegen/kernel.py, apply_tensor_cores.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import prod

from kernelref.ir.ast import Load, ReduceOp
from kernelref.opt.axis import Axis, AxisType
from kernelref.opt.extents import is_multiple
from kernelref.opt.heuristics.session import Session
from kernelref.opt.kernel import Kernel
from kernelref.opt.opt import Opt, OptOps
from kernelref.opt.rules.tensor import factors, steady_axes
from kernelref.opt.tensor_core import (
    AMD,
    HIP_0_8_0,
    METAL,
    METAL_0_8_0,
    TensorCore,
    TensorState,
)


@dataclass(slots=True)
class _Places:
    """Where N and M are: they shift when an axis before them vanishes, and end when they do."""

    n: int | None
    m: int | None

    def told(self, place: int, *, vanished: bool) -> None:
        """An opt took the axis at `place`."""
        if not vanished:
            return
        if place == self.n:
            self.m = _shifted(self.m, place)
            self.n = None
        elif place == self.m:
            self.n = _shifted(self.n, place)
            self.m = None


def _shifted(place: int | None, removed: int) -> int | None:
    return place - 1 if place is not None and removed < place else place


def apply_tensor_cores_0_8_0(
    session: Session, use_tensor_cores: int = 1, extra_opts: Iterable[Opt] | None = None
) -> bool:
    """Shape the kernel after the first tensor core that fits; False when none does.

    Raises: KernelOptError, OptBroke: a refusal of a part escapes.
    """
    kernel = session.kernel
    first = kernel.reduceop
    if not use_tensor_cores or not kernel.limits.has_local or first is None:
        return False
    if first.op is not ReduceOp.SUM:
        return False
    for core in _cores(kernel):
        places = _choose(session, core)
        if places is None:
            continue
        operands = _operands(kernel, core)
        assert operands is not None
        _shape(session, core, places)
        session.kernel = replace(
            session.kernel,
            axes=tuple(_warp(axis) for axis in session.kernel.axes),
            tensor=TensorState(
                core, (places.n, places.m), (operands,), marked=use_tensor_cores == 1
            ),
        )
        if extra_opts is None:
            _late_opts(session, places)
        else:
            for opt in extra_opts:
                session.apply(opt.op, opt.axis, opt.amt)
        return True
    return False


def _cores(kernel: Kernel) -> tuple[TensorCore, ...]:
    """This release's table of the device whose cores the limits list, cut to those."""
    wanted = kernel.limits.tensor_cores
    for later, own in ((METAL, METAL_0_8_0), (AMD, HIP_0_8_0)):
        if wanted and wanted[0] in later + own:
            kinds = {(core.dims, core.dtype_in, core.dtype_out) for core in wanted}
            return tuple(c for c in own if (c.dims, c.dtype_in, c.dtype_out) in kinds)
    return ()


def _operands(kernel: Kernel, core: TensorCore) -> tuple[int, int] | None:
    """The buffers of two LOADs of the core's dtype that are multiplied."""
    reduce = kernel.reduceop
    found = None if reduce is None else factors(reduce, core)
    if found is None:
        return None
    match found:
        case (Load() as first, Load() as second):
            if first.dtype == second.dtype == core.dtype_in:
                return kernel.buffer_of(first), kernel.buffer_of(second)
            return None
        case _:
            return None


def _choose(session: Session, core: TensorCore) -> _Places | None:
    """The last N and M that divide, and one reduced axis that does."""
    kernel = session.kernel
    operands = _operands(kernel, core)
    if operands is None or len(kernel.axes) - kernel.first_reduce != 1:
        return None
    shape = kernel.full_shape
    n_tile, m_tile, k_tile = core.dims
    columns = [a for a in steady_axes(kernel, operands[0]) if is_multiple(shape[a], n_tile)]
    rows = [a for a in steady_axes(kernel, operands[1]) if is_multiple(shape[a], m_tile)]
    if not columns or not rows or not is_multiple(shape[kernel.first_reduce], k_tile):
        return None
    if columns[-1] == rows[-1]:
        session.falls("n-differs-from-m", columns[-1], "two axes", "AssertionError")
        return None
    return _Places(columns[-1], rows[-1])


def _shape(session: Session, core: TensorCore, places: _Places) -> None:
    """Unroll K, upcast the core's dim, then a local per thread entry."""
    session.apply(OptOps.UNROLL, 0, core.dims[2])
    beyond = core.dims[0] * core.dims[2] // prod(amount for _, amount in core.threads)
    session.apply(OptOps.UPCAST, places.n if core.upcast_dim == 0 else places.m, beyond)
    for dim, amount in core.threads:
        _take(session, places, OptOps.LASTLOCAL, dim, amount)


def _take(session: Session, places: _Places, op: OptOps, dim: int, amount: int) -> None:
    place = places.n if dim == 0 else places.m
    before = len(session.kernel.axes)
    session.apply(op, place, amount)
    if place is not None:
        places.told(place, vanished=len(session.kernel.axes) == before)


def _warp(axis: Axis) -> Axis:
    return replace(axis, type=AxisType.WARP) if axis.type is AxisType.LOCAL else axis


def _late_opts(session: Session, places: _Places) -> None:
    """Upcast M, then N, by the largest of 5, 4, 3, 2 that divides; LASTLOCAL N by 4 or 2."""
    for dim in (1, 0):
        place = places.n if dim == 0 else places.m
        amount = _divisor(session, place, (5, 4, 3, 2))
        if amount is not None:
            _take(session, places, OptOps.UPCAST, dim, amount)
    amount = _divisor(session, places.n, (4, 2))
    if session.kernel.has_tensor_core and amount is not None:
        session.apply(OptOps.LASTLOCAL, places.n, amount)


def _divisor(session: Session, place: int | None, divisors: tuple[int, ...]) -> int | None:
    if place is None:
        return None
    extent = session.kernel.full_shape[place]
    return next((amount for amount in divisors if is_multiple(extent, amount)), None)
