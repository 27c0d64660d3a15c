"""Random opt sequences: one opt after another, each asked for with the kernel at hand.

`walk` asks for an opt, lets the kernel's rule set accept or refuse it, and goes on. Uniform draws
are refused nine times in ten and never meet some checks, so an opt is drawn in one of these ways:
one that should fit, one with an amount at an edge (the extent, one less, one more; the caps; the
pad limits), one of the release's search actions, any op with any axis and amount, or one of a known
sequence, as it stands or changed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from kernelref.errors import KernelOptError, Unsupported
from kernelref.fuzzing.choose import Chooser, FixedChooser
from kernelref.fuzzing.generate_views import factors
from kernelref.opt.axis import REDUCES, AxisType
from kernelref.opt.broke import OptBroke
from kernelref.opt.candidates import candidates, search_actions
from kernelref.opt.kernel import Kernel
from kernelref.opt.opt import Opt, OptOps
from kernelref.opt.rules.record import PadRule, SplitRule
from kernelref.opt.rules.request import origin
from kernelref.opt.rules.table import RULES

WEIGHTS: dict[OptOps, int] = {
    OptOps.UPCAST: 8, OptOps.UNROLL: 8, OptOps.LOCAL: 8, OptOps.LASTLOCAL: 6, OptOps.GROUP: 6,
    OptOps.GROUPTOP: 6, OptOps.PADTO: 7, OptOps.UPCASTMID: 2, OptOps.TC: 1, OptOps.NOLOCALS: 1,
}  # fmt: skip

WAYS = (("fitting", 52), ("edge", 22), ("action", 10), ("known", 8), ("raw", 5), ("listed", 3))
PADS = (2, 3, 4, 5, 6, 7, 8, 16, 32, 64)
RAW_AXES = (0, 1, 2, 3, 4, 5, 6, 9, -1, -2, None)
RAW_AMOUNTS = (0, 2, 4, 3, 8, 16, 7, 32, 64, 1, -1, -4, 256, 1024, 1 << 20, None)
QUESTIONS = 8
"""The most that one opt takes to be chosen."""
FEW_UPCAST = 32
MOST_UPCAST = 128
MOST_WORK_ITEMS = 512


@dataclass(frozen=True, slots=True)
class Tried:
    """An opt that a kernel did not take, and why."""

    kernel: Kernel
    opt: Opt
    error: KernelOptError | OptBroke | Unsupported


@dataclass(slots=True)
class Memory:
    """Which ordered pairs of accepted opts were seen; a pair never seen is drawn more often."""

    pairs: Counter[tuple[OptOps | None, OptOps]] = field(default_factory=Counter)

    def add(self, applied: Sequence[Opt]) -> None:
        """Count the pairs of one sequence, neighbours or not."""
        for i, opt in enumerate(applied):
            self.pairs[None, opt.op] += 1
            for before in {earlier.op for earlier in applied[:i]}:
                self.pairs[before, opt.op] += 1

    def favour(self, applied: Sequence[Opt], op: OptOps) -> int:
        """By how much to multiply the weight of `op` after these opts."""
        seen = [self.pairs[before, op] for before in {None, *(opt.op for opt in applied)}]
        return 4 if 0 in seen else 1


@dataclass(frozen=True, slots=True)
class Walk:
    """The kernel at the end (its `applied_opts` are the sequence), and what was refused."""

    kernel: Kernel
    refused: tuple[Tried, ...] = ()


@dataclass(frozen=True, slots=True)
class OptSequence:
    """A way to choose opts: for each step the answers to what `next_opt` asks."""

    steps: tuple[tuple[int, ...], ...]

    def on(self, kernel: Kernel, known: Sequence[Opt] = ()) -> Walk:
        """Ask a kernel for these opts, one a step."""
        refused: list[Tried] = []
        sequence = list(known)
        for step in self.steps:
            opt = next_opt(FixedChooser(step), kernel, sequence)
            answer = kernel.attempt(opt)
            if not isinstance(answer, Kernel):
                refused.append(Tried(kernel, opt, answer))
            elif is_moderate(answer):
                kernel = answer
        return Walk(kernel, tuple(refused))


def generate_sequence(chooser: Chooser, longest: int = 6) -> OptSequence:
    """A way to choose up to `longest` opts."""
    count = chooser.integer(1, longest)
    return OptSequence(
        tuple(tuple(chooser.integer(0, 9999) for _ in range(QUESTIONS)) for _ in range(count))
    )


def walk(
    chooser: Chooser,
    kernel: Kernel,
    *,
    length: int,
    known: Sequence[Sequence[Opt]] = (),
    memory: Memory | None = None,
    tries: int = 3,
) -> Walk:
    """Up to `length` accepted opts, asking up to `tries` times as often.

    `known` are sequences to draw from and change.
    """
    refused: list[Tried] = []
    # A copy of the kernel for every register: the largest ones cost as much as all others together.
    registers = MOST_UPCAST if chooser.integer(0, 4) == 4 else FEW_UPCAST
    sequence = list(chooser.choice(known)) if known else []
    for _ in range(tries * length):
        opt = next_opt(chooser, kernel, sequence, memory)
        answer = kernel.attempt(opt)
        if not isinstance(answer, Kernel):
            refused.append(Tried(kernel, opt, answer))
        elif is_moderate(answer, registers):
            kernel = answer
        if len(kernel.applied_opts) >= length:
            break
    if memory is not None:
        memory.add(kernel.applied_opts)
    return Walk(kernel, tuple(refused))


def is_moderate(kernel: Kernel, registers: int = MOST_UPCAST) -> bool:
    """Not more registers or work-items than a test should wait for."""
    upcast = work_items = 1
    for axis in kernel.axes:
        if not isinstance(axis.extent, int):
            continue
        if axis.type in (AxisType.UPCAST, AxisType.UNROLL, AxisType.GROUP_UPCAST):
            upcast *= axis.extent
        elif axis.type not in (AxisType.GLOBAL, AxisType.REDUCE):
            work_items *= axis.extent
    return upcast <= registers and work_items <= MOST_WORK_ITEMS


def next_opt(
    chooser: Chooser, kernel: Kernel, sequence: list[Opt], memory: Memory | None = None
) -> Opt:
    """An opt to ask for; `sequence` is used up from its front."""
    match chooser.weighted(WAYS):
        case "action":
            return chooser.choice(search_actions(kernel.rules))
        case "raw":
            op = chooser.choice(list(kernel.rules.checks))
            return Opt(op, chooser.choice(RAW_AXES), chooser.choice(RAW_AMOUNTS))
        case "known" if sequence:
            return changed(chooser, sequence.pop(0))
        case "listed":
            legal = candidates(kernel)
            if legal:
                return chooser.choice(legal)
        case "edge":
            return edge(chooser, kernel, _op(chooser, kernel, memory))
    return fitting(chooser, kernel, _op(chooser, kernel, memory))


def _op(chooser: Chooser, kernel: Kernel, memory: Memory | None) -> OptOps:
    """An op that has an axis to take here, if there is one."""
    ops = [op for op in kernel.rules.checks if positions(kernel, op)]
    if not ops:
        return OptOps.NOLOCALS
    table = [
        (op, _weight(kernel, op) * (memory.favour(kernel.applied_opts, op) if memory else 1))
        for op in ops
    ]
    return chooser.weighted(table)


def _weight(kernel: Kernel, op: OptOps) -> int:
    """Image outputs are led to where a mid-reduce upcast is legal: something grouped, no upcast."""
    weight = WEIGHTS[op]
    if not kernel.ast[0].dtype.is_image:
        return weight
    if kernel.group_dims:
        return 12 * weight if op is OptOps.UPCASTMID else weight
    return 4 * weight if op in (OptOps.GROUP, OptOps.GROUPTOP) else weight


def positions(kernel: Kernel, op: OptOps) -> list[int]:
    """The axes that an op takes; for one that takes none, a 0 where it may be worth asking."""
    match RULES[op].family:
        case SplitRule(takes=takes) | PadRule(takes=takes):
            found = [i for i, axis in enumerate(kernel.axes) if axis.type in takes]
            is_middle = op is OptOps.UPCASTMID
            return found if not is_middle or kernel.ast[0].dtype.is_image else []
        case _:
            is_start = not kernel.applied_opts and bool(kernel.limits.tensor_cores)
            return [0] if op is OptOps.NOLOCALS or (is_start and kernel.reduces) else []


def fitting(chooser: Chooser, kernel: Kernel, op: OptOps) -> Opt:
    """An axis of the right type with an amount that should pass."""
    places = positions(kernel, op)
    if op is OptOps.NOLOCALS or not places:
        return Opt(op)
    if op is OptOps.TC:
        return Opt(op, chooser.choice((0, 0, 0, 1, 2)), chooser.choice((2, 2, 1, 0)))
    if op is OptOps.UPCASTMID:
        steps = [axis for axis in kernel.sts[0].unit_stride_axes() if axis in places]
        return Opt(op, chooser.choice(steps or places), 4)
    at = _place(chooser, kernel, places)
    axis, extent = at - origin(kernel, RULES[op].origin), kernel.full_shape[at]
    if not isinstance(extent, int):
        return Opt(op, axis, chooser.choice((2, 4)))
    if op is OptOps.PADTO:
        return Opt(op, axis, chooser.choice([n for n in PADS if extent % n] or [32]))
    cap = _cap(op)
    amounts = [n for n in factors(extent) if n <= cap]
    if extent <= cap and (not amounts or chooser.chance(35)):
        return Opt(op, axis, chooser.choice((0, extent)))
    # Small amounts leave something to split again, and stay within shared memory.
    few = amounts[:3] if chooser.chance(70) else amounts
    return Opt(op, axis, chooser.choice(few or [0]))


def _place(chooser: Chooser, kernel: Kernel, places: Sequence[int]) -> int:
    """One of the axes, a reduced one as often as the rest together."""
    reduced = [i for i in places if kernel.axes[i].type in REDUCES]
    if reduced and len(reduced) < len(places) and chooser.chance(40):
        return chooser.choice(reduced)
    return chooser.choice(places)


def _cap(op: OptOps) -> int:
    family = RULES[op].family
    cap = family.at_most if isinstance(family, SplitRule) else None
    return cap or 256


def edge(chooser: Chooser, kernel: Kernel, op: OptOps) -> Opt:
    """An amount on one side of a limit, on an axis of the right type or beside it."""
    places = positions(kernel, op) or [0]
    at = chooser.choice(places)
    extent = kernel.full_shape[at] if kernel.axes else 1
    axis = at - origin(kernel, RULES[op].origin) + chooser.choice((0, 0, 0, 0, 0, 1, -1))
    amounts = [2, 3, 4, 1]
    if isinstance(extent, int):
        amounts += [extent, extent - 1, extent + 1, extent // 2, 2 * extent, 4 * extent]
        amounts += [4 * extent - 1, 4 * extent + 1, *factors(extent)[-2:]]
    if op not in (OptOps.NOLOCALS, OptOps.TC):
        cap = _cap(op)
        amounts += [cap, cap + 1, *(n for n in (cap - 1, cap // 2) if n > 1)]
    return Opt(op, axis, chooser.choice(amounts))


def changed(chooser: Chooser, opt: Opt) -> Opt:
    """The opt as it stands, or with another axis, amount or kind."""
    match chooser.integer(0, 5):
        case 3 if opt.axis is not None:
            return Opt(opt.op, opt.axis + chooser.choice((1, -1)), opt.amt)
        case 4 if opt.amt is not None:
            other = chooser.choice((2 * opt.amt, opt.amt // 2, opt.amt + 1, opt.amt - 1, 0))
            return Opt(opt.op, opt.axis, other)
        case 5:
            return Opt(chooser.choice(list(OptOps)), opt.axis, opt.amt)
    return opt
