"""Small ASTs and kernels that the opt tests share."""

from __future__ import annotations

from kernelref.ir.ast import Ast
from kernelref.ir.builder import buffer, kernel
from kernelref.ir.dtype import FLOAT, IMAGE_FLOAT, DType, image
from kernelref.ir.index import Var
from kernelref.opt.axis import AxisType
from kernelref.opt.kernel import Kernel
from kernelref.opt.limits import OPENCL, Limits
from kernelref.opt.rules.ruleset import RuleSet
from kernelref.opt.rules.sets import SOUND

I = Var("i", 1, 10)  # noqa: E741 - the name that the real kernels use


def matmul(m: int = 16, n: int = 16, k: int = 16, dtype: DType = FLOAT) -> Ast:
    return kernel(buffer(1, (m, k), dtype) @ buffer(2, (k, n), dtype))


def add(*shape: int, dtype: DType = FLOAT) -> Ast:
    """A transposed operand keeps the axes apart."""
    left, right = buffer(1, shape, dtype), buffer(2, shape[::-1], dtype)
    return kernel(left + right.permute(*reversed(range(len(shape)))))


def row_sum(*shape: int, dtype: DType = FLOAT) -> Ast:
    return kernel(buffer(1, shape, dtype).sum(-1))


def symbolic_sum() -> Ast:
    return kernel(buffer(1, (8, I)).sum(-1))


def image_sum(columns: int = 8, terms: int = 64) -> Ast:
    """Axes: GLOBAL(columns), GLOBAL(4) along the channels, REDUCE(terms)."""
    total = buffer(1, (columns, 4, terms)).sum(-1)
    return kernel(total.cast(image(IMAGE_FLOAT, (1, columns, 4))))


def opened(ast: Ast, limits: Limits = OPENCL, rules: RuleSet = SOUND) -> Kernel:
    return Kernel.open(ast, limits, rules)


def axes(kernel: Kernel) -> str:
    """The typed axes as one reads them: GLOBAL(4) UPCAST(2)."""
    return " ".join(f"{axis.type.name}({axis.extent})" for axis in kernel.axes)


def extents_of(kernel: Kernel, kind: AxisType) -> list[object]:
    return [axis.extent for axis in kernel.axes if axis.type is kind]
