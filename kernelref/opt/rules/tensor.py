"""The TC opt: which N, M and K fit a tensor core, and the opts that shape the kernel after it.

Law: that of its parts, applied in order: PADTO on N, M, K as needed, UNROLL K by the tile, UPCAST
what N or M has beyond the threads, LOCAL per thread entry (these become WARP axes).
Source: tinygrad 0.9.1 codegen/kernel.py, _create_tc_opts and _apply_tc_opt.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kernelref.errors import KernelOptError
from kernelref.ir.ast import Alu, Cast, Constant, Load, Op, Reduce, ReduceOp, Value
from kernelref.ir.dtype import DType
from kernelref.opt.axis import AxisType
from kernelref.opt.broke import OptBroke
from kernelref.opt.extents import is_multiple
from kernelref.opt.opt import Opt, OptOps
from kernelref.opt.rules.request import Request
from kernelref.opt.rules.step import Step
from kernelref.opt.rules.transform import Refusal, Taken, first_fault, refusal, take
from kernelref.opt.tensor_core import TensorCore, TensorState

if TYPE_CHECKING:
    from kernelref.opt.kernel import Kernel

ANY_OPERAND = 1
"""From this level on operands may be CASTs, and several axes may be reduced."""
PADDED = 2
"""From this level on extents need not be multiples of the tile."""


@dataclass(frozen=True, slots=True)
class Fit:
    """How one reduction fits a tensor core: its N, M, K axes and what must be padded to what."""

    axes: tuple[int, int, int]
    padding: tuple[tuple[int, int], ...]


def shape_for_tensor_core(kernel: Kernel, opt: Opt) -> Taken | Refusal:
    """The kernel in the shape of the first tensor core that fits, and its steps; or why not.

    None fits, a part is refused, or the release falls over.
    """
    assert opt.axis is not None
    assert opt.amt is not None
    axis = opt.axis
    steps: tuple[Step, ...] = ()
    for core in _usable_cores(kernel):
        fit, operands = _fit_all(kernel, core, Opt(opt.op, axis, opt.amt))
        if isinstance(fit, OptBroke):
            return fit
        if fit is None:
            continue
        ready = replace(kernel, tensor=TensorState(core, fit.axes[:2], operands))
        padded, padding, refused = _pad(ready, fit)
        if refused is None:
            shaped = _shape(padded, core, fit)
            if not isinstance(shaped, tuple):
                return shaped
            done, rest = shaped
            assert done.tensor is not None
            marked = replace(done.tensor, marked=kernel.limits.tc == 1)
            return replace(done, tensor=marked), (*steps, *padding, *rest)
        if kernel.rules.is_release:
            # *differs:* a release goes on with what it padded, and with the axis it padded last.
            kernel, steps, axis = replace(padded, tensor=None), (*steps, *padding), refused
    return KernelOptError(
        check="tensor-core-fits", opt=opt, found="none", needed="a tensor core that fits"
    )


def _usable_cores(kernel: Kernel) -> tuple[TensorCore, ...]:
    sums = [reduce.op is ReduceOp.SUM for reduce in kernel.reduces]
    if kernel.rules.is_release:
        sums = sums[:1]
    usable = kernel.limits.tc and kernel.limits.has_local and sums and all(sums)
    return kernel.limits.tensor_cores if usable else ()


def _fit_all(
    kernel: Kernel, core: TensorCore, opt: Opt
) -> tuple[Fit | OptBroke | None, tuple[tuple[int, int], ...]]:
    """How all reductions fit `core`: they must fit it alike."""
    found = [_fit(kernel, core, reduce, opt) for reduce in kernel.reduces]
    fits = [fit for fit, _ in found]
    for fit in fits:
        if isinstance(fit, OptBroke):
            return fit, ()
    if any(fit != fits[0] for fit in fits):
        fell = OptBroke("reduces-fit-alike", opt=opt, found=fits, needed="equal fits")
        return fell if kernel.rules.is_release else None, ()
    return fits[0], tuple(operands for _, operands in found)


def _fit(
    kernel: Kernel, core: TensorCore, reduce: Reduce, opt: Opt
) -> tuple[Fit | OptBroke | None, tuple[int, int]]:
    """How one reduction fits `core`, with the buffers of its operands."""
    assert opt.axis is not None
    assert opt.amt is not None
    none = None, (-1, -1)
    multiplied = factors(reduce, core)
    if multiplied is None:
        return none
    first, second = (_operand(kernel, factor, core.dtype_in, opt.amt) for factor in multiplied)
    if first is None or second is None:
        return none
    columns, rows = steady_axes(kernel, first), steady_axes(kernel, second)
    reduced = range(kernel.first_reduce, len(kernel.axes))
    if not (columns and rows and (len(reduced) == 1 or opt.amt >= ANY_OPERAND)):
        return none
    choices = list(itertools.product(columns, rows, reduced))
    if not kernel.rules.is_release:
        row = kernel.iterates[kernel.reduces.index(reduce)]
        choices = [(n, m, k) for n, m, k in choices if n != m and row[k]]
    if not opt.axis < len(choices):
        return none
    if -(opt.axis + 1) >= len(choices):
        fell = OptBroke(
            "axis-names-a-choice", opt=opt, found=opt.axis, needed=len(choices), error="IndexError"
        )
        return fell, (-1, -1)
    axes = choices[-(opt.axis + 1)]
    padding = tuple(
        (axis, tile)
        for axis, tile in zip(axes, core.dims, strict=True)
        if not is_multiple(kernel.full_shape[axis], tile)
    )
    if padding and opt.amt < PADDED:
        return none
    return Fit(axes, padding), (first, second)


def factors(reduce: Reduce, core: TensorCore) -> tuple[Value, Value] | None:
    """What is multiplied below `reduce`, under a CAST where the core's dtypes differ."""
    value = reduce.value
    if core.dtype_in != core.dtype_out:
        if not isinstance(value, Cast) or value.bitcast or value.dtype != core.dtype_out:
            return None
        value = value.value
    if not isinstance(value, Alu) or value.op is not Op.MUL:
        return None
    return value.src[0], value.src[1]


