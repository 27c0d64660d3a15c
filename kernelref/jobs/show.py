"""What `show` looks at: one kernel as AST, axes, index maps and text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kernelref.cases.sources import KernelSource, kernels
from kernelref.codegen.lower import lower
from kernelref.codegen.opencl import render
from kernelref.codegen.target import POCL
from kernelref.errors import InvalidInput, KernelOptError, KernelRefError, Unsupported
from kernelref.ir.ast import (
    Alu,
    Ast,
    Cast,
    Constant,
    Load,
    Node,
    Reduce,
    Store,
    children,
    postorder,
)
from kernelref.ir.shapetracker import ShapeTracker
from kernelref.ir.view import View
from kernelref.jobs.choices import Choices, choices_for
from kernelref.jobs.opt_choice import OWN, Listed
from kernelref.jobs.run_schedules import schedules
from kernelref.opt.axis import Axis
from kernelref.opt.axismap import AxisMap, LinearSum
from kernelref.opt.broke import OptBroke
from kernelref.opt.kernel import Kernel
from kernelref.opt.opt import Opt


@dataclass(frozen=True, slots=True)
class Step:
    """The axes after one opt (None: at the start) and its map, or why it was refused.

    `law` has a line for each axis before that is no single axis after, and one for each guard.
    `refused_by` is the check, `refusal` its sentence.
    """

    opt: Opt | None
    axes: tuple[Axis, ...]
    colors: tuple[str, ...]
    law: tuple[str, ...] = ()
    refused_by: str | None = None
    refusal: str | None = None


@dataclass(frozen=True, slots=True)
class BufferLook:
    """One buffer of the kernel with its index map, under the last accepted opts."""

    name: str
    dtype: str
    shape: tuple[str, ...]
    strides: tuple[str | None, ...]
    index: str
    valid: str


@dataclass(frozen=True, slots=True)
class Look:
    """One kernel, ready to be printed.

    `fault` is what keeps it from having a text, or from being opened at all: there are no steps and
    no buffers then. `source` is a comment that says so.
    """

    kernel: str
    title: str
    origin: str
    rules: str
    ast: tuple[str, ...]
    steps: tuple[Step, ...]
    buffers: tuple[BufferLook, ...]
    source: str
    fault: KernelRefError | None = None

    def as_json(self) -> dict[str, Any]:
        """The object that `show --json` prints."""
        return {
            "verb": "show",
            "kernel": self.kernel,
            "title": self.title,
            "origin": self.origin,
            "rules": self.rules,
            "ast": list(self.ast),
            "buffers": [
                {
                    "name": look.name,
                    "dtype": look.dtype,
                    "shape": list(look.shape),
                    "strides": list(look.strides),
                    "index": look.index,
                    "valid": look.valid,
                }
                for look in self.buffers
            ],
            "steps": [
                {
                    "opt": None if step.opt is None else str(step.opt),
                    "axes": [
                        {"extent": str(axis.extent), "type": axis.type.value} for axis in step.axes
                    ],
                    "map": list(step.law),
                    "refused_by": step.refused_by,
                    "refusal": step.refusal,
                }
                for step in self.steps
            ],
            "source": self.source,
            "fault": None if self.fault is None else str(self.fault),
        }


def look_at(spec: str, *, opts: str, rules: str | None, limits: str | None) -> Look:
    """Open the one kernel that `spec` names, apply its opts, lower and render it.

    Raises: InvalidInput.
    """
    source = one_kernel(spec)
    choices = choices_for(source, opts=opts, rules=rules, limits=limits)
    steps: tuple[Step, ...] = ()
    buffers: tuple[BufferLook, ...] = ()
    fault: KernelRefError | None = None
    try:
        kernel, steps, fault = _apply(source, choices)
        buffers = tuple(_buffer(kernel, i) for i in range(len(kernel.buffers)))
        text = render(lower(kernel, POCL), POCL)
    except (Unsupported, OptBroke) as error:
        fault = fault or error
        text = f"// no text: {error}"
    return Look(
        kernel=str(source.place),
        title=source.case.title if source.case else "",
        origin=source.case.origin if source.case else "",
        rules=choices.rules.name,
        ast=tuple(spell(source.ast)),
        steps=steps,
        buffers=buffers,
        source=text,
        fault=fault,
    )


def one_kernel(spec: str) -> KernelSource:
    """The kernel of a case file or FILE:LINE. Raises: InvalidInput."""
    found = list(kernels((spec,)))
    if len(found) != 1:
        raise InvalidInput(f"{len(found)} kernels; name one as FILE:LINE", where=spec)
    if not isinstance(found[0], KernelSource):
        raise found[0].error
    return found[0]


def _apply(
    source: KernelSource, choices: Choices
) -> tuple[Kernel, tuple[Step, ...], Unsupported | None]:
    """The opts one by one, up to one that cannot be modelled. Raises: Unsupported, OptBroke."""
    kernel = Kernel.open(source.ast, choices.limits, choices.rules)
    steps = [Step(None, kernel.axes, kernel.colors)]
    for opt in _opts(kernel, source, choices):
        try:
            law = spell_map(kernel.axis_map(opt))
            kernel = kernel.apply_opt(opt)
            steps.append(Step(opt, kernel.axes, kernel.colors, law))
        except Unsupported as error:
            steps.append(Step(opt, kernel.axes, kernel.colors, (), error.reason, str(error)))
            return kernel, tuple(steps), error
        except (KernelOptError, OptBroke) as error:
            steps.append(Step(opt, kernel.axes, kernel.colors, (), error.check, str(error)))
    return kernel, tuple(steps), None


def _opts(kernel: Kernel, source: KernelSource, choices: Choices) -> tuple[Opt, ...]:
    """The opts to show; of several sequences that the choice means, the first."""
    own = source.opts or ()
    if isinstance(choices.opts, Listed):
        return choices.opts.opts
    if choices.opts == OWN:
        return own
    drawn = schedules(kernel, own, choices.opts, salt=source.name, is_strict=False)
    return next(drawn).kernel.applied_opts


def spell_map(law: AxisMap) -> tuple[str, ...]:
    """An axis map, without the axes that only moved: `before 1 = after 1 * 4 + after 3`."""
    sums = (
        f"before {axis} = {_spell_sum(total)}"
        for axis, total in enumerate(law.sums)
        if total.constant != 0 or [step for _, step in total.terms] != [1]
    )
    guards = (f"real where {_spell_sum(total)} < {limit}" for total, limit in law.guard)
    return (*sums, *guards)


def _spell_sum(total: LinearSum) -> str:
    in_order = sorted(total.terms, key=lambda term: term[0])
    terms = [f"after {axis}" + ("" if step == 1 else f" * {step}") for axis, step in in_order]
    if total.constant != 0 or not terms:
        terms.append(str(total.constant))
    return " + ".join(terms)


def _buffer(kernel: Kernel, i: int) -> BufferLook:
    buffer, st = kernel.buffers[i], kernel.sts[i]
    match buffer:
        case Constant(value=value):
            name = f"constant {value}"
        case Load(buffer=number):
            name = f"load {number}"
        case Store(buffer=number):
            name = f"store {number}"
    address, valid = st.index()
    return BufferLook(
        name=name,
        dtype=str(buffer.dtype),
        shape=tuple(str(extent) for extent in st.shape),
        strides=tuple(None if s is None else str(s) for s in st.real_strides()),
        index=str(address),
        valid=str(valid),
    )


def spell(ast: Ast) -> list[str]:
    """One line a node, sources before their readers."""
    names: dict[Node, str] = {}
    lines = []
    for i, node in enumerate(postorder(ast)):
        names[node] = f"%{i}"
        sources = " ".join(names[source] for source in children(node))
        lines.append(f"{names[node]} = {_spell(node)} {sources}".rstrip())
    return lines


def _spell(node: Node) -> str:
    match node:
        case Load(buffer=buffer, dtype=dtype, st=st):
            return f"LOAD {buffer} {dtype} {_spell_st(st)}"
        case Constant(value=value, dtype=dtype, st=st):
            return f"CONST {value} {dtype} {_spell_st(st)}"
        case Store(buffer=buffer, dtype=dtype, st=st):
            return f"STORE {buffer} {dtype} {_spell_st(st)}"
        case Cast(dtype=dtype, bitcast=bitcast):
            return f"{'BITCAST' if bitcast else 'CAST'} {dtype}"
        case Reduce(op=op, axes=axes):
            return f"{op.value} over {', '.join(map(str, axes))}:"
        case Alu(op=op):
            return op.name
    raise AssertionError(f"not an AST node: {node!r}")


def _spell_st(st: ShapeTracker) -> str:
    return " <- ".join(_spell_view(view) for view in reversed(st.views))


def _spell_view(view: View) -> str:
    shape = f"({', '.join(map(str, view.shape))})"
    if view.contiguous:
        return shape
    parts = [shape, f"strides ({', '.join(map(str, view.strides))})"]
    if view.offset != 0:
        parts.append(f"offset {view.offset}")
    if view.mask is not None:
        parts.append("mask " + " ".join(f"{begin}..{end}" for begin, end in view.mask))
    return "[" + " ".join(parts) + "]"
