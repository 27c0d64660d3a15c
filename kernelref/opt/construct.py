"""Construction: from an AST to the buffers, shapes and reductions of a Kernel without opts.

Reduced axes are moved last, axes of extent 1 go, neighbours merge (`simplify`). Which nodes are one
buffer and what the full shape is belong to the rule set.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from kernelref.errors import Unsupported
from kernelref.ir.ast import Ast, Constant, Load, Node, Reduce, Store, children, postorder
from kernelref.ir.index import Expr, Sint, Var, variables
from kernelref.ir.shapetracker import ShapeTracker
from kernelref.opt.axismap import AxisMap, merge_map
from kernelref.opt.broke import OptBroke
from kernelref.opt.rules.ruleset import BufferIdentity, Construction, RuleSet
from kernelref.opt.simplify import merge_groups

Buffer = Store | Load | Constant


@dataclass(frozen=True, slots=True)
class Parts:
    """What construction finds.

    Shapes: `spread[i]` lists the dims that AST axis i became (several when its buffers disagree on
    the extent), `dims` their extents and `dim_sts` the buffers by dim, as in the AST; `order` the
    dims in kernel order without those of extent 1, `groups` the runs of `order` that merged into
    one axis. `extents`, `reduced`, `sts` and the rows of `iterates` are by axis of the kernel.
    """

    buffers: tuple[Buffer, ...]
    index: Mapping[Node, int]
    sts: tuple[ShapeTracker, ...]
    reduces: tuple[Reduce, ...]
    extents: tuple[Sint, ...]
    reduced: tuple[bool, ...]
    iterates: tuple[tuple[bool, ...], ...]
    spread: tuple[tuple[int, ...], ...]
    dims: tuple[Sint, ...]
    dim_sts: tuple[ShapeTracker, ...]
    order: tuple[int, ...]
    groups: tuple[tuple[int, ...], ...]


def preorder(roots: Sequence[Node]) -> Iterator[Node]:
    """Each distinct node below `roots`, a node before what it reads."""
    seen: set[Node] = set()
    stack: list[Node] = list(reversed(roots))
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        yield node
        stack.extend(reversed(children(node)))


def construct(ast: Ast, rules: RuleSet) -> Parts:
    """The parts of the Kernel that `ast` opens as.

    Raises: OptBroke where the release that `rules` copies fails; Unsupported for outputs of
    different shapes, and for buffers that disagree where a release does not notice.
    """
    if any(store.shape != ast[0].shape for store in ast):
        raise Unsupported("output-shapes-differ", str([store.shape for store in ast]))
    how = rules.construction
    reduces = tuple(node for node in postorder(ast) if isinstance(node, Reduce))
    _check(ast, reduces, how)
    buffers, index = find_buffers(ast, how.identity)
    sts = tuple(buffer.st.with_algebra(rules.algebra) for buffer in buffers)
    if how.each_reduce_its_axes:
        spread, dims = _spread(sts)
        sts = tuple(st if not dims else st.reshape(_placed(st.shape, dims)) for st in sts)
        extents = _maximum(sts)
    else:
        spread = tuple((i,) for i in range(len(ast[0].shape)))
        dims = ()
        extents = sts[_full_shape_buffer(reduces, index)].shape
    iterates = [_iterates(reduce, dims, extents, sts[0].shape, how) for reduce in reduces]
    found = Parts(
        buffers, index, sts, reduces, extents, (), tuple(iterates), spread, extents, sts, (), ()
    )
    return _arrange(found, ast[0].dtype.image)


def construction_map(parts: Parts) -> AxisMap:
    """How points of the AST's dims (`after` here, the finer side) lie among the kernel's axes.

    Law: a kernel axis is the row-major count over the dims that merged into it; dims of extent 1
    have no axis.
    """
    groups = [[parts.order[place] for place in group] for group in parts.groups]
    return merge_map(parts.dims, groups)


def _arrange(parts: Parts, image: tuple[int, int, int] | None) -> Parts:
    """Reduced axes last, those of extent 1 gone, neighbours merged."""
    output, full = parts.sts[0].shape, parts.extents
    reduced = [i for i, extent in enumerate(full) if extent != output[i]]
    order = [i for i in range(len(full)) if i not in reduced] + reduced
    sts = [st.permute(tuple(order)) for st in parts.sts]
    kept = [place for place, dim in enumerate(order) if full[dim] != 1]
    for st in sts:
        _check_extents(st.shape, [full[dim] for dim in order])
    if order:
        sts = [st.reshape(tuple(st.shape[place] for place in kept)) for st in sts]
    order = [order[place] for place in kept]
    extents = [full[dim] for dim in order]
    iterates = [[row[dim] for dim in order] for row in parts.iterates]
    boundary = len([dim for dim in order if dim not in reduced])
    groups = merge_groups(sts, extents, iterates, boundary, image)
    if groups:
        sts = [st.reshape(tuple(_merged(st.shape, group) for group in groups)) for st in sts]
    return replace(
        parts,
        sts=tuple(sts),
        extents=tuple(_merged(extents, group) for group in groups),
        reduced=tuple(order[group[0]] in reduced for group in groups),
        iterates=tuple(tuple(row[group[0]] for group in groups) for row in iterates),
        order=tuple(order),
        groups=groups,
    )


@lru_cache(maxsize=256)
def ast_variables(ast: Ast) -> frozenset[Var]:
    """The symbolic variables of an AST's extents, views and constants."""
    found: set[Var] = set()
    for node in postorder(ast):
        if isinstance(node, Store | Load | Constant):
            found |= node.st.variables()
        if isinstance(node, Constant) and isinstance(node.value, Expr):
            found |= variables(node.value)
    return frozenset(found)


