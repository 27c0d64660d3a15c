"""Each step of an optimised kernel proved: what the sound rule set accepts is never refuted."""

from __future__ import annotations

import pytest

from fuzz.harness import ANSWERS, fuzzed, kept
from kernelref.fuzzing.generate import generate_kernel
from kernelref.fuzzing.generate_opts import OptSequence, generate_sequence
from kernelref.ir.ast import Ast
from kernelref.opt.kernel import Kernel

pytest.importorskip("z3", reason="proofs need z3-solver: pip install kernelref[prove]")


@fuzzed(generate_kernel, generate_sequence, share=0.5, seeds=4)
def test_no_step_is_refuted(ast: Ast, sequence: OptSequence) -> None:
    """UNKNOWN is no failure here; its count is printed at the end of the run."""
    from kernelref.prove.portfolio import Portfolio
    from kernelref.prove.subject import Subject, prove
    from kernelref.prove.verdict import Answer

    opened = Kernel.open(ast)
    opts = sequence.on(opened).kernel.applied_opts
    with kept("refuted-step", ast, opts):
        verdicts = prove(Subject.of(opened, opts), Portfolio())
        ANSWERS.update(verdict.answer.value for verdict in verdicts)
        refuted = [verdict for verdict in verdicts if verdict.answer is Answer.REFUTED]
        assert not refuted, refuted[0]
