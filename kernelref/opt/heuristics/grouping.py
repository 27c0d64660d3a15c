"""Steps that share a reduction among work-items."""

from __future__ import annotations

from kernelref.ir.ast import Alu, Load, Op, ReduceOp
from kernelref.ir.index import Sint, is_possibly_gt, is_possibly_le, product
from kernelref.ir.shapetracker import ShapeTracker
from kernelref.opt.extents import is_multiple
from kernelref.opt.heuristics.session import Session
from kernelref.opt.kernel import Kernel
from kernelref.opt.opt import Opt, OptOps
from kernelref.opt.rules.request import Request
from kernelref.opt.rules.transform import first_fault

MOST_OUTPUTS = 2048
FEW_OUTPUTS = 32


def matrix_vector(session: Session) -> None:
    """A sum of products whose first operand lies along the reduced axis: share each row.

    GROUP 0 by `mv_threads`, then LOCAL and UPCAST of the first global axis that divides. Nothing
    else follows; a refusal escapes.
    """
    kernel, settings = session.kernel, session.settings
    loads = _multiplied_loads(kernel)
    if loads is None or not settings.matrix_vector or not kernel.limits.has_local:
        return
    if max(settings.mv_block, settings.mv_threads, settings.mv_rows) <= 1:
        return
    if len(kernel.axes) < 2 or not kernel.limits.has_shared:
        return
    first, second = (kernel.sts[kernel.buffer_of(load)] for load in loads)
    reduced = kernel.first_reduce
    if reduced >= len(kernel.axes):
        session.falls("reduced-axis-exists", reduced, len(kernel.axes), "IndexError")
        return
    if first.real_strides()[reduced] != 1 or (_is_broadcast(first) and _is_broadcast(second)):
        return
    rows = settings.mv_block * settings.mv_rows
    for axis in range(kernel.global_dims):
        extents = kernel.full_shape
        if is_multiple(extents[reduced], settings.mv_threads) and is_multiple(extents[axis], rows):
            if settings.mv_threads > 1:
                session.apply(OptOps.GROUP, 0, settings.mv_threads)
            if settings.mv_block > 1:
                session.apply(OptOps.LOCAL, axis, settings.mv_block)
            if settings.mv_rows > 1:
                session.apply(OptOps.UPCAST, axis, settings.mv_rows)
            return


def _multiplied_loads(kernel: Kernel) -> tuple[Load, Load] | None:
    """The operands when the first reduction is SUM of MUL of two LOADs."""
    reduce = kernel.reduceop
    if reduce is None or reduce.op is not ReduceOp.SUM:
        return None
    match reduce.value:
        case Alu(op=Op.MUL, src=(Load() as first, Load() as second)):
            return first, second
        case _:
            return None


def _is_broadcast(st: ShapeTracker) -> bool:
    """Whether the buffer stands still along some axis that it has an extent on."""
    return any(
        is_possibly_gt(extent, 1) and stride == 0
        for extent, stride in zip(st.shape, st.real_strides(), strict=True)
    )


def group_top(session: Session) -> None:
    """Few outputs: share the first reduced axis among 256 or 16 work-items."""
    kernel = session.kernel
    outputs = _outputs(kernel)
    if outputs is None or kernel.float4_axes(0) or kernel.first_reduce > 2:
        return
    if kernel.first_reduce >= len(kernel.axes) or not is_possibly_le(outputs, MOST_OUTPUTS):
        return
    sizes = (256, 16) if is_possibly_le(outputs, FEW_OUTPUTS) else (16,)
    for size in sizes:
        extents = [st.shape[kernel.first_reduce] for st in kernel.sts]
        if not all(is_multiple(extent, size) or extent == 1 for extent in extents):
            continue
        opt = Opt(OptOps.GROUPTOP, 0, size)
        if session.settings.tries_groups and _is_refused(kernel, opt):
            continue
        session.apply(opt.op, opt.axis, opt.amt)
        return


def upcast_mid(session: Session) -> None:
    """Grouped image output: its axis that steps by 1 becomes four registers after the groups."""
    kernel = session.kernel
    if _outputs(kernel) is None or not kernel.buffers[0].dtype.is_image or kernel.float4_axes(0):
        return
    if not kernel.group_dims or kernel.first_reduce > 2:
        return
    if not is_possibly_gt(product(kernel.output_shape), 1):
        return
    axes = kernel.sts[0].unit_stride_axes()
    if len(axes) != 1:
        session.falls("one-unit-stride-axis", axes, "exactly one", "AssertionError")
        return
    if is_multiple(kernel.output_shape[axes[0]], 4):
        session.apply(OptOps.UPCASTMID, axes[0], 4)


def _outputs(kernel: Kernel) -> Sint | None:
    """How many outputs there are, if locals and shared memory exist and no extent is symbolic."""
    extents = kernel.output_shape[: kernel.first_reduce]
    if not kernel.limits.has_local or not kernel.limits.has_shared:
        return None
    return product(extents) if all(isinstance(n, int) for n in extents) else None


def _is_refused(kernel: Kernel, opt: Opt) -> bool:
    fault = first_fault(Request.of(kernel, opt))
    return fault is not None and not fault.breaks
