"""Inputs of a kernel: numbers chosen by its AST, so that results are defined and can be judged.

`plan_inputs` finds for each buffer the range to draw from and the contract that then holds
(`tolerance`); `InputPlan.draw` draws, fresh per seed and never all zero.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from kernelref.errors import InvalidInput
from kernelref.ir import semantics
from kernelref.ir.ast import (
    COMPARES,
    Alu,
    Ast,
    Cast,
    Constant,
    Load,
    Op,
    Value,
    children,
    postorder,
)
from kernelref.ir.dtype import DType, Kind
from kernelref.ir.semantics import Array
from kernelref.run.draw import draw
from kernelref.run.points import Variables, buffer_elements
from kernelref.run.ranges import Analysis, Range, analyse, whole_range
from kernelref.run.tolerance import Rung, only_moves


class Domain(enum.Enum):
    """Which numbers are drawn.

    AUTO: the strictest contract that holds. BITS: any float, NaN and infinities too. INTEGERS:
    integer-valued, such that nothing rounds if that can be. REALS. NEGATIVE: integer-valued below
    zero, where a padded zero would win a maximum.
    """

    AUTO = "auto"
    BITS = "bits"
    INTEGERS = "integers"
    REALS = "reals"
    NEGATIVE = "negative"


CANDIDATES = (
    *((magnitude, True) for magnitude in (64, 8, 1)),
    *((magnitude, False) for magnitude in (64, 32, 16, 8, 4, 3, 2, 1)),
)
"""The largest number drawn, and whether integer buffers hold any number at all: first fit wins."""

POSITIVE_REALS = {True: Range(0.5, 2, None), False: Range(0.0625, 0.9375, None)}
"""What a divisor or the operand of a root is made of; below one where above one has a pole."""

ANYTHING = Range(float("-inf"), float("inf"), None)
INEXACT = frozenset({Op.EXP2, Op.LOG2, Op.SIN, Op.SQRT, Op.RECIP, Op.DIV})


@dataclass(frozen=True, slots=True)
class InputPlan:
    """What to draw for each buffer that is read, and the contract that its results are held to.

    `near` are values worth hitting: those that a compare sets the buffer's elements against.
    Units: `elements` counts elements as stored.
    """

    domain: Domain
    rung: Rung
    dtypes: Mapping[int, DType]
    elements: Mapping[int, int]
    ranges: Mapping[int, Range]
    near: Mapping[int, Range]

    def draw(self, seed: int) -> dict[int, Array]:
        """Stored elements per buffer number (bfloat16 as uint16 bits)."""
        return {
            buffer: draw(
                np.random.default_rng((seed, buffer)),
                self.elements[buffer],
                self.dtypes[buffer],
                self.ranges[buffer],
                self.near.get(buffer),
            )
            for buffer in self.ranges
        }


def make_inputs(
    ast: Ast, seed: int, domain: str = "auto", variables: Variables | None = None
) -> dict[int, Array]:
    """Inputs by a recipe: `plan_inputs`, then `draw`."""
    return plan_inputs(ast, domain, variables).draw(seed)


def plan_inputs(ast: Ast, domain: str = "auto", variables: Variables | None = None) -> InputPlan:
    """The plan for a kernel. BITS on a kernel that computes floats becomes INTEGERS.

    Raises: InvalidInput for a domain that is none.
    """
    variables = dict(variables or {})
    known = {member.value for member in Domain}
    if domain not in known:
        raise InvalidInput(f"{domain!r} is none of {', '.join(sorted(known))}", where="domain")
    moves = only_moves(ast)
    chosen = _concrete(Domain(domain), ast, moves=moves)
    loads = [node for node in postorder(ast) if isinstance(node, Load)]
    dtypes = {load.buffer: load.dtype for load in loads}
    ranges, analysis = _choose(ast, dtypes, chosen, variables)
    is_exact = not analysis.rounds and chosen in (Domain.INTEGERS, Domain.NEGATIVE)
    elements = buffer_elements(ast, variables)
    return InputPlan(
        chosen,
        Rung.EXACT if moves else Rung.INTEGERS if is_exact else Rung.BOUNDED,
        dtypes,
        {buffer: elements[buffer] for buffer in dtypes},
        ranges,
        _near(ast, analysis),
    )


def _concrete(domain: Domain, ast: Ast, *, moves: bool) -> Domain:
    """AUTO and BITS made definite."""
    if domain is Domain.BITS or (domain is Domain.AUTO and moves):
        return Domain.BITS if moves else Domain.INTEGERS
    if domain is Domain.AUTO:
        return Domain.REALS if _is_inexact(ast) else Domain.INTEGERS
    return domain


def _is_inexact(ast: Ast) -> bool:
    """Whether floats round on integers however small: an inexact op, or a constant like 0.1."""
    for node in postorder(ast):
        match node:
            case Alu(op=op, dtype=dtype) if op in INEXACT and dtype.is_float:
                return True
            case Constant(value=float() as value, dtype=dtype) if dtype.is_float:
                with semantics.quiet():
                    held = float(semantics.constant(value, dtype))
                if np.isfinite(held) and held * 256 != np.rint(held * 256):
                    return True
    return False


def _choose(
    ast: Ast, dtypes: Mapping[int, DType], domain: Domain, variables: Variables
) -> tuple[dict[int, Range], Analysis]:
    """The widest ranges with which nothing rounds or is undefined, else the best there are.

    Of integer ranges that are equally bad the smallest: its sums may be exact all the same.
    """
    roles: dict[int, Range] = {}
    small = _ranges(dtypes, domain, roles, 2, wide=False)
    analysis = analyse(ast, small, variables)
    roles = dict(_roles(analysis))
    near = _near(ast, analysis)
    best: tuple[tuple[int, int], dict[int, Range], Analysis] | None = None
    for magnitude, wide in CANDIDATES:
        ranges = _ranges(dtypes, domain, roles, magnitude, wide=wide)
        if not wide:
            ranges = {b: _reaching(r, near.get(b), dtypes[b]) for b, r in ranges.items()}
        analysis = analyse(ast, ranges, variables)
        badness = (0 if domain is Domain.REALS else len(analysis.rounds), len(analysis.poles))
        is_last_best = domain is not Domain.REALS and best is not None and badness == best[0]
        if best is None or badness < best[0] or is_last_best:
            best = badness, ranges, analysis
        if badness == (0, 0):
            break
    assert best is not None
    return best[1], best[2]


def _ranges(
    dtypes: Mapping[int, DType],
    domain: Domain,
    roles: Mapping[int, Range],
    magnitude: int,
    *,
    wide: bool,
) -> dict[int, Range]:
    """What each buffer holds; a role (a divisor, a shift amount) goes before the domain."""
    return {
        buffer: _range(dtype.storage, domain, roles.get(buffer), magnitude, wide=wide)
        for buffer, dtype in dtypes.items()
    }


def _range(
    dtype: DType, domain: Domain, role: Range | None, magnitude: int, *, wide: bool
) -> Range:
    if dtype.kind is Kind.BOOL:
        return whole_range(dtype)
    if dtype.is_float and domain is Domain.REALS:
        return POSITIVE_REALS[wide] if role else Range(-2, 2, None)
    if role:
        return replace(role, high=min(role.high, max(magnitude, role.low)))
    if dtype.is_float and domain is Domain.BITS:
        return ANYTHING
    if dtype.is_int and wide and domain is not Domain.NEGATIVE:
        return whole_range(dtype)
    if dtype.kind is Kind.UNSIGNED:
        return Range(0, magnitude)
    return Range(-magnitude, -1 if domain is Domain.NEGATIVE else magnitude)


def _reaching(values: Range, near: Range | None, dtype: DType) -> Range:
    """A narrow integer range stretched to what its elements are compared with."""
    if near is None or not dtype.is_int or near.size > 2**30:
        return values
    whole = whole_range(dtype)
    joined = values.join(near)
    return Range(max(joined.low, whole.low), min(joined.high, whole.high))


def _roles(analysis: Analysis) -> Iterator[tuple[int, Range]]:
    """Buffers below a pole: divisors and roots take positive numbers, shifts what fits."""
    for node in analysis.poles:
        match node:
            case Alu(op=Op.SHL | Op.SHR, src=(_, amount), dtype=dtype):
                for buffer in _buffers_below(amount):
                    yield buffer, Range(0, dtype.bits - 1)
            case Alu(src=src):
                for buffer in _buffers_below(src[-1]):
                    yield buffer, Range(1, 64)
            case Cast(value=value, dtype=dtype) if dtype.kind is Kind.UNSIGNED:
                for buffer in _buffers_below(value):
                    yield buffer, Range(1, 64)


def _buffers_below(root: Value) -> set[int]:
    """Buffers whose elements reach `root` as numbers, not as a condition."""
    found: set[int] = set()
    seen: set[Value] = set()
    stack = [root]
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        match node:
            case Load(buffer=buffer):
                found.add(buffer)
            case Alu(op=op) if op in COMPARES:
                pass
            case Alu(op=Op.WHERE, src=(_, then, otherwise)):
                stack += [then, otherwise]
            case _:
                stack += children(node)
    return found


def _near(ast: Ast, analysis: Analysis) -> dict[int, Range]:
    """Per buffer, the finite range that compares set its elements against.

    Two buffers that are compared mostly hold 0 and 1, so that they are often equal.
    """
    found: dict[int, Range] = {}
    for node in postorder(ast):
        if not (isinstance(node, Alu) and node.op in COMPARES):
            continue
        for side, other in (node.src, node.src[::-1]):
            against = analysis.ranges[other]
            while isinstance(side, Cast) and not side.bitcast:
                side = side.value
            is_whole = against.granule is not None and against.granule >= 0
            if isinstance(side, Load) and is_whole and 0 < against.size < np.inf:
                hit = Range(0, 1) if isinstance(other, Load) else against
                found[side.buffer] = hit.join(found.get(side.buffer, hit))
    return found
