"""PADTO on every axis of kernels that divide, round and reduce: right where it is accepted."""

from __future__ import annotations

from dataclasses import replace

from fuzz.harness import fuzzed, kept
from kernelref.errors import KernelOptError
from kernelref.fuzzing.campaign_check import Stage, Subject
from kernelref.fuzzing.campaign_legality import Need, without_check
from kernelref.fuzzing.choose import Chooser
from kernelref.fuzzing.generate import generate_kernel
from kernelref.fuzzing.generate_opts import PADS
from kernelref.fuzzing.generate_taste import DEFAULT, OPS
from kernelref.ir.ast import Ast, Op
from kernelref.opt.kernel import Kernel
from kernelref.opt.opt import Opt, OptOps
from kernelref.run.outcome import Outcome

SMALL = replace(
    DEFAULT,
    points=(((64, 600), 100),),
    nodes=(((1, 6), 80), ((6, 14), 20)),
    symbolic=0,
    matmul=0,
    images=0,
)
TASTES = (
    replace(
        SMALL,
        reduces=((1, 80), (2, 20)),
        ops={**OPS, Op.EXP2: 40, Op.CMPEQ: 15, Op.SQRT: 15, Op.RECIP: 15},
    ),
    replace(SMALL, ops={**OPS, Op.IDIV: 40, Op.MOD: 40, Op.DIV: 30, Op.SHR: 15}),
)


def generate_padded(chooser: Chooser) -> Ast:
    return generate_kernel(chooser, chooser.choice(TASTES))


def generate_amount(chooser: Chooser) -> int:
    return chooser.choice(PADS)


@fuzzed(generate_padded, generate_amount, share=0.5, seeds=12)
def test_what_is_padded_is_right(ast: Ast, amount: int) -> None:
    """And what is refused because it would trap does."""
    kernel = Kernel.open(ast)
    subject: Subject | None = None
    for axis in range(len(kernel.axes)):
        opt = Opt(OptOps.PADTO, axis, amount)
        answer = kernel.attempt(opt)
        with kept("padded", ast, (opt,)):
            if isinstance(answer, Kernel):
                subject = subject or Subject.of(ast, 6)
                ending = subject.run(answer, Stage.OPTIMISED)
                assert ending.outcome in (Outcome.PASS, Outcome.UNSUPPORTED), ending
            elif isinstance(answer, KernelOptError) and answer.check == "padding-does-not-trap":
                subject = subject or Subject.of(ast, 6)
                need = without_check(subject, kernel, opt, answer.check)
                assert need is not Need.OVER_STRICT, f"{opt} was refused and is right"
