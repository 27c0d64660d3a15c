"""The buffers of a Program: which arguments, how many elements, image or plain memory.

An image argument is read or written by texels of four channels, and never both. An image of the
AST that is stored one channel at a time (no upcast axis runs over its channels), that is read and
written, or that the device cannot hold, lies in plain memory of its storage dtype instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from kernelref.codegen.program import BufferArgument
from kernelref.codegen.target import Target
from kernelref.ir.ast import Load, Store
from kernelref.ir.dtype import DType
from kernelref.opt.kernel import Kernel


@dataclass(frozen=True, slots=True)
class Access:
    """One buffer as the AST uses it."""

    dtype: DType
    elements: int
    is_read: bool
    is_written: bool


def accesses(kernel: Kernel) -> dict[int, Access]:
    """What the AST does with each buffer, by number. Units: `elements` counts elements."""
    found: dict[int, Access] = {}
    for node in kernel.index:
        match node:
            case Load(number, dtype) | Store(number, dtype):
                known = found.get(number, Access(dtype, 1, is_read=False, is_written=False))
                found[number] = Access(
                    dtype,
                    max(known.elements, _elements(node)),
                    known.is_read or isinstance(node, Load),
                    known.is_written or isinstance(node, Store),
                )
    return dict(sorted(found.items()))


def _elements(node: Load | Store) -> int:
    return prod(node.dtype.image) if node.dtype.image else node.st.real_size()


def arguments(
    kernel: Kernel, target: Target, stores_texels: frozenset[int]
) -> dict[int, BufferArgument]:
    """The argument of each buffer, by number; `stores_texels` are the outputs stored by fours."""
    return {
        number: BufferArgument(
            f"data{number}",
            number,
            access.dtype
            if _is_image_argument(access, target, is_by_texels=number in stores_texels)
            else access.dtype.storage,
            access.elements,
            access.is_written,
        )
        for number, access in accesses(kernel).items()
    }


def _is_image_argument(access: Access, target: Target, *, is_by_texels: bool) -> bool:
    if access.dtype.image is None or not target.images:
        return False
    rows, columns, _ = access.dtype.image
    if columns > target.image_max[0] or rows > target.image_max[1]:
        return False
    return is_by_texels and not access.is_read if access.is_written else True
