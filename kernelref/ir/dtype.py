"""Element types: what numbers a buffer or a value holds.

A scalar `DType` has a kind, a width and a numpy type that carries its values exactly (bfloat16 is
carried in float32, rounded). An image dtype says how a buffer lies in memory (`image`: rows,
columns, 4 channels); its *values* are float32 in registers, as OpenCL's read_imagef gives them.

Source: tinygrad 0.8.0 and 0.9.1 dtype.py (names, priorities); OpenCL C 3.0, section 6.3.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace

import numpy as np


class Kind(enum.Enum):
    """The arithmetic a dtype follows."""

    BOOL = "bool"
    SIGNED = "signed"
    UNSIGNED = "unsigned"
    FLOAT = "float"

    # A member is one object, so its identity tells it; Enum's own hash runs Python code.
    __hash__ = object.__hash__


@dataclass(frozen=True, slots=True)
class DType:
    """A dtype. Units: `itemsize` is bytes of storage an element, `bits` the width of the value."""

    name: str
    kind: Kind
    itemsize: int
    image: tuple[int, int, int] | None = None

    def __str__(self) -> str:
        return f"{self.name}{self.image}" if self.image else self.name

    @property
    def bits(self) -> int:
        """Width in bits."""
        return 1 if self.kind is Kind.BOOL else self.itemsize * 8

    @property
    def is_float(self) -> bool:
        """Whether arithmetic rounds."""
        return self.kind is Kind.FLOAT

    @property
    def is_int(self) -> bool:
        """Whether arithmetic wraps (bool is neither int nor float)."""
        return self.kind in (Kind.SIGNED, Kind.UNSIGNED)

    @property
    def is_image(self) -> bool:
        """Whether a buffer of this dtype is an image."""
        return self.image is not None

    @property
    def value(self) -> DType:
        """The dtype of values in registers: float32 for an image, itself otherwise."""
        return FLOAT if self.image else self

    @property
    def storage(self) -> DType:
        """The scalar dtype of one stored element: half or float for an image, itself otherwise."""
        if self.image is None:
            return self
        return HALF if self.itemsize == 2 else FLOAT

    @property
    def numpy(self) -> np.dtype[np.generic]:
        """The numpy type that holds every value of this dtype exactly."""
        return np.dtype(_NUMPY[self.value.name])

    @property
    def lowest(self) -> bool | int | float:
        """The identity of MAX: false, the smallest integer, or -inf."""
        match self.kind:
            case Kind.BOOL:
                return False
            case Kind.UNSIGNED:
                return 0
            case Kind.SIGNED:
                return int(-(1 << (self.bits - 1)))
            case Kind.FLOAT:
                return float("-inf")

    @property
    def highest(self) -> bool | int | float:
        """The largest value: true, the largest integer, or inf."""
        match self.kind:
            case Kind.BOOL:
                return True
            case Kind.UNSIGNED:
                return int((1 << self.bits) - 1)
            case Kind.SIGNED:
                return int((1 << (self.bits - 1)) - 1)
            case Kind.FLOAT:
                return float("inf")


BOOL = DType("bool", Kind.BOOL, 1)
INT8 = DType("char", Kind.SIGNED, 1)
UINT8 = DType("uchar", Kind.UNSIGNED, 1)
INT16 = DType("short", Kind.SIGNED, 2)
UINT16 = DType("ushort", Kind.UNSIGNED, 2)
INT32 = DType("int", Kind.SIGNED, 4)
UINT32 = DType("uint", Kind.UNSIGNED, 4)
INT64 = DType("long", Kind.SIGNED, 8)
UINT64 = DType("ulong", Kind.UNSIGNED, 8)
HALF = DType("half", Kind.FLOAT, 2)
BFLOAT16 = DType("bfloat16", Kind.FLOAT, 2)
FLOAT = DType("float", Kind.FLOAT, 4)
DOUBLE = DType("double", Kind.FLOAT, 8)
IMAGE_HALF = DType("imageh", Kind.FLOAT, 2)
IMAGE_FLOAT = DType("imagef", Kind.FLOAT, 4)

SCALARS: tuple[DType, ...] = (
    BOOL, INT8, UINT8, INT16, UINT16, INT32, UINT32, INT64, UINT64, HALF, BFLOAT16, FLOAT, DOUBLE,
)  # fmt: skip
BY_NAME: dict[str, DType] = {dtype.name: dtype for dtype in SCALARS}

_NUMPY = {
    "bool": "bool", "char": "int8", "uchar": "uint8", "short": "int16", "ushort": "uint16",
    "int": "int32", "uint": "uint32", "long": "int64", "ulong": "uint64",
    "half": "float16", "bfloat16": "float32", "float": "float32", "double": "float64",
}  # fmt: skip


def image(base: DType, shape: tuple[int, int, int]) -> DType:
    """An image dtype: `base` is IMAGE_HALF or IMAGE_FLOAT, `shape` is (rows, columns, 4)."""
    return replace(base, image=shape)
