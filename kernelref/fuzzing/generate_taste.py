"""What a generator likes: weights and percentages, as data.

The defaults are set so that what real kernels hold comes often and what only a fuzzer would write
comes too; `docs/generator.md` states the counts that follow. A campaign makes its own from them
(`campaign_feedback`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kernelref.ir.ast import Op
from kernelref.ir.dtype import (
    BFLOAT16,
    BOOL,
    DOUBLE,
    FLOAT,
    HALF,
    INT8,
    INT16,
    INT32,
    INT64,
    UINT8,
    UINT16,
    UINT32,
    UINT64,
    DType,
)

DTYPES: dict[DType, int] = {
    FLOAT: 40, HALF: 12, INT32: 12, BOOL: 4, INT64: 5, UINT8: 4, INT8: 4, INT16: 3, UINT16: 3,
    UINT32: 4, UINT64: 3, DOUBLE: 4, BFLOAT16: 3,
}  # fmt: skip

OPS: dict[Op, int] = {
    Op.ADD: 12, Op.MUL: 12, Op.MAX: 8, Op.NEG: 6, Op.SUB: 6, Op.WHERE: 6, Op.CMPLT: 8,
    Op.CMPNE: 6, Op.CMPEQ: 5, Op.XOR: 4, Op.IDIV: 3, Op.MOD: 3, Op.SHL: 2, Op.SHR: 2, Op.DIV: 6,
    Op.MULACC: 2, Op.RECIP: 6, Op.SQRT: 5, Op.EXP2: 6, Op.LOG2: 3, Op.SIN: 2,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Taste:
    """Weights of dtypes, ops and shapes, and how often the rest comes, in percent.

    Units: `points` are weighted targets for the iteration space, `nodes` the most nodes of one
    output before what safety adds.
    """

    dtypes: Mapping[DType, int] = field(default_factory=lambda: DTYPES)
    ops: Mapping[Op, int] = field(default_factory=lambda: OPS)
    dims: tuple[tuple[int, int], ...] = (
        (3, 24), (2, 22), (1, 8), (4, 22), (5, 12), (6, 7), (7, 4), (0, 1),
    )  # fmt: skip
    points: tuple[tuple[tuple[int, int], int], ...] = (
        ((600, 2400), 50), ((1, 64), 8), ((64, 600), 12), ((2400, 12_000), 30),
    )  # fmt: skip
    reduces: tuple[tuple[int, int], ...] = ((0, 34), (1, 44), (2, 15), (3, 7))
    outputs: tuple[tuple[int, int], ...] = ((1, 86), (2, 10), (3, 4))
    nodes: tuple[tuple[tuple[int, int], int], ...] = (((1, 6), 50), ((6, 14), 40), ((14, 28), 10))
    exact: int = 48
    product: int = 30
    matmul: int = 6
    images: int = 10
    symbolic: int = 6
    in_place: int = 8
    shared: int = 10
    same_buffer: int = 15
    constants: int = 30
    oddities: int = 2


DEFAULT = Taste()
