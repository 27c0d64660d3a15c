"""The closed vocabulary: what each name is, and what each constructor's arguments make.

A builder gets the arguments of one closed constructor and returns a value or raises InvalidInput;
the reader adds the place. A name that is not in these tables is an error, never looked up.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kernelref.errors import InvalidInput, Unsupported
from kernelref.ir.dtype import BY_NAME, IMAGE_FLOAT, IMAGE_HALF, DType, image
from kernelref.ir.index import Var
from kernelref.ir.shapetracker import ShapeTracker
from kernelref.ir.tinygrad_repr.arguments import Arguments, Word, sint, sints, typed
from kernelref.ir.tinygrad_repr.nodes import ARITY, constant_value, lazyop, memory
from kernelref.ir.verify import check_view
from kernelref.ir.view import Mask, View


@dataclass(frozen=True, slots=True)
class WrittenOpt:
    """An opt as the text has it."""

    op: str
    axis: int | None
    amt: int | None


def _view(arguments: Arguments) -> View:
    # `contiguous` repeats what the other fields say, in the releases and here: it is read as a
    # bool and then derived, so that a text which contradicts itself cannot change a meaning.
    shape, strides, offset, mask, contiguous = arguments.named(
        "shape", "strides", "offset", "mask", "contiguous"
    )
    typed(contiguous, bool, "contiguous")
    view = View(
        sints(shape, "shape"), sints(strides, "strides"), sint(offset, "offset"), _mask(mask)
    )
    check_view(view)
    return view


def _mask(value: object) -> Mask | None:
    if value is None:
        return None
    pairs = []
    for item in typed(value, tuple, "mask"):
        pair = sints(item, "mask")
        if len(pair) != 2:
            raise InvalidInput(f"mask holds a range of {len(pair)} numbers, not 2")
        pairs.append((pair[0], pair[1]))
    return tuple(pairs)


def _shapetracker(arguments: Arguments) -> ShapeTracker:
    (views,) = arguments.named("views")
    stack = tuple(typed(view, View, "views") for view in typed(views, tuple, "views"))
    if not stack:
        raise InvalidInput("a ShapeTracker without views")
    return ShapeTracker(stack)


def _number_node(arguments: Arguments) -> int:
    (value,) = arguments.positional(1)
    return typed(value, int, "NumNode")


def _variable(arguments: Arguments) -> Var:
    name, low, high = arguments.positional(3)
    least, most = typed(low, int, "low"), typed(high, int, "high")
    if least > most:
        raise InvalidInput(f"a Variable of no value: {least} > {most}")
    return Var(typed(name, str, "name"), least, most)


def _image(base: DType) -> Callable[[Arguments], DType]:
    def build(arguments: Arguments) -> DType:
        (shape,) = arguments.positional(1)
        extents = tuple(typed(n, int, "shape") for n in typed(shape, tuple, "shape"))
        if len(extents) != 3 or extents[2] != 4 or min(extents) < 1:
            raise InvalidInput(f"an image has the shape (rows, columns, 4), not {extents}")
        return image(base, (extents[0], extents[1], extents[2]))

    return build


def _opt(arguments: Arguments) -> WrittenOpt:
    op, axis, amt = arguments.named("op", "axis", "amt")
    word = typed(op, Word, "op")
    if word.family != "OptOps":
        raise InvalidInput(f"op is {word}, not an OptOps")
    return WrittenOpt(
        word.name,
        None if axis is None else typed(axis, int, "axis"),
        None if amt is None else typed(amt, int, "amt"),
    )


BUILDERS: dict[str, Callable[[Arguments], Any]] = {
    "LazyOp": lazyop,
    "MemBuffer": memory,
    "ConstBuffer": constant_value,
    "ShapeTracker": _shapetracker,
    "View": _view,
    "NumNode": _number_node,
    "Variable": _variable,
    "Opt": _opt,
    "dtypes.imageh": _image(IMAGE_HALF),
    "dtypes.imagef": _image(IMAGE_FLOAT),
}

OPT_NAMES = (
    "TC", "UPCAST", "UPCASTMID", "UNROLL", "LOCAL", "LASTLOCAL", "GROUP", "GROUPTOP", "NOLOCALS",
    "PADTO",
)  # fmt: skip

SYMBOLS: dict[str, Any] = {
    "None": None,
    "True": True,
    "False": False,
    "nan": math.nan,
    **{f"dtypes.{name}": dtype for name, dtype in BY_NAME.items()},
    **{str(word): word for word in ARITY},
    **{f"OptOps.{name}": Word("OptOps", name) for name in OPT_NAMES},
}

_VECTOR = re.compile(r"ptr\.dtypes\..*|dtypes\.(_[a-z]+[0-9]+|[a-z0-9]+\.vec)")


def symbol(name: str) -> Any:
    """What a bare name is.

    Raises: Unsupported for a dtype that only generated code has; InvalidInput for other names.
    """
    try:
        return SYMBOLS[name]
    except KeyError:
        if _VECTOR.fullmatch(name):
            raise Unsupported("vector-dtype", f"{name} is no dtype of an AST") from None
        raise InvalidInput(f"unknown name {name[:60]}") from None
