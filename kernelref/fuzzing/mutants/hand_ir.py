"""Faults in views, stacks of views and index expressions, as someone might make them."""

from __future__ import annotations

from kernelref.fuzzing.mutants.hand import built, planted, regress, seed
from kernelref.fuzzing.mutants.mutant import Mutant
from kernelref.fuzzing.mutants.question import Probe

ROLL = seed("roll", ("LOCAL", 1, 0), ("LASTLOCAL", 1, 2), ("LASTLOCAL", 2, 0), ("UPCAST", 1, 4))

MOVES: tuple[Mutant, ...] = (
    planted(
        "pad-without-mask",
        "ir.view_moves:pad",
        "return _window(view, window, kept, algebra)",
        "return _window(view, window, None, algebra)",
        says="the padded points are not masked",
        probe=regress("padded-matmul"),
        expects="OUT_OF_BOUNDS",
    ),
    planted(
        "pad-mask-one-too-long",
        "ir.view_moves:pad",
        "kept = tuple((before, add(n, before))",
        "kept = tuple((before, add(n, before, 1))",
        says="the mask of a pad ends one late",
        probe=regress("padded-matmul"),
        expects="OUT_OF_BOUNDS",
    ),
    planted(
        "permute-leaves-mask",
        "ir.view_moves:permute",
        "None if view.mask is None else tuple(view.mask[axis] for axis in order)",
        "view.mask",
        says="a permute moves shape and strides but not the mask",
        probe=seed("transpose", ("PADTO", 1, 32), ("UPCAST", 0, 5)),
        expects="UNWRITTEN",
    ),
    planted(
        "permute-strides-the-other-way",
        "ir.view_moves:permute",
        "tuple(view.strides[axis] for axis in order)",
        "tuple(view.strides[order.index(axis)] for axis in range(len(order)))",
        says="strides are permuted by the inverse order",
        probe=built("pixel-shuffle"),
        expects="OUT_OF_BOUNDS",
    ),
    planted(
        "flip-keeps-sign",
        "ir.view_moves:keep_every",
        "tuple(mul(s, step) for s, step in",
        "tuple(mul(s, abs(step)) for s, step in",
        says="a flip does not turn the stride round",
        probe=built("flip-both"),
        expects="OUT_OF_BOUNDS",
    ),
    planted(
        "flip-begins-one-late",
        "ir.view_moves:keep_every",
        "offset = add(offset, mul(add(n, -1), view.strides[i]))",
        "offset = add(offset, mul(n, view.strides[i]))",
        says="a flip begins one beyond the last element",
        probe=built("flip-both"),
        expects="OUT_OF_BOUNDS",
    ),
    planted(
        "steps-lose-the-last",
        "ir.view_moves:ceildiv",
        "add(value, step - 1)",
        "value",
        says="every third element of 50 are 16, not 17",
        probe=built("every-third-reversed"),
        expects="UNWRITTEN",
    ),
    planted(
        "window-moves-by-points",
        "ir.view_moves:_window",
        "offset = add(offset, mul(stride, begin))",
        "offset = add(offset, begin)",
        says="a shrink moves the offset by points instead of elements",
        probe=built("crop-and-pad"),
        expects="OUT_OF_BOUNDS",
    ),
)

RESHAPES: tuple[Mutant, ...] = (
    planted(
        "reshape-loses-mask",
        "ir.view_reshape:reshape",
        "return View.create(shape, tuple(strides), offset, mask, algebra=algebra)",
        "return View.create(shape, tuple(strides), offset, None, algebra=algebra)",
        says="a reshape keeps strides and forgets the mask",
        probe=seed("transpose", ("PADTO", 1, 32), ("UPCAST", 0, 5)),
        expects="OUT_OF_BOUNDS",
    ),
    planted(
        "reshape-splits-any-range",
        "ir.view_reshape:_can_split",
        "return whole or begin // outer == (end - 1) // outer",
        "return True",
        says="a masked range is cut along two axes though it is no product of ranges",
        probe=regress("padded-and-upcast-rows"),
        expects="UNWRITTEN",
    ),
    planted(
        "reshape-joins-a-broadcast",
        "ir.view_reshape:merged_runs",
        "last.stride == mul(n, stride)",
        "last.stride in (0, mul(n, stride))",
        says="a broadcast axis and the moving one after it count as one run",
        probe=regress("matmul-upcast-unrolled"),
        expects="WRONG_VALUE",
    ),
    planted(
        "reshape-offset-the-other-way",
        "ir.view_reshape:reshape",
        "offset = add(offset, mul(begin, mul(stride, -1)))",
        "offset = add(offset, mul(begin, stride))",
        says="the new mask's begin is added to the offset instead of taken off",
        probe=seed(
            "roll", ("LOCAL", 1, 0), ("LASTLOCAL", 1, 2), ("LASTLOCAL", 2, 0), ("UPCAST", 1, 4)
        ),
        expects="OUT_OF_BOUNDS",
    ),
    planted(
        "reshape-begin-not-moved",
        "ir.view_reshape:reshape",
        "offset = add(offset, mul(begin, stride))",
        "offset = add(offset, 0)",
        says="the old mask's begin is not taken into the offset",
        probe=seed(
            "roll", ("LOCAL", 1, 0), ("LASTLOCAL", 1, 2), ("LASTLOCAL", 2, 0), ("UPCAST", 1, 4)
        ),
        expects="OUT_OF_BOUNDS",
    ),
    planted(
        "merge-forgets-origin",
        "ir.view_merge:_merge_linear",
        "offset += digit.origin * stride",
        "offset += digit.origin",
        says="the inner view's offset is not scaled by the outer strides",
        probe=regress("offset-into-transposed"),
        expects="OUT_OF_BOUNDS",
    ),
    planted(
        "merge-carries-over",
        "ir.view_merge:_closed_groups",
        "if low >= 0 and high < size:",
        "if low >= 0 and high <= size:",
        says="a coordinate may step one beyond its extent when two views merge",
        probe=regress("far-addresses"),
        expects="OUT_OF_BOUNDS",
    ),
)

