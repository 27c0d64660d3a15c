"""One interface for every optimizer under test: open an AST, apply opts, look, render.

The reference and each installed release implement `Optimizer`; `names.open_optimizer` makes one
from its name. An `Answer` says how a request ended: accepted with the state after it, refused (the
optimizer's own refusal), or broke (it failed in any other way).
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from kernelref.ir.ast import Ast
from kernelref.ir.index import Sint
from kernelref.ir.shapetracker import ShapeTracker
from kernelref.opt.limits import Limits
from kernelref.opt.opt import Opt


class Heuristics(enum.Enum):
    """What `optimize` runs. ENGINE: required, tensor cores, then hand-coded if those refuse."""

    REQUIRED = "required"
    HAND_CODED = "hand-coded"
    ENGINE = "engine"


@dataclass(frozen=True, slots=True)
class BufferState:
    """One buffer of a kernel.

    Shapes: `real_strides` has None where the address is not linear in the axis; it and `masked` are
    None when the optimizer cannot say.
    """

    st: ShapeTracker
    real_strides: tuple[Sint | None, ...] | None
    masked: frozenset[int] | None

    @property
    def last_strides(self) -> tuple[Sint, ...]:
        """The strides of the last view, which the heuristics read."""
        return self.st.views[-1].strides


@dataclass(frozen=True, slots=True)
class State:
    """Where a kernel stands, as every optimizer can tell it.

    `colors` are the axis types as tinygrad prints them: blue (BLUE without locals), cyan, green,
    white, red, magenta, yellow; None when the optimizer's own counts contradict its shapes.
    `warp_axes` counts the protected thread axes of a tensor core (level 1 only).
    """

    full_shape: tuple[Sint, ...]
    output_shape: tuple[Sint, ...]
    colors: tuple[str, ...] | None
    warp_axes: int
    applied_opts: tuple[Opt, ...]
    buffers: tuple[BufferState, ...]


@dataclass(frozen=True, slots=True)
class Accepted:
    """The request was carried out."""

    state: State


@dataclass(frozen=True, slots=True)
class Refused:
    """The optimizer said no, in its own words; `changed`: it was not where it stood before.

    The reference names the `check` besides, and its `reason` is how the release's words begin.
    """

    reason: str
    changed: bool = False
    state: State | None = None
    check: str = ""


@dataclass(frozen=True, slots=True)
class Broke:
    """It failed in another way: an exception's type (or `crash`, `hang`) and message.

    The reference names the `check` that its rule set knows the release to lack.
    """

    kind: str
    reason: str
    changed: bool = False
    state: State | None = None
    check: str = ""


Answer: TypeAlias = Accepted | Refused | Broke


@dataclass(frozen=True, slots=True)
class Rendered:
    """OpenCL C text and how to launch it.

    `arguments` are in the text's order: a buffer's number, or a variable's name. Units:
    `global_size` counts work-groups, or work-items when `local_size` is None; both are (x, y, z).
    """

    name: str
    text: str
    global_size: tuple[Sint, ...]
    local_size: tuple[Sint, ...] | None
    arguments: tuple[int | str, ...]


class Session(Protocol):
    """One opened kernel. After Refused or Broke it stands where it stood before the request."""

    @property
    def state(self) -> State:
        """Where it stands."""
        ...

    def apply(self, opt: Opt) -> Answer:
        """One opt."""
        ...

    def optimize(self, how: Heuristics) -> Answer:
        """The optimizer's own choice of opts. A Refused or Broke answer carries the state left."""
        ...

    def close(self) -> None:
        """Forget the kernel."""
        ...


class Optimizer(Protocol):
    """What is under test, or the reference."""

    @property
    def name(self) -> str:
        """As on the command line."""
        ...

    @property
    def rules(self) -> str:
        """The rule set that describes it."""
        ...

    def open(self, ast: Ast, limits: Limits) -> Session | Refused | Broke:
        """Construct a kernel. Raises: Unsupported when its dialect cannot say the AST."""
        ...

    def close(self) -> None:
        """Give back what it holds."""
        ...


Json: TypeAlias = dict[str, Any]
