"""What the heuristics work on: a kernel that moves on with each opt they choose."""

from __future__ import annotations

from dataclasses import dataclass

from kernelref.errors import KernelOptError
from kernelref.ir.shapetracker import ShapeTracker
from kernelref.opt.axis import AxisType
from kernelref.opt.broke import OptBroke
from kernelref.opt.extents import is_multiple
from kernelref.opt.kernel import Kernel
from kernelref.opt.opt import Opt, OptOps


@dataclass(frozen=True, slots=True)
class Settings:
    """What the releases read from environment variables, and their one difference.

    `mv_*` shape the matrix-vector step: rows are cut into blocks, a row is shared by threads, a
    thread takes several rows. `no_locals` asks for NOLOCALS instead of locals. `tries_groups`:
    a refused GROUPTOP is passed over (0.8.0 lets the refusal escape).
    """

    matrix_vector: bool = True
    mv_block: int = 4
    mv_threads: int = 8
    mv_rows: int = 4
    no_locals: bool = False
    tries_groups: bool = True


class Session:
    """A kernel under the heuristics. `skipped` collects refusals when `skips` is on."""

    def __init__(self, kernel: Kernel, settings: Settings, *, skips: bool = False) -> None:
        self.kernel = kernel
        self.settings = settings
        self.skips = skips
        self.skipped: list[KernelOptError] = []

    def apply(self, op: OptOps, axis: int | None = None, amt: int | None = None) -> bool:
        """Apply an opt. A refusal escapes, or is collected; False then."""
        answer = self.kernel.attempt(Opt(op, axis, amt))
        match answer:
            case Kernel():
                self.kernel = answer
            case KernelOptError() if self.skips:
                self.skipped.append(answer)
            case _:
                raise answer
        return isinstance(answer, Kernel)

    def falls(self, check: str, found: object, needed: object, error: str) -> None:
        """Where a release's heuristic falls over; a sound kernel goes on without the step."""
        if self.kernel.rules.is_release:
            raise OptBroke(check, found=found, needed=needed, error=error)


def vector_candidates(kernel: Kernel, st: ShapeTracker) -> tuple[int, ...]:
    """Axes that step by 1, masks ignored, by fours."""
    axes = st.unit_stride_axes(ignore_valid=True)
    return tuple(axis for axis in axes if is_multiple(st.shape[axis], 4))


def wants_vector(kernel: Kernel, axes: tuple[int, ...]) -> bool:
    """None of them is upcast yet, and the first is not the mid-reduce axis."""
    return (
        bool(axes)
        and all(axis < kernel.first_upcast for axis in axes)
        and axes[0] not in kernel.axes_of(AxisType.GROUP_UPCAST)
    )
