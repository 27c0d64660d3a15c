"""A Kernel: an AST with its buffers' ShapeTrackers, its typed axes and the opts applied so far.

An immutable value. `Kernel.open` constructs one from an AST; `kernel.apply_opt(opt)` returns a new
Kernel or raises KernelOptError, and a refusal leaves no trace. What a release keeps in counters
(first_reduce, global_dims, upcasted, ...) are queries on the typed axes here.

Axes stand in this order: GLOBAL, LOCAL and WARP, GROUP_REDUCE and GROUP_UPCAST, REDUCE, then UPCAST
and UNROLL in the order of their making.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from kernelref.errors import KernelOptError, Unsupported
from kernelref.ir.ast import Ast, Node, Reduce
from kernelref.ir.dtype import FLOAT, HALF
from kernelref.ir.index import Sint, Var
from kernelref.ir.shapetracker import ShapeTracker
from kernelref.opt.axis import COLORS, GROUPS, LOCALS, UPCASTS, Axis, AxisType
from kernelref.opt.axismap import AxisMap, steps_map
from kernelref.opt.broke import OptBroke
from kernelref.opt.construct import Buffer, ast_variables, construct
from kernelref.opt.extents import is_multiple
from kernelref.opt.limits import OPENCL, Limits
from kernelref.opt.opt import Opt
from kernelref.opt.rules.apply import apply_opt, attempt
from kernelref.opt.rules.ruleset import RuleSet
from kernelref.opt.rules.sets import SOUND
from kernelref.opt.tensor_core import TensorState


@dataclass(frozen=True, slots=True)
class Kernel:
    """An AST under a schedule.

    Shapes: `sts[i]` has one dim per axis, of the axis's extent or 1 (then the buffer, or the value
    computed from it, does not vary along that axis). `iterates[r][a]` says whether reduce r sums
    over axis a. `index` maps each Store, Load and Constant of the AST to its buffer.
    """

    ast: Ast
    buffers: tuple[Buffer, ...]
    sts: tuple[ShapeTracker, ...]
    axes: tuple[Axis, ...]
    reduces: tuple[Reduce, ...]
    iterates: tuple[tuple[bool, ...], ...]
    limits: Limits
    rules: RuleSet
    index: Mapping[Node, int] = field(compare=False, repr=False)
    applied_opts: tuple[Opt, ...] = ()
    use_locals: bool = True
    tensor: TensorState | None = None

    @staticmethod
    def open(ast: Ast, limits: Limits = OPENCL, rules: RuleSet = SOUND) -> Kernel:
        """The Kernel of `ast` without opts.

        Raises: Unsupported for what typed axes cannot hold; OptBroke where the release that `rules`
        copies fails.
        """
        parts = construct(ast, rules)
        axes = tuple(
            Axis(extent, AxisType.REDUCE if reduced else AxisType.GLOBAL)
            for extent, reduced in zip(parts.extents, parts.reduced, strict=True)
        )
        return Kernel(
            ast, parts.buffers, parts.sts, axes, parts.reduces, parts.iterates, limits, rules,
            parts.index,
        )  # fmt: skip

    def apply_opt(self, opt: Opt) -> Kernel:
        """The kernel after `opt`.

        Raises: KernelOptError, naming the check, when it is not legal here; OptBroke where the
        release that the rule set copies falls over, Unsupported where it goes on in a state that
        typed axes cannot hold.
        """
        return apply_opt(self, opt)[0]

    def attempt(self, opt: Opt) -> Kernel | KernelOptError | OptBroke | Unsupported:
        """As `apply_opt`, but the error is the answer: for those who ask, not insist."""
        taken = attempt(self, opt)
        return taken[0] if isinstance(taken, tuple) else taken

    def axis_map(self, opt: Opt) -> AxisMap:
        """The law of `opt` on this kernel: axes after -> axes before. Raises: as `apply_opt`."""
        return steps_map(self.full_shape, apply_opt(self, opt)[1])

    def buffer_of(self, node: Node) -> int:
        """Which buffer a Store, Load or Constant of the AST is: an index into `buffers`, `sts`."""
        return self.index[node]

    @property
    def full_shape(self) -> tuple[Sint, ...]:
        """The extents of all axes."""
        return tuple(axis.extent for axis in self.axes)

    @property
    def output_shape(self) -> tuple[Sint, ...]:
        """The shape of output 0: the axes' extents, 1 where they are reduced."""
        return self.sts[0].shape

    def axes_of(self, *types: AxisType) -> tuple[int, ...]:
        """The positions of the axes of these types."""
        return tuple(i for i, axis in enumerate(self.axes) if axis.type in types)

    @property
    def global_dims(self) -> int:
        """How many axes are GLOBAL."""
        return len(self.axes_of(AxisType.GLOBAL))

    @property
    def local_dims(self) -> int:
        """How many axes are LOCAL or WARP."""
        return len(self.axes_of(*LOCALS))

    @property
    def group_dims(self) -> int:
        """How many axes are GROUP_REDUCE or GROUP_UPCAST."""
        return len(self.axes_of(*GROUPS))

    @property
    def first_reduce(self) -> int:
        """Where the groups and reduced loops begin: the number of GLOBAL, LOCAL and WARP axes."""
        return self.global_dims + self.local_dims

    @property
    def first_upcast(self) -> int:
        """Where the upcast axes begin."""
        return len(self.axes) - len(self.axes_of(*UPCASTS))

    @property
    def full_unupcasted_shape(self) -> tuple[Sint, ...]:
        """The extents of the axes that are not upcast."""
        return self.full_shape[: self.first_upcast]

    @property
    def reduceop(self) -> Reduce | None:
        """The first (innermost) reduction."""
        return self.reduces[0] if self.reduces else None

    @property
    def has_tensor_core(self) -> bool:
        """Whether the kernel is marked for a tensor-core instruction."""
        return self.tensor is not None and self.tensor.marked

    def variables(self) -> frozenset[Var]:
        """The symbolic variables of extents, views and constants."""
        return ast_variables(self.ast)

    @property
    def colors(self) -> tuple[str, ...]:
        """The colour of each axis; BLUE is a GLOBAL axis of a kernel without locals."""
        blue = "blue" if self.use_locals else "BLUE"
        return tuple(
            blue if axis.type is AxisType.GLOBAL else COLORS[axis.type] for axis in self.axes
        )

    @property
    def colored_shape(self) -> tuple[tuple[Sint, str], ...]:
        """Each axis's extent with its colour, as a person reads a kernel."""
        return tuple(zip(self.full_shape, self.colors, strict=True))

    def float4_axes(self, buffer: int) -> tuple[int, ...]:
        """Upcast axes, counted from the first, that step by 1 through `buffer`, by fours."""
        st, first = self.sts[buffer], self.first_upcast
        return tuple(
            axis - first
            for axis in st.unit_stride_axes()
            if axis >= first and is_multiple(st.shape[axis], 4)
        )

    def vector_axes(self, buffer: int) -> tuple[int, ...]:
        """Upcast axes that step by 1 through `buffer`, where vectors are supported and it has any.

        Source: tinygrad 0.9.1 codegen/kernel.py, get_float4_upcast_dim.
        """
        dtype, st = self.buffers[buffer].dtype, self.sts[buffer]
        if not self.limits.supports_float4 or not (dtype in (FLOAT, HALF) or dtype.is_image):
            return ()
        return tuple(
            axis
            for axis in st.unit_stride_axes()
            if axis >= self.first_upcast and st.shape[axis] != 1
        )

    def upcast_axes(self, buffer: int) -> tuple[tuple[int, Sint | None, bool], ...]:
        """Of each upcast axis: the buffer's extent, its real stride, whether it is reduced."""
        first = self.first_upcast
        st = self.sts[buffer]
        return tuple(
            (_int(extent), stride, axis.type is AxisType.UNROLL)
            for extent, stride, axis in zip(
                st.shape[first:], st.real_strides()[first:], self.axes[first:], strict=True
            )
        )

    def shape_offsets(self, buffer: int) -> Iterator[tuple[int, ...]]:
        """The points of the upcast axes of `buffer`, last axis slowest (reversed coordinates)."""
        shape = self.sts[buffer].shape[self.first_upcast :]
        return itertools.product(*(range(_int(extent)) for extent in reversed(shape)))

    def acc_offsets(self, buffer: int) -> tuple[int, ...]:
        """For each of `shape_offsets(buffer)`: which accumulator it adds to."""
        axes = self.upcast_axes(buffer)
        steps: list[int] = []
        step = 1
        for extent, _, reduced in axes:
            steps.append(0 if reduced or extent == 1 else step)
            step *= 1 if reduced else extent
        ranges = [
            [i * own for i in range(extent)]
            for (extent, _, _), own in zip(reversed(axes), reversed(steps), strict=True)
        ]
        return tuple(sum(parts) for parts in itertools.product(*ranges))


def _int(extent: Sint) -> int:
    """An upcast extent: never symbolic, because an amount is an int."""
    if not isinstance(extent, int):
        raise AssertionError(f"symbolic upcast extent {extent!r}")
    return extent
