"""What the generator makes, counted: the figures of `docs/generator.md`.

`python -m kernelref.fuzzing.generate_counts docs/generator.md` writes the part of the page between
its two marks; a test holds the page to the generator.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from kernelref.fuzzing.choose import SeededChooser
from kernelref.fuzzing.generate import generate_kernel
from kernelref.fuzzing.generate_taste import DTYPES
from kernelref.ir.ast import Alu, Ast, Cast, Constant, Load, Op, Reduce, Store, postorder
from kernelref.ir.index import bounds
from kernelref.ir.view import View
from kernelref.run.points import iteration_points, symbols

KERNELS = 3000
BEGIN, END = "<!-- counted -->", "<!-- end -->"


def views_of(ast: Ast) -> Iterator[View]:
    """Every View of every load, constant and store."""
    for node in postorder(ast):
        if isinstance(node, Load | Constant | Store):
            yield from node.st.views


def reduces_of(ast: Ast) -> list[Reduce]:
    """The reductions."""
    return [node for node in postorder(ast) if isinstance(node, Reduce)]


def depth_of(ast: Ast) -> int:
    """How many reductions stand on one path."""
    depth: dict[object, int] = {}
    for node in postorder(ast):
        sources = node.src if isinstance(node, Alu) else (getattr(node, "value", None),)
        below = max((depth.get(source, 0) for source in sources), default=0)
        depth[node] = below + isinstance(node, Reduce)
    return max(depth.values())


def _loads(ast: Ast) -> list[Load]:
    return [node for node in postorder(ast) if isinstance(node, Load)]


def _is_shared(ast: Ast) -> bool:
    """Whether some value is read twice."""
    reads: Counter[object] = Counter()
    for node in postorder(ast):
        reads.update(node.src if isinstance(node, Alu) else [])
        reads.update([node.value] if isinstance(node, Cast | Reduce | Store) else [])
    return any(count > 1 for count in reads.values())


PROPERTIES: dict[str, Callable[[Ast], bool]] = {
    "no reduction": lambda ast: not reduces_of(ast),
    "one reduction": lambda ast: len(reduces_of(ast)) == 1,
    "several reductions": lambda ast: len(reduces_of(ast)) > 1,
    "reductions of reductions": lambda ast: depth_of(ast) > 1,
    "a reduction over several axes": lambda ast: any(len(r.axes) > 1 for r in reduces_of(ast)),
    "a maximum": lambda ast: any(r.op.name == "MAX" for r in reduces_of(ast)),
    "several outputs": lambda ast: len(ast) > 1,
    "a value read twice": _is_shared,
    "a buffer read through several views": lambda ast: (
        len({n.buffer for n in _loads(ast)}) < len(_loads(ast))
    ),
    "its own output read": lambda ast: any(n.buffer < len(ast) for n in _loads(ast)),
    "an output not stored in order": lambda ast: any(not s.st.contiguous for s in ast),
    "a mask": lambda ast: any(view.mask is not None for view in views_of(ast)),
    "a masked constant": lambda ast: any(
        isinstance(node, Constant) and any(view.mask is not None for view in node.st.views)
        for node in postorder(ast)
    ),
    "a negative stride": lambda ast: any(
        isinstance(stride, int) and stride < 0 for view in views_of(ast) for stride in view.strides
    ),
    "two views on top of each other": lambda ast: any(
        len(node.st.views) > 1 for node in _loads(ast)
    ),
    "three or more": lambda ast: any(len(node.st.views) > 2 for node in _loads(ast)),
    "a bitcast": lambda ast: any(isinstance(n, Cast) and n.bitcast for n in postorder(ast)),
    "an image": lambda ast: any(node.dtype.is_image for node in postorder(ast)),
    "a symbolic variable": lambda ast: bool(symbols(ast)),
    "a symbolic extent": lambda ast: any(
        not isinstance(n, int) for node in postorder(ast) for n in node.shape
    ),
    "a function that rounds": lambda ast: any(
        isinstance(n, Alu) and n.op in (Op.EXP2, Op.LOG2, Op.SIN, Op.SQRT, Op.RECIP, Op.DIV)
        for n in postorder(ast)
        if n.dtype.value.is_float
    ),
}


def made(count: int) -> list[Ast]:
    """The kernels that are counted."""
    return [generate_kernel(SeededChooser(seed)) for seed in range(count)]


def counted(kernels: Sequence[Ast]) -> list[str]:
    """The figures as Markdown."""
    total = len(kernels)
    rows = ["| of 100 kernels have | |", "|---|---|"]
    for name, holds in PROPERTIES.items():
        rows.append(f"| {name} | {100 * sum(map(holds, kernels)) / total:.1f} |")
    points = sorted(iteration_points(ast, _largest(ast)) for ast in kernels)
    nodes = sorted(len(postorder(ast)) for ast in kernels)
    dims = Counter(len(ast[0].shape) for ast in kernels)
    rows += [
        "",
        "| | least | quarter | median | three quarters | most |",
        "|---|---|---|---|---|---|",
        f"| iteration points | {_quarters(points)} |",
        f"| nodes | {_quarters(nodes)} |",
        "",
        f"Axes of an output, of 100: {_shares(dims, total)}.",
        "",
        *_pairs(kernels),
    ]
    return rows


def _pairs(kernels: Sequence[Ast]) -> Iterator[str]:
    """Which op was made on which dtype (WHERE and compares: of what they read)."""
    seen: set[tuple[str, str]] = set()
    for ast in kernels:
        for node in postorder(ast):
            if isinstance(node, Alu):
                seen.add((node.op.value[0], node.src[-1].dtype.name))
            elif isinstance(node, Cast) and not node.bitcast:
                seen.add((f"to {node.dtype.name}", node.value.dtype.name))
    dtypes = [dtype.name for dtype in DTYPES]
    ops = [op.value[0] for op in Op] + [f"to {name}" for name in dtypes]
    yield "| op on | " + " | ".join(dtypes) + " |"
    yield "|---" * (1 + len(dtypes)) + "|"
    for op in ops:
        yield f"| {op} | " + " | ".join("x" if (op, d) in seen else "" for d in dtypes) + " |"


def _largest(ast: Ast) -> dict[str, int]:
    return {symbol.name: bounds(symbol)[1] for symbol in symbols(ast)}


def _quarters(ordered: Sequence[int]) -> str:
    last = len(ordered) - 1
    return " | ".join(f"{ordered[last * quarter // 4]:,}" for quarter in range(5))


def _shares(counts: Counter[int], total: int) -> str:
    return ", ".join(f"{n}: {100 * count / total:.0f}" for n, count in sorted(counts.items()))


def with_counts(page: str, lines: Sequence[str]) -> str:
    """The page with new figures between its marks."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return "\n".join([f"{before}{BEGIN}", *lines, f"{END}{after}"])


if __name__ == "__main__":
    path = Path(sys.argv[1])
    text = with_counts(path.read_text(encoding="utf-8"), counted(made(KERNELS)))
    path.write_text(text, encoding="utf-8")
