"""One question, asked of the code as it is in this process: open, apply, lower, interpret, compare.

What must come out is known already, from a process without a mutant: so a fault in what oracle and
Program share cannot hide.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kernelref.cases.case import Case, parse_case
from kernelref.codegen.lower import lower
from kernelref.codegen.opencl import render
from kernelref.codegen.program import Program
from kernelref.codegen.target import FULL, Target
from kernelref.errors import KernelOptError, KernelRefError, Unsupported
from kernelref.fuzzing.mutants.mutant import ACCEPTED
from kernelref.fuzzing.mutants.question import Ended, Probe, Question, Subject, Wanted
from kernelref.ir.ast import Ast
from kernelref.ir.index import evaluate
from kernelref.opt.broke import OptBroke
from kernelref.opt.footprint import footprint
from kernelref.opt.kernel import Kernel
from kernelref.opt.limits import PRESETS, Limits
from kernelref.opt.opt import Opt, OptOps
from kernelref.run.device_limits import check_program
from kernelref.run.interp import launch_program
from kernelref.run.job import LaunchBuffer
from kernelref.run.oracle import Oracle, Values
from kernelref.run.outcome import Outcome
from kernelref.run.tolerance import Rung, judge

SMALL = Limits(shared_max=512, global_max=(2**31, 64, 64), local_max=(64, 32, 16), group_max=128)
LIMITS: dict[str, Limits] = {
    **PRESETS,
    "small": SMALL,
    "metal-shape": replace(PRESETS["metal"], tc=2),
    "cuda-shape": replace(PRESETS["cuda"], tc=2),
}
TARGETS: dict[str, Target] = {
    "full": replace(FULL, name="interp", local_max=(1024, 1024, 1024)),
    "small-grid": replace(FULL, grid_max=(16, 16, 16)),
    "small-images": replace(FULL, image_max=(16, 16)),
}


def ast_of(subject: Subject, probe: Probe) -> Ast:
    """The AST that was stored, or what the seed's function builds now."""
    if not probe.is_built:
        return parse_case(subject.text).ast
    from kernelref.cases.corpus import slug
    from kernelref.cases.seeds import MODULES

    builds = (build for module in MODULES for build in module.SEEDS)
    return next(build() for build in builds if slug(build.__name__) == subject.seed)


def opened(case: Case, probe: Probe, ast: Ast) -> Kernel:
    """The kernel without opts. Raises: as `Kernel.open`."""
    return Kernel.open(ast, LIMITS[probe.limits] if probe.limits else case.limits)


def requests(case: Case, probe: Probe) -> tuple[Opt, ...]:
    """The opts that are requested."""
    if probe.opts is None:
        return case.opts
    return tuple(Opt(OptOps[op], axis, amt) for op, axis, amt in probe.opts)


def examine(subject: Subject, question: Question, *, own_oracle: bool = False) -> Ended:
    """How the question ends here; `own_oracle`: what must come out is computed here as well."""
    try:
        return _examined(subject, question, own_oracle=own_oracle)
    except Unsupported as error:
        return Ended(Outcome.UNSUPPORTED.value, error.reason)
    except OptBroke as error:
        return Ended(Outcome.BROKE.value, error.check)
    except MemoryError:
        return Ended(Outcome.OUT_OF_MEMORY.value)
    except TimeoutError:
        return Ended(Outcome.TIMEOUT.value)
    except KernelRefError as error:
        return Ended(Outcome.HARNESS_ERROR.value, str(error))
    except Exception as error:
        # Whatever a mutant does to our own code ends here.
        return Ended(Outcome.HARNESS_ERROR.value, f"{type(error).__name__}: {error}")


def answer_of(taken: Kernel | KernelOptError | OptBroke | Unsupported) -> str:
    """What an attempt says, in a word: "" when it was accepted."""
    match taken:
        case Kernel():
            return ""
        case KernelOptError(check=check):
            return check
        case OptBroke(check=check):
            return f"broke {check}"
        case Unsupported(reason=reason):
            return f"unsupported {reason}"


