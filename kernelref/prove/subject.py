"""Everything that is proved of one kernel: its construction, its opts, its Program.

A `Subject` holds values only: the Kernel of the AST, the Kernel after the opts with the moves that
led there, and, for another optimizer than the reference, the ShapeTrackers that it ended with. The
axis map comes from the moves; the ShapeTrackers are the optimizer's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from kernelref.codegen.lower import lower
from kernelref.codegen.program import Program
from kernelref.codegen.target import Target
from kernelref.errors import Unsupported
from kernelref.ir.ast import Constant
from kernelref.ir.index import Sint
from kernelref.ir.shapetracker import ShapeTracker
from kernelref.opt.axismap import AxisMap
from kernelref.opt.kernel import Kernel
from kernelref.opt.opt import Opt
from kernelref.opt.rules.apply import apply_opt
from kernelref.opt.rules.step import Step as Move
from kernelref.prove import obligations as o
from kernelref.prove.padding import padding
from kernelref.prove.portfolio import Portfolio
from kernelref.prove.program.domain import domain
from kernelref.prove.program.inside import inside
from kernelref.prove.program.races import races
from kernelref.prove.program.widths import fits_int
from kernelref.prove.step import Step, construction_step, law_step, opts_step
from kernelref.prove.verdict import Answer, Obligation, Open, Part, Verdict, judge

PROGRAM = "program"
"""The step name of what is proved of the Program."""

ANY = Target(
    "any",
    native_half=True,
    double=True,
    images=True,
    image_max=(1 << 30, 1 << 30),
    group_max=1 << 22,
    local_max=(1 << 22, 1 << 22, 1 << 22),
)
"""A proof needs no device: this one launches whatever a Kernel asks for."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A kernel before and after its opts.

    `opened_sts`, `final_sts`: another optimizer's ShapeTrackers, in the order of `buffers`.
    `laws`: the maps of construction and opts, where they do not follow from AST and `moves`.
    """

    opened: Kernel
    final: Kernel
    moves: tuple[Move, ...]
    opened_sts: tuple[ShapeTracker, ...] | None = None
    final_sts: tuple[ShapeTracker, ...] | None = None
    laws: tuple[AxisMap, AxisMap] | None = None

    @staticmethod
    def of(opened: Kernel, opts: Iterable[Opt]) -> Subject:
        """The reference's own kernel after `opts`. Raises: as `apply_opt`."""
        final, moves = opened, list[Move]()
        for opt in opts:
            final, more = apply_opt(final, opt)
            moves += more
        return Subject(opened, final, tuple(moves))

    def construction(self) -> Step:
        """From the AST to the Kernel without opts."""
        law = None if self.laws is None else self.laws[0]
        return construction_step(self.opened, sts=self.opened_sts, law=law)

    def opts(self) -> Step:
        """From there to the Kernel after all opts, in one step."""
        if self.laws is not None:
            return law_step("opts", self.opened, self.final, self.laws[1])
        return opts_step(
            "opts",
            self.opened,
            self.final,
            self.moves,
            before_sts=self.opened_sts,
            after_sts=self.final_sts,
        )


def elements_of(kernel: Kernel) -> dict[int, Sint]:
    """The size of the memory behind each buffer: what its largest use needs. Units: elements."""
    most: dict[int, int] = {}
    for node in kernel.buffers:
        if not isinstance(node, Constant):
            most[node.buffer] = max(most.get(node.buffer, 1), node.st.real_size())
    return {
        i: most[node.buffer]
        for i, node in enumerate(kernel.buffers)
        if not isinstance(node, Constant)
    }


def prove_step(step: Step, kernel: Kernel, portfolio: Portfolio) -> Iterator[Verdict]:
    """The obligations of a construction, of one opt or of a sequence."""
    sizes = elements_of(kernel)
    parts: dict[Obligation, Callable[[], Iterator[Part]]] = {
        Obligation.BIJECTION: lambda: o.bijection(step),
        Obligation.INDEX: lambda: o.index(step),
        Obligation.REDUCTION: lambda: o.reduction(step),
        Obligation.PADDING: lambda: padding(step, kernel.ast),
        Obligation.COVERAGE: lambda: o.coverage(step),
        Obligation.BOUNDS: lambda: o.bounds_of(step, sizes),
    }
    for obligation, make in parts.items():
        yield judge(step.name, obligation, make(), portfolio)


def prove_program(
    kernel: Kernel, portfolio: Portfolio, target: Target = ANY, program: Program | None = None
) -> Iterator[Verdict]:
    """The obligations of the Program that a Kernel is lowered to."""
    try:
        program = lower(kernel, target) if program is None else program
    except Unsupported as error:
        reason = [Open(str(error), is_unsupported=True)]
        for obligation in (Obligation.BOUNDS, Obligation.DOMAIN, Obligation.RACES):
            yield judge(PROGRAM, obligation, reason, portfolio)
        return
    within = [*fits_int(program), *inside(program)]
    yield judge(PROGRAM, Obligation.BOUNDS, within, portfolio)
    done = judge(PROGRAM, Obligation.DOMAIN, domain(kernel, program, target, portfolio), portfolio)
    yield done
    parts = list(races(kernel, program))
    if done.answer is not Answer.PROVED:
        parts.append(Open("who stores what rests on domain, which is not proved"))
    yield judge(PROGRAM, Obligation.RACES, parts, portfolio)


def prove(subject: Subject, portfolio: Portfolio, *, target: Target = ANY) -> tuple[Verdict, ...]:
    """Every obligation of a kernel."""
    found: list[Verdict] = []
    for step in (subject.construction(), subject.opts()):
        found += prove_step(step, subject.opened, portfolio)
    final = subject.final
    if subject.final_sts is not None:
        final = replace(final, sts=subject.final_sts)
    found += prove_program(final, portfolio, target)
    return tuple(found)


def prove_each(opened: Kernel, opts: Sequence[Opt], portfolio: Portfolio) -> tuple[Verdict, ...]:
    """The obligations of each opt by itself: whose fault it is. Raises: as `apply_opt`."""
    kernel, found = opened, list[Verdict]()
    for opt in opts:
        after, moves = apply_opt(kernel, opt)
        found += prove_step(opts_step(str(opt), kernel, after, moves), kernel, portfolio)
        kernel = after
    return tuple(found)