def _operand(kernel: Kernel, value: Value, wanted: DType, level: int) -> int | None:
    """The buffer of an operand: a LOAD of the wanted dtype, or from level 1 on a CAST to it.

    *differs:* a release takes a CAST of a CONST, too.
    """
    if isinstance(value, Load) and value.dtype == wanted:
        return kernel.buffer_of(value)
    if level < ANY_OPERAND or not isinstance(value, Cast) or value.bitcast:
        return None
    source = value.value
    known = (Load, Constant) if kernel.rules.is_release else (Load,)
    if value.dtype != wanted or not isinstance(source, known):
        return None
    return kernel.buffer_of(source)


def steady_axes(kernel: Kernel, buffer: int) -> list[int]:
    """The axes before the reduced ones along which a buffer does not move."""
    strides = kernel.sts[buffer].real_strides()[: kernel.first_reduce]
    return [axis for axis, stride in enumerate(strides) if stride == 0]


def _pad(kernel: Kernel, fit: Fit) -> tuple[Kernel, tuple[Step, ...], int | None]:
    """The padded kernel and its steps; the axis that may not be padded, if there is one."""
    steps: tuple[Step, ...] = ()
    for axis, tile in fit.padding:
        request = Request.of(kernel, Opt(OptOps.PADTO, axis, tile))
        if first_fault(request) is not None:
            return kernel, steps, axis
        kernel, step = take(kernel, request)
        steps = (*steps, step)
    return kernel, steps, None


def _shape(kernel: Kernel, core: TensorCore, fit: Fit) -> Taken | Refusal:
    """Unroll K by the tile, upcast N and M beyond the threads, then the threads themselves."""
    parts: list[tuple[OptOps, int, int]] = [(OptOps.UNROLL, 2, core.dims[2])]
    for dim in range(2):
        parts.append((OptOps.UPCAST, dim, core.dims[dim] // core.threads_along(dim)))
    parts.extend((OptOps.LOCAL, dim, amount) for dim, amount in core.threads)
    steps: tuple[Step, ...] = ()
    for op, dim, amount in parts:
        if amount == 1:
            continue
        place = fit.axes[2] - kernel.first_reduce if dim == 2 else _place(kernel, dim)
        request = Request.of(kernel, Opt(op, place, amount))
        fault = first_fault(request)
        if fault is not None:
            return refusal(fault, request)
        kernel, step = take(kernel, request, AxisType.WARP if op is OptOps.LOCAL else None)
        steps = (*steps, step)
    return kernel, steps


def _place(kernel: Kernel, dim: int) -> int | None:
    """Where N (0) or M (1) is."""
    assert kernel.tensor is not None
    return kernel.tensor.axes[dim]
