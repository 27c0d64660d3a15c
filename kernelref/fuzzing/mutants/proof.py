"""What the prover says of a question in a process with a mutant.

It must never say PROVED of a kernel that computes something else. Questions whose AST is built in
this process are not put to it: what the movement ops made of it is what it is asked to prove. A
proof is of the Program for the probe's target, and of memory as large as the Program says: where
that is more than the buffers that there are, this is what is told instead of PROVED.
"""

from __future__ import annotations

from kernelref.cases.case import parse_case
from kernelref.codegen.lower import lower
from kernelref.errors import KernelRefError, Unsupported
from kernelref.fuzzing.mutants.examine import (
    TARGETS,
    asks_for_more,
    ast_of,
    opened,
    requests,
)
from kernelref.fuzzing.mutants.question import Question, Subject
from kernelref.opt.broke import OptBroke
from kernelref.opt.kernel import Kernel
from kernelref.prove import subject as proved
from kernelref.prove.portfolio import DEFAULT
from kernelref.prove.verdict import Answer

ASSUMES = "ASSUMES"
"""Proved, of buffers as large as the Program says; those that it gets are smaller."""


def proof_of(subject: Subject, question: Question) -> str:
    """PROVED, or what keeps it from that: a verdict with its obligation (one that is refuted before
    others), what the proof assumes and does not hold, or how it fell over."""
    try:
        return _proof_of(subject, question)
    except (Unsupported, OptBroke) as error:
        return f"{type(error).__name__} {error}"
    except TimeoutError:
        return "TIMEOUT"
    except KernelRefError as error:
        return f"fell: {error}"
    except Exception as error:
        # An engine's counterexample that does not replay, and whatever else a mutant leads to.
        return f"fell: {type(error).__name__}: {error}"


def _proof_of(subject: Subject, question: Question) -> str:
    case = parse_case(subject.text)
    kernel = opened(case, question.probe, ast_of(subject, question.probe))
    taken = []
    after = kernel
    for opt in requests(case, question.probe):
        step = after.attempt(opt)
        if isinstance(step, Kernel):
            after = step
            taken.append(opt)
    target = TARGETS[question.probe.target]
    verdicts = proved.prove(proved.Subject.of(kernel, taken), DEFAULT, target=target)
    left = [verdict for verdict in verdicts if verdict.answer is not Answer.PROVED]
    left.sort(key=lambda verdict: verdict.answer is not Answer.REFUTED)
    if left:
        return f"{left[0].answer.value} {left[0].step} {left[0].obligation.value}"
    outside = asks_for_more(subject, lower(after, target))
    return f"{ASSUMES}: {outside}" if outside else Answer.PROVED.value