def find_buffers(ast: Ast, identity: BufferIdentity) -> tuple[tuple[Buffer, ...], dict[Node, int]]:
    """The buffers in order, and for each Store, Load and Constant which buffer it is."""
    nodes = [node for node in preorder(ast) if isinstance(node, Store | Load | Constant)]
    inputs = [node for node in nodes if not isinstance(node, Store)]
    buffers: list[Buffer] = []
    index: dict[Node, int] = {}
    first: dict[object, int] = {}
    for store in ast:
        first.setdefault(_key(store, identity), len(buffers))
        index[store] = len(buffers)
        buffers.append(store)
    listed: set[object] = set()
    if identity is BufferIdentity.ALL_ARGUMENTS:
        listed.update(first)
    for node in inputs:
        key = _key(node, identity)
        if key not in listed:
            listed.add(key)
            first.setdefault(key, len(buffers))
            buffers.append(node)
        index[node] = first[key]
    return tuple(buffers), index


def _key(node: Buffer, identity: BufferIdentity) -> object:
    """What makes two nodes the same buffer."""
    if identity is BufferIdentity.NODES:
        return node
    if isinstance(node, Constant):
        value = node.value
        is_nan = not isinstance(value, Expr) and value != value
        return "constant", "nan" if is_nan else value, node.dtype, node.st
    return "buffer", node.buffer, node.dtype, node.st


def _full_shape_buffer(reduces: Sequence[Reduce], index: Mapping[Node, int]) -> int:
    """The first buffer below the first reduction, or output 0."""
    for node in preorder(reduces[:1]):
        if node in index:
            return index[node]
    return 0


def _maximum(sts: Sequence[ShapeTracker]) -> tuple[Sint, ...]:
    """Per axis the extent that is not 1, if any buffer has one."""
    shapes = zip(*(st.shape for st in sts), strict=True)
    return tuple(next((n for n in extents if n != 1), 1) for extents in shapes)


def _spread(
    sts: Sequence[ShapeTracker],
) -> tuple[tuple[tuple[int, ...], ...], tuple[tuple[Sint, ...], ...]]:
    """Axes on which buffers have different extents, as one dim per extent.

    Sibling reductions over 8 and over 16 elements may stand on one AST axis; they are different
    loops. Returns the dims of each axis, and their extents (empty when every axis is one dim).
    """
    wanted: list[tuple[Sint, ...]] = []
    for extents in zip(*(st.shape for st in sts), strict=True):
        wanted.append(tuple(dict.fromkeys(n for n in extents if n != 1)) or (1,))
    spread: list[tuple[int, ...]] = []
    start = 0
    for extents in wanted:
        spread.append(tuple(range(start, start + len(extents))))
        start += len(extents)
    several = any(len(extents) > 1 for extents in wanted)
    return tuple(spread), tuple(wanted) if several else ()


def _placed(shape: Sequence[Sint], dims: Sequence[tuple[Sint, ...]]) -> tuple[Sint, ...]:
    """`shape` with each extent on the dim of that extent, 1 on the others of its axis."""
    return tuple(
        extent if extent == wanted else 1
        for extent, dim in zip(shape, dims, strict=True)
        for wanted in dim
    )


def _iterates(
    reduce: Reduce,
    dims: Sequence[tuple[Sint, ...]],
    extents: Sequence[Sint],
    output: Sequence[Sint],
    how: Construction,
) -> tuple[bool, ...]:
    """Which axes `reduce` runs over."""
    if not how.each_reduce_its_axes:
        return tuple(full != kept for full, kept in zip(extents, output, strict=True))
    source = reduce.value.shape
    named = tuple(extent if i in reduce.axes else 1 for i, extent in enumerate(source))
    return tuple(extent != 1 for extent in (_placed(named, dims) if dims else named))


def _check(ast: Ast, reduces: Sequence[Reduce], how: Construction) -> None:
    """What a release's construction asserts."""
    if how.max_outputs is not None and len(ast) > how.max_outputs:
        raise OptBroke("outputs", found=len(ast), needed=how.max_outputs)
    if how.max_reduces is not None and len(reduces) > how.max_reduces:
        raise OptBroke("reduces", found=len(reduces), needed=how.max_reduces)
    if how.reduces_land_on_output:
        for reduce in reduces:
            if reduce.shape != ast[0].shape:
                raise OptBroke("reduce-shape", found=reduce.shape, needed=ast[0].shape)


def _check_extents(shape: Sequence[Sint], full: Sequence[Sint]) -> None:
    """Every buffer has the full extent or 1: what a Kernel can hold."""
    for extent, wanted in zip(shape, full, strict=True):
        if wanted == 1 and extent != 1:
            raise OptBroke("reshape", found=extent, needed=1)
        if extent not in (1, wanted):
            raise Unsupported("extents-differ", f"{tuple(shape)} under {tuple(full)}")


def _merged(shape: Sequence[Sint], group: Sequence[int]) -> Sint:
    """The extent of merged axes."""
    extent: Sint = 1
    for axis in group:
        extent = shape[axis] * extent
    return extent
