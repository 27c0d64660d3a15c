"""A rule set: what an optimizer permits, as data.

`sound` is the default. The others copy one release each, its wrong permissions too, so that the
harness can find them. This module holds the record; `rules/sets` holds the four values.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kernelref.ir.view import ViewAlgebra
from kernelref.opt.opt import OptOps

if TYPE_CHECKING:
    from kernelref.opt.rules.check import Check


class BufferIdentity(enum.Enum):
    """When two Loads, Constants or Stores are one buffer of the kernel.

    NODES: each is its own. ARGUMENTS: Loads and Constants of equal number (or value as Python
    compares it: 0 == 0.0 == False), dtype and ShapeTracker are one, outputs stand first and a Load
    equal to an output is listed again. ALL_ARGUMENTS: an output is merged with equal Loads too.
    """

    NODES = "nodes"
    ARGUMENTS = "arguments"
    ALL_ARGUMENTS = "all-arguments"


@dataclass(frozen=True, slots=True)
class Construction:
    """How an AST becomes a Kernel, and what construction refuses.

    `each_reduce_its_axes`: a reduction runs over the axes it names, where its source has an extent
    there, and the full shape is the maximum over all buffers; otherwise every reduction runs over
    every reduced axis and the full shape is that of the first buffer below the first reduction.
    """

    identity: BufferIdentity
    each_reduce_its_axes: bool = False
    max_outputs: int | None = None
    max_reduces: int | None = None
    reduces_land_on_output: bool = False


@dataclass(frozen=True, slots=True)
class RuleSet:
    """One optimizer's permissions.

    `checks` gives for each op that exists its checks in order; the first that does not hold is the
    reason. `is_release`: axis types are counted anew after each opt from the numbers of locals,
    groups and upcasts, N and M of a tensor core are followed by the opt's own axis, and a refused
    tensor core's padding stays for the next; otherwise a type stays on its axis and so do N and M.
    `unroll_mends_counts`: unrolling a whole axis corrects the counts of locals and groups.
    """

    name: str
    algebra: ViewAlgebra
    construction: Construction
    checks: Mapping[OptOps, tuple[Check, ...]] = field(default_factory=dict, compare=False)
    is_release: bool = False
    unroll_mends_counts: bool = False

    def __str__(self) -> str:
        return self.name
