"""Which opts `conform` asks for: search actions, fitting ones, boundary amounts, and raw ones.

Uniform draws are refused nine times in ten and never meet some checks. So an opt is drawn for the
state at hand, ops that were accepted least are drawn most, and a few recipes lead to the states
where the rare checks speak. Everything follows from the seed.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence

from kernelref.opt.opt import Opt, OptOps
from kernelref.optimizers.interface import Heuristics, State

BASE_WEIGHTS = {
    OptOps.UPCAST: 4, OptOps.UNROLL: 4, OptOps.LOCAL: 4, OptOps.LASTLOCAL: 4, OptOps.GROUP: 6,
    OptOps.GROUPTOP: 6, OptOps.PADTO: 3, OptOps.NOLOCALS: 0.4, OptOps.UPCASTMID: 0.3,
    OptOps.TC: 0.1,
}  # fmt: skip
CAPS = {OptOps.UPCAST: 8, OptOps.UNROLL: 32}
BOUNDARY_AMOUNTS = (-2, 1, 2, 3, 4, 5, 7, 8, 9, 16, 31, 32, 33, 48, 64, 128, 256, 1024)
RAW_AXES = (None, -1, -2, -3, -9, -9, 0, 1, 2, 3, 4, 5, 6, 7, 9, 99)
RAW_AMOUNTS = (
    None,
    0,
    1,
    -1,
    -4,
    2,
    3,
    4,
    6,
    8,
    12,
    13,
    16,
    29,
    32,
    40,
    100,
    256,
    1 << 20,
    1 << 40,
)


TENSOR_AXES = (*(0,) * 12, *(1,) * 4, 2, 2, 3, 8, -1, -9, -9, None)
TENSOR_LEVELS = (*(0,) * 4, *(1,) * 4, *(2,) * 12, None)


class Drawer:
    """Draws opts by a seeded generator; `accepted` steers it."""

    def __init__(
        self, seed: int, actions: Sequence[Opt], ops: Sequence[OptOps] = tuple(OptOps)
    ) -> None:
        self.rng = random.Random(seed)
        self.actions = tuple(actions)
        self.ops = tuple(ops)
        self.accepted: Counter[OptOps] = Counter()

    def draw(self, state: State, *, is_start: bool, is_image: bool) -> Opt:
        """The next opt to ask for; `is_start`: of a walk that may use tensor cores."""
        rng = self.rng
        if is_start and OptOps.TC in self.ops and rng.random() < 0.8:
            return Opt(OptOps.TC, rng.choice(TENSOR_AXES), rng.choice(TENSOR_LEVELS))
        if is_image and OptOps.UPCASTMID in self.ops and rng.random() < 0.6:
            return self._towards_middle(state)
        way = rng.random()
        if way < 0.12 and self.actions:
            return rng.choice(self.actions)
        if way < 0.2:
            return self.raw()
        op = self._op(state)
        return self.boundary(op, state) if way < 0.4 else self.fitting(op, state)

    def start(self, *, has_cores: bool) -> Heuristics | None:
        """What a walk begins with: mostly nothing, else the state that heuristics come to.

        Where there is no opt for a tensor core, the engine alone leads to one.
        """
        if has_cores and OptOps.TC not in self.ops and self.rng.random() < 0.4:
            return Heuristics.ENGINE
        if self.rng.random() < 0.8:
            return None
        return self.rng.choice((Heuristics.REQUIRED, Heuristics.HAND_CODED, Heuristics.ENGINE))

    def raw(self) -> Opt:
        """Any op with any axis and amount, None among them."""
        return Opt(self._any_op(), self.rng.choice(RAW_AXES), self.rng.choice(RAW_AMOUNTS))

    def boundary(self, op: OptOps, state: State) -> Opt:
        """A right or nearly right axis, with an amount at an edge."""
        axis, extent = self._axis(op, state)
        amounts = [*BOUNDARY_AMOUNTS]
        if extent is not None:
            amounts += [extent, extent - 1, extent + 1, extent * 2, extent * 4, max(extent // 2, 1)]
            amounts += [extent * 4 - 1, extent * 2 - 1, -extent]
            amounts += 4 * _divisors_beyond(CAPS.get(op), extent)
        return Opt(op, axis + self.rng.choice((0, 0, 0, 0, -1, 1)), self.rng.choice(amounts))

    def fitting(self, op: OptOps, state: State) -> Opt:
        """An axis of the right type with an amount that should pass."""
        if op is OptOps.NOLOCALS:
            return Opt(op)
        axis, extent = self._axis(op, state)
        if extent is None:
            return Opt(op, axis, self.rng.choice((2, 4)))
        if op is OptOps.PADTO:
            return Opt(op, axis, self.rng.choice(_paddings(extent)))
        cap = CAPS.get(op, 256)
        divisors = [n for n in range(2, min(cap, extent) + 1) if extent % n == 0]
        if not divisors:
            return Opt(op, axis, 0)
        # Small amounts leave something to split again, and stay within shared memory.
        amount = self.rng.choice(divisors[:3] if self.rng.random() < 0.7 else divisors)
        return Opt(op, axis, 0 if amount == extent and self.rng.random() < 0.5 else amount)

    def _towards_middle(self, state: State) -> Opt:
        """Group, then UPCASTMID on the axis that steps by 1 through the output, or beside it."""
        colors = state.colors or ()
        if "green" not in colors and "red" in colors:
            return self.fitting(self.rng.choice((OptOps.GROUP, OptOps.GROUPTOP)), state)
        strides = state.buffers[0].real_strides or ()
        steps = [i for i, stride in enumerate(strides) if stride == 1] or [0]
        axis = self.rng.choice(steps) + self.rng.choice((0, 0, 0, 0, 0, 0, 1, -1))
        return Opt(OptOps.UPCASTMID, axis, self.rng.choice((4, 4, 4, 4, 4, 4, 2, 0)))

    def _op(self, state: State) -> OptOps:
        ops = [op for op in self.ops if _has_axis(op, state)]
        fewest = min((self.accepted[op] for op in ops), default=0)
        weights = [BASE_WEIGHTS[op] * (2.0 if self.accepted[op] == fewest else 1.0) for op in ops]
        return self.rng.choices(ops, weights)[0] if any(weights) else self._any_op()

    def _any_op(self) -> OptOps:
        return self.rng.choice(self.ops)

    def _axis(self, op: OptOps, state: State) -> tuple[int, int | None]:
        """An axis that the op takes, counted as it counts, with its extent if that is an int."""
        colors = state.colors or ()
        positions = _positions(op, colors)
        if not positions:
            return self.rng.randrange(max(1, len(state.full_shape))), None
        # An op that takes few axes of a long shape would else be lost on extents of 1 and primes.
        position = self.rng.choice(positions)
        extent = state.full_shape[position]
        return position - _origin(op, colors), extent if isinstance(extent, int) else None


def _positions(op: OptOps, colors: Sequence[str]) -> list[int]:
    """The axes that an op takes."""
    match op:
        case OptOps.UPCAST | OptOps.LASTLOCAL:
            wanted = {"blue", "BLUE", "cyan"}
        case OptOps.LOCAL | OptOps.UPCASTMID:
            wanted = {"blue", "BLUE"}
        case OptOps.UNROLL:
            wanted = {"green", "red"}
        case OptOps.GROUP | OptOps.GROUPTOP:
            wanted = {"red"}
        case OptOps.PADTO:
            wanted = {"blue", "BLUE", "cyan", "green", "red"}
        case OptOps.NOLOCALS | OptOps.TC:
            wanted = set()
    return [i for i, color in enumerate(colors) if color in wanted]


def _has_axis(op: OptOps, state: State) -> bool:
    return op in (OptOps.NOLOCALS, OptOps.UPCASTMID) or bool(_positions(op, state.colors or ()))


def _origin(op: OptOps, colors: Sequence[str]) -> int:
    """Where an op's axis counts from."""
    first_reduce = sum(color in ("blue", "BLUE", "cyan") for color in colors)
    if op is OptOps.UNROLL:
        return first_reduce
    if op in (OptOps.GROUP, OptOps.GROUPTOP):
        return first_reduce + sum(color in ("green", "white") for color in colors)
    return 0


def _divisors_beyond(cap: int | None, extent: int) -> list[int]:
    """The least divisor above an op's cap, if there is one."""
    if cap is None:
        return []
    return next(([n] for n in range(cap + 1, min(extent, 4096) + 1) if extent % n == 0), [])


def _paddings(extent: int) -> list[int]:
    """Amounts that pad: not a divisor of the extent, and not too much more than it."""
    return [n for n in (2, 3, 4, 5, 8, 16, 32, 64) if extent % n and n // 2 < extent] or [32]
