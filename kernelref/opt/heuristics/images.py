"""Steps that make images be read and written by four channels."""

from __future__ import annotations

from kernelref.opt.heuristics.session import Session, vector_candidates, wants_vector
from kernelref.opt.opt import OptOps


def required_vector(session: Session) -> None:
    """Image output: upcast its first unit-stride axis by 4.

    Source: tinygrad 0.9.1 codegen/kernel.py, required_optimizations.
    """
    kernel = session.kernel
    if not kernel.buffers[0].dtype.is_image:
        return
    axes = vector_candidates(kernel, kernel.sts[0])
    if not axes:
        session.falls("unit-stride-axis", "none", "one divisible by 4", "AssertionError")
    if wants_vector(kernel, axes):
        session.apply(OptOps.UPCAST, axes[0], 4)


def image_buffers(session: Session) -> None:
    """Each image buffer: upcast or unroll its first unit-stride axis by 4."""
    for index, buffer in enumerate(session.kernel.buffers):
        kernel = session.kernel
        axes = vector_candidates(kernel, kernel.sts[index])
        if not buffer.dtype.is_image or not wants_vector(kernel, axes):
            continue
        if axes[0] < kernel.first_reduce:
            session.apply(OptOps.UPCAST, axes[0], 4)
        else:
            session.apply(OptOps.UNROLL, axes[0] - kernel.first_reduce, 4)
