"""A release's rendered text as a launch in our buffers, so that it can run on our devices.

The text stays as the release printed it. Buffers are as large as the AST needs and outputs are
poisoned, by `run/job`; the launch sizes are the release's own, with symbolic extents bound.
"""

from __future__ import annotations

from collections.abc import Mapping

from kernelref.errors import Unsupported
from kernelref.ir.ast import Ast, Load, Store, postorder
from kernelref.ir.dtype import DType
from kernelref.ir.index import Sint, evaluate
from kernelref.optimizers.interface import Rendered
from kernelref.run.job import KernelLaunch, LaunchBuffer
from kernelref.run.points import buffer_elements


def launch_of(
    rendered: Rendered, ast: Ast, variables: Mapping[str, int], *, label: str = ""
) -> KernelLaunch:
    """The launch without its inputs' data.

    `local` None leaves the group size to the driver; `groups` then counts work-items.
    Raises: Unsupported when the text mixes buffers and variables in its arguments.
    """
    numbers = [argument for argument in rendered.arguments if isinstance(argument, int)]
    names = [argument for argument in rendered.arguments if isinstance(argument, str)]
    if (*numbers, *names) != rendered.arguments:
        raise Unsupported("argument-order", f"{rendered.arguments} of {rendered.name}")
    dtypes: dict[int, DType] = {}
    for node in postorder(ast):
        if isinstance(node, Load | Store):
            dtypes[node.buffer] = node.dtype
    elements = buffer_elements(ast, variables)
    written = {store.buffer for store in ast}
    local = rendered.local_size
    return KernelLaunch(
        name=rendered.name,
        source=rendered.text,
        groups=_bound(rendered.global_size, variables),
        local=None if local is None else _bound(local, variables),
        buffers=tuple(
            LaunchBuffer(number, dtypes[number], elements[number], number in written)
            for number in numbers
        ),
        variables=tuple(variables[name] for name in names),
        label=label,
    )


def _bound(sizes: tuple[Sint, ...], variables: Mapping[str, int]) -> tuple[int, int, int]:
    """Raises: Unsupported for a launch of more than three dimensions."""
    if len(sizes) != 3:
        raise Unsupported("launch-dimensions", f"{len(sizes)} of them")
    x, y, z = (int(evaluate(size, variables)) for size in sizes)
    return x, y, z