STACKS: tuple[Mutant, ...] = (
    planted(
        "stack-drops-a-mask",
        "ir.stack:locate",
        "conditions += further",
        "conditions = further",
        says="only the first view's mask counts",
        probe=Probe("regress/far-addresses", (("PADTO", 0, 8),)),
        expects="OUT_OF_BOUNDS",
    ),
    planted(
        "unflatten-without-remainder",
        "ir.stack:unflatten",
        "coordinates.append(mod(floordiv(address, inner), n))",
        "coordinates.append(floordiv(address, inner))",
        says="a flat index is divided but never reduced modulo the extent",
        probe=regress("two-stacked-views"),
        expects="WRONG_VALUE",
    ),
    planted(
        "range-includes-its-end",
        "ir.stack:_locate_in_view",
        "lt(x, end)",
        "lt(x, add(end, 1))",
        says="a mask's end is taken for valid: <= for <",
        probe=regress("padded-window"),
        expects="OUT_OF_BOUNDS",
    ),
    planted(
        "range-excludes-its-begin",
        "ir.stack:_locate_in_view",
        "ge(x, begin)",
        "lt(begin, x)",
        says="a mask's begin is taken for invalid: > for >=",
        probe=regress("padded-window"),
        expects="WRONG_VALUE",
    ),
    planted(
        "size-one-short",
        "ir.stack:size_bound",
        "return max(largest + 1, 0)",
        "return max(largest, 0)",
        says="a buffer's size is its largest address",
        probe=regress("matmul-local"),
        expects="OUT_OF_BOUNDS",
    ),
)

INDICES: tuple[Mutant, ...] = (
    planted(
        "remainders-joined-by-a-sum",
        "ir.index_simplify:_whole",
        "return mod(x, c * d)",
        "return mod(x, c + d)",
        says="(x // c) % d * c + x % c becomes x % (c + d)",
        probe=regress("repeated-flat"),
        expects="WRONG_VALUE",
    ),
    planted(
        "quotient-by-the-low-end",
        "ir.index_simplify:_bucket",
        "if low // divisor == high // divisor else None",
        "if low // divisor == (high - 1) // divisor else None",
        says="a quotient counts as constant though the last point has another",
        probe=regress("far-addresses"),
        expects="WRONG_VALUE",
    ),
    planted(
        "bounds-forget-the-sign",
        "ir.index_bounds:_of_terms",
        "low += min(a * coefficient, b * coefficient)",
        "low += a * coefficient",
        says="the bounds of -x are taken from the wrong end",
        probe=built("concat-rows"),
        expects="WRONG_VALUE",
    ),
    planted(
        "condition-constant-on-both-sides",
        "ir.index_simplify:_lt",
        "return lt(positive, add(negative, -constant))",
        "return lt(positive, add(negative, constant))",
        says="the constant of a comparison changes sides without changing its sign",
        probe=regress("padded-window"),
        expects="WRONG_VALUE",
    ),
    planted(
        "and-keeps-the-first",
        "ir.index_nodes:and_",
        "kept = condition if kept is None else Binary(IndexOp.AND, kept, condition)",
        "kept = condition if kept is None else kept",
        says="of several conditions only the first is kept",
        probe=built("crop-and-pad"),
        expects="OUT_OF_BOUNDS",
    ),
)

IR = (*MOVES, *RESHAPES, *STACKS, *INDICES)