def _examined(subject: Subject, question: Question, *, own_oracle: bool) -> Ended:
    probe = question.probe
    case = parse_case(subject.text)
    ast = ast_of(subject, probe)
    kernel = opened(case, probe, ast)
    is_laxer = False
    for opt, known in zip(requests(case, probe), question.answers, strict=True):
        taken = kernel.attempt(opt)
        answer = answer_of(taken)
        if answer and answer != known:
            by = known or "accepted"
            return Ended(Outcome.REFUSED.value, f"{opt} by {answer}, was {by}")
        is_laxer |= answer != known
        if isinstance(taken, Kernel):
            kernel = taken
    ended = ran(subject, ast, kernel, TARGETS[probe.target], own_oracle=own_oracle)
    if is_laxer and ended.outcome == Outcome.PASS.value:
        return Ended(ACCEPTED, "an opt that must be refused")
    return ended


def ran(
    subject: Subject, ast: Ast, kernel: Kernel, target: Target, *, own_oracle: bool = False
) -> Ended:
    """Lower, render and ask the device as `run` does, then interpret and compare."""
    program = lower(kernel, target)
    render(program, target)
    check_program(program, target, subject.variables)
    outside = asks_for_more(subject, program)
    if outside:
        return Ended(Outcome.OUT_OF_BOUNDS.value, outside)
    buffers = _buffers(subject, program)
    variables = [subject.variables[variable.name] for variable in program.variables]
    result = launch_program(program, buffers, variables)
    if result.fault is not None:
        return Ended(result.fault.value, result.detail)
    for output in subject.wanted:
        got = result.outputs[output.number]
        if len(got) < len(output.addresses):
            return Ended(Outcome.UNWRITTEN.value, f"buffer {output.number} is too small")
        values = _own(subject, ast, output) if own_oracle else _known(output)
        dtype = ast[output.output].dtype
        wrong = judge(got, values, Rung[subject.rung], dtype)
        if wrong is not None:
            return Ended(Outcome.WRONG_VALUE.value, f"buffer {output.number}: {wrong}")
    taken = footprint(kernel).shared_nbytes
    if taken != program.shared_nbytes:
        detail = f"{program.shared_nbytes} bytes on chip, the footprint says {taken}"
        return Ended(Outcome.HARNESS_ERROR.value, detail)
    return Ended(Outcome.PASS.value)


def _buffers(subject: Subject, program: Program) -> list[LaunchBuffer]:
    """The memory that the Program gets; of outputs what is compared, as far as it is there."""
    wanted = {output.number: output.addresses for output in subject.wanted}
    buffers = []
    for buffer in program.buffers:
        elements = int(evaluate(buffer.elements, subject.variables))
        points = wanted[buffer.number] if buffer.is_output else None
        buffers.append(
            LaunchBuffer(
                number=buffer.number,
                dtype=buffer.dtype,
                elements=elements,
                is_written=buffer.is_output,
                data=subject.inputs.get(buffer.number),
                points=None if points is None else points[points < elements],
            )
        )
    return buffers


def asks_for_more(subject: Subject, program: Program) -> str:
    """Which buffer of the Program is larger than the one that it gets."""
    for buffer in program.buffers:
        asked = int(evaluate(buffer.elements, subject.variables))
        given = subject.elements.get(buffer.number, 0)
        if asked > given:
            return f"{asked} elements of buffer {buffer.number}, which has {given}"
    return ""


def _known(output: Wanted) -> Values:
    return Values(output.value, output.reference, output.bound)


def _own(subject: Subject, ast: Ast, output: Wanted) -> Values:
    """What the oracle says here, of the elements that are compared."""
    oracle = Oracle(ast, subject.inputs, subject.variables)
    is_bounded = subject.rung == Rung.BOUNDED.name
    values = (
        oracle.values(output.output) if is_bounded else oracle.values(output.output, bounds=None)
    )
    stored = oracle.addresses(output.output)[1]
    return values.at(np.flatnonzero(stored))
