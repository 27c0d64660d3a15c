"""What a kernel or a ShapeTracker of a release looks like, as plain values. Worker process only."""

from __future__ import annotations

import importlib
from typing import Any

from .plain import read_sint, read_st, trackers, write_dtype, write_sint, write_sints, write_st

views: Any = importlib.import_module("tinygrad.shape.view")


def groups_of(kernel: Any) -> int:
    """How many axes are grouped for the reduce."""
    if hasattr(kernel, "group_for_reduces"):
        return int(kernel.group_for_reduces)
    return len(kernel.group_for_reduce)


def summary_of(kernel: Any) -> tuple[Any, ...]:
    """Everything that an opt may change, cheap to compare."""
    options = getattr(kernel, "tensor_core_opts", None)
    return (
        tuple(kernel.sts), tuple(kernel.applied_opts), groups_of(kernel), kernel.upcasted,
        kernel.local_dims, kernel.dont_use_locals, kernel.tensor_core is not None,
        None if options is None else (tuple(options.axes), tuple(options.axes_exist)),
        len(kernel.bufs),
    )  # fmt: skip


def attempt(function: Any) -> Any:
    """The value of a query, or what it raised, as text."""
    try:
        return function()
    except Exception as error:
        return {"raised": f"{type(error).__name__}: {error}"[:500]}


def state_of(kernel: Any) -> dict[str, Any]:
    """Shapes, colours, views, strides, masks, applied opts."""
    options = getattr(kernel, "tensor_core_opts", None)
    # Aliases of a tensor core's operands come after the AST's own buffers (0.8.0 makes them early).
    memory = [buffer for buffer in kernel.bufs if type(buffer).__name__ != "LocalBuffer"]
    return {
        "full_shape": write_sints(kernel.full_shape),
        "output_shape": write_sints(kernel.sts[0].shape),
        "colors": attempt(kernel.colors),
        "first_reduce": kernel.first_reduce,
        "groups": groups_of(kernel),
        "local_dims": kernel.local_dims,
        "upcasted": kernel.upcasted,
        "use_locals": not kernel.dont_use_locals,
        "tensor_core": None if kernel.tensor_core is None else str(kernel.tensor_core),
        "threads": 0 if kernel.tensor_core is None else len(kernel.tensor_core.threads),
        "tensor_core_axes": None if options is None else
            [list(options.axes[:2]), list(options.axes_exist)],
        "applied_opts": actions_of(kernel.applied_opts),
        "full_buffer": kernel.full_buf_index,
        "buffers": [buffer_of(buffer) for buffer in memory],
        "sts": [tracker_of(st) for st in kernel.sts[: len(memory)]],
    }  # fmt: skip


def buffer_of(buffer: Any) -> list[Any]:
    """["mem", number, dtype] or ["const", value, dtype]."""
    dtype = write_dtype(buffer.dtype)
    if type(buffer).__name__ == "MemBuffer":
        return ["mem", buffer.idx, dtype]
    plain = isinstance(buffer.val, bool | int | float)
    return ["const", buffer.val if plain else write_sint(buffer.val), dtype]


def tracker_of(st: Any) -> dict[str, Any]:
    """A ShapeTracker's views and what the release says about them."""
    return {
        "views": write_st(st),
        "real_strides": attempt(lambda: write_sints(st.real_strides())),
        "masked": attempt(lambda: masked_axes(st)),
    }


def masked_axes(st: Any) -> list[int]:
    """The axes that a validity condition depends on."""
    if all(view.mask is None for view in st.views):
        return []
    names = {variable.expr for variable in st.expr_idxs()[1].vars()}
    return [axis for axis in range(len(st.shape)) if f"idx{axis}" in names]


def actions_of(opts: Any) -> list[list[Any]]:
    """Opts as [op, axis, amt]."""
    return [[opt.op.name, opt.axis, opt.amt] for opt in opts]


def movement(start: list[Any], ops: list[list[Any]]) -> list[dict[str, Any]]:
    """What a ShapeTracker is after each op; the list ends at the first op that raises."""
    whole = bool(start) and isinstance(start[0], list) and bool(start[0]) and (
        isinstance(start[0][0], list))  # fmt: skip
    st = read_st(start) if whole else trackers.ShapeTracker.from_shape(
        tuple(map(read_sint, start)))  # fmt: skip
    answers = [full_tracker_of(st)]
    for name, *arguments in ops:
        try:
            moved = move(st, name, *arguments)
        except Exception as error:
            answers.append({"raised": f"{type(error).__name__}: {error}"[:500]})
            break
        if moved is None:
            answers.append({"none": True})
            continue
        st = moved
        answers.append(full_tracker_of(st))
    return answers


def move(st: Any, name: str, argument: Any = None) -> Any:
    """One movement op, `simplify`, `invert` (out shape) or `add` (views)."""
    if name == "simplify":
        return st.simplify()
    if name == "add":
        return st + read_st(argument)
    if name in ("pad", "shrink"):
        return getattr(st, name)(tuple((read_sint(a), read_sint(b)) for a, b in argument))
    return getattr(st, name)(tuple(map(read_sint, argument)))


def full_tracker_of(st: Any) -> dict[str, Any]:
    """`tracker_of`, with the variants that ignore masks, unit strides and the real size."""
    return {
        **tracker_of(st),
        "real_strides_ignoring_masks": attempt(lambda: write_sints(st.real_strides(True))),
        "unit_stride_axes": attempt(st.unit_stride_axes),
        "unit_stride_axes_ignoring_masks": attempt(lambda: st.unit_stride_axes(True)),
        "real_size": attempt(st.real_size),
        "contiguous": st.contiguous,
    }
