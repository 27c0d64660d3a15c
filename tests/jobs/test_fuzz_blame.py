"""What a release's text does wrong is put down to one node, or to opts, whatever surrounds it."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

from kernelref.cases.case import Case, dump_case, parse_case
from kernelref.codegen.target import FULL
from kernelref.fuzzing.campaign_case import in_words
from kernelref.fuzzing.campaign_check import Ending, Stage
from kernelref.fuzzing.campaign_result import CaseResult, Confirmed
from kernelref.ir.ast import Alu, Op, postorder
from kernelref.ir.builder import buffer, kernel
from kernelref.ir.dtype import FLOAT, UINT8
from kernelref.jobs.fuzz_alone import Answer
from kernelref.jobs.fuzz_blame import Blame, build_error, signature
from kernelref.jobs.fuzz_devices import NOT_RUN, finished
from kernelref.jobs.run_report import Ending as Ran
from kernelref.jobs.run_report import Pair
from kernelref.opt.opt import Opt, OptOps
from kernelref.optimizers.process import WorkerError
from kernelref.run.outcome import Outcome

TEXT = "TEXT"
LOCAL, GROUP, UPCAST = Opt(OptOps.LOCAL, 0, 2), Opt(OptOps.GROUP, 0, 2), Opt(OptOps.UPCAST, 0, 2)
QUOTIENT = kernel((buffer(1, (4, 6), UINT8) // buffer(2, (4, 6), UINT8)).cast(FLOAT).sum(1) * 2.0)


@dataclass(slots=True)
class Judged(Blame):
    """Asks a function instead of a process and a device.

    `served` are the cases that each process was given.
    """

    fails: object = None
    text: str = TEXT
    served: list[list[Case]] = field(default_factory=list)

    @contextmanager
    def alone(self, pool):
        served: list[Case] = []
        self.served.append(served)

        def ask(cases):
            answers = []
            for case in cases:
                failed = self.fails(case)
                answers.append(Answer(Outcome.WRONG_VALUE if failed else Outcome.PASS, self.text))
                served.append(case)
            return answers

        yield ask


def found(opts, ast=QUOTIENT, outcome=Outcome.WRONG_VALUE, detail="") -> CaseResult:
    case = Case(ast, opts=opts, rules="tinygrad-0.9.1")
    return CaseResult(3, Ending(Stage.DEVICE, outcome, detail, "pocl"), opts, case=dump_case(case))


def has(op):
    return lambda case: any(isinstance(n, Alu) and n.op is op for n in postorder(case.ast))


def test_a_node_that_is_printed_wrong_is_found_and_then_known():
    blame = Judged("tinygrad==0.9.1", FULL, fails=has(Op.IDIV))
    told = blame.of(found((LOCAL, GROUP)), None)
    assert told.key == "WRONG_VALUE (IDIV of narrow integers) at device: no opts"
    (store,) = parse_case(told.case).ast
    assert store.value.op is Op.IDIV
    blame.served.clear()
    assert blame.of(found((UPCAST,)), None).key == told.key
    assert [[case.opts for case in served] for served in blame.served] == [[()]]


def test_what_is_told_was_seen_in_a_process_that_served_nothing_else():
    """The smaller case is asked once more, alone; what fails only after another is not told."""
    blame = Judged("tinygrad==0.9.1", FULL)
    blame.fails = lambda case: bool(case.opts) or bool(blame.served[-1])
    told = blame.of(found((LOCAL, GROUP)), None)
    assert told.confirmed is Confirmed.FRESH
    assert told.opts == parse_case(told.case).opts == (LOCAL, GROUP)
    assert [len(served) for served in blame.served] == [6, 1]


def test_a_node_known_to_be_printed_wrong_is_not_blamed_for_what_it_does_not_do():
    blame = Judged("tinygrad==0.9.1", FULL, fails=lambda case: GROUP in case.opts)
    blame.known[Outcome.WRONG_VALUE] = {"IDIV of narrow integers"}
    told = blame.of(found((LOCAL, GROUP)), None)
    assert told.key == "WRONG_VALUE (full) at device: GROUP"
    assert told.confirmed is Confirmed.FRESH


@pytest.mark.parametrize(
    ("text", "alone", "confirmed", "words"),
    [
        ("another", TEXT, Confirmed.HISTORY, "only after other kernels"),
        (TEXT, TEXT, Confirmed.UNSTEADY, "not every time"),
        (TEXT, "", Confirmed.HISTORY, "only after other kernels"),
        ("", "", Confirmed.HISTORY, "only after other kernels"),
    ],
)
def test_what_does_not_show_alone_keeps_its_opts_and_says_so(text, alone, confirmed, words):
    blame = Judged("tinygrad==0.9.1", FULL, fails=lambda case: False, text=alone)
    told = blame.of(found((LOCAL, GROUP)), None, text)
    assert told.confirmed is confirmed
    assert told.is_finding
    assert told.key == f"WRONG_VALUE (pocl) at device, {words}"
    case = parse_case(told.case)
    assert told.opts == case.opts == (LOCAL, GROUP)
    assert case.title.endswith(words)
    assert case.expect.outcome == "PASS"


def test_of_a_changed_release_nothing_is_made_smaller():
    blame = Judged("tinygrad@x", FULL, is_minimised=False, fails=has(Op.IDIV))
    told = blame.of(found((LOCAL, GROUP)), None)
    assert told.confirmed is Confirmed.FRESH
    assert told.opts == (LOCAL, GROUP)
    assert [len(served) for served in blame.served] == [1]


def test_where_no_process_starts_nobody_is_asked():
    class Dead(Blame):
        def alone(self, pool):
            raise WorkerError("start", "no memory")

    result = found((LOCAL,))
    told = Dead("tinygrad==0.9.1", FULL).of(result, None)
    assert told == result
    assert told.confirmed is Confirmed.UNASKED


def test_opts_that_are_needed_stay():
    blame = Judged("tinygrad==0.9.1", FULL, fails=lambda case: GROUP in case.opts)
    told = blame.of(found((LOCAL, GROUP, UPCAST)), None)
    assert told.opts == parse_case(told.case).opts == (GROUP,)


def test_a_reduction_is_never_known():
    blame = Judged(
        "tinygrad==0.9.1", FULL, fails=lambda case: signature(case.ast[0].value) != "MUL of float"
    )
    blame.known[Outcome.WRONG_VALUE] = set()
    told = blame.of(found((), kernel(buffer(1, (4, 6)).sum(1))), None)
    assert told.ending.reason == "SUM over float"
    assert not blame.known[Outcome.WRONG_VALUE]


@pytest.mark.parametrize(
    ("detail", "said"),
    [
        (
            "error: /x/tempfile_C.cl:48:18 <Spelling=/y/_b.h:137:24>: call to '_cl_max' is "
            "ambiguous\nerror: /x/tempfile_C.cl:49:18: call to '_cl_max' is ambiguous",
            "call to '_cl_max' is ambiguous",
        ),
        (
            "error: /x/t.cl:1:74: unknown type name 'None' Device pthread-AMD failed to build",
            "unknown type name 'None'",
        ),
    ],
)
def test_a_compiler_is_told_by_what_it_says_first(detail, said):
    assert build_error(detail) == said


def test_numbers_and_names_do_not_tell_failures_apart():
    left = in_words("unexpected reduceop shape (6, 1) != (6, (NumNode(2)+Variable('n', 1, 16)))")
    assert left == in_words("unexpected reduceop shape (1, 1) != (1, 8)")
    assert in_words("not supported: <66> % <n[1-31]>") == in_words("not supported: <2> % <(n*9)>")
    assert in_words("<BinaryOps.SHR: 9>") != in_words("<TernaryOps.MULACC: 2>")


def _text(outcome: Outcome) -> list[Ran]:
    return [Ran(Pair("3", "pocl"), outcome)]


def test_the_text_of_a_release_decides_over_its_stand_in():
    ending = Ending(Stage.PLAIN, Outcome.WRONG_VALUE, "got 1")
    host = CaseResult(3, ending, case=dump_case(Case(kernel(buffer(1, (4,)) * 2.0))))
    right = finished(host, _text(Outcome.PASS), is_release=True)
    assert not right.is_finding
    assert right.ending.reason == "text-is-right"
    wrong = finished(host, _text(Outcome.WRONG_VALUE), is_release=True)
    assert wrong.ending.stage is Stage.DEVICE
    unknown = finished(host, _text(Outcome.UNSUPPORTED), is_release=True)
    assert (unknown.ending.stage, unknown.ending.reason) == (Stage.PLAIN, NOT_RUN)
    assert finished(host, _text(Outcome.PASS)).is_finding
