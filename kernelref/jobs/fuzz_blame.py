"""What a release's wrong text comes down to: fewer opts, then the one node that is printed wrong.

A campaign meets one fault of a renderer hundreds of times, under whatever opts were drawn. Two
questions to the device tell its faults apart: does the text without opts fail alike, and which is
the first node that, stored alone, comes out wrong? Kernels with an op that is known to be printed
wrong are put down to it where they fail alike without opts; a reduction is never known so, since
most are right.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace

from kernelref.cases.case import Case, Expect, dump_case, parse_case
from kernelref.codegen.target import Target
from kernelref.fuzzing.campaign_check import Ending, Stage
from kernelref.fuzzing.campaign_result import CaseResult, Confirmed
from kernelref.ir.ast import Alu, Cast, Load, Node, Reduce, Store, children, postorder
from kernelref.ir.dtype import DType
from kernelref.ir.shapetracker import ShapeTracker
from kernelref.jobs.fuzz_alone import Ask, not_shown, process_alone
from kernelref.optimizers.process import WorkerError
from kernelref.run.isolate import DevicePool
from kernelref.run.outcome import Outcome

NARROW_NBYTES = 4
"""C computes integers of fewer bytes as int."""
NARROW = "narrow integers"
WHOLE = "the whole kernel"


@dataclass(slots=True)
class Blame:
    """Who is to blame for what a release's text does on one device.

    Every question is put to a release process that has served no case but this one, and what is
    told has been seen in one that served nothing else. `known` are the nodes that were found to be
    printed wrong, by outcome; of a changed release nothing `is_minimised`.
    """

    optimizer: str
    target: Target
    is_minimised: bool = True
    known: dict[Outcome, set[str]] = field(default_factory=dict)

    def of(self, result: CaseResult, pool: DevicePool, text: str = "") -> CaseResult:
        """The finding with the least opts and the smallest kernel that fail alike.

        `text` is what ran when it was found. What does not show alone keeps all its opts.
        """
        try:
            return self._of(result, pool, text)
        except WorkerError:
            return result

    def _of(self, result: CaseResult, pool: DevicePool, text: str) -> CaseResult:
        outcome = result.ending.outcome
        case = parse_case(result.case)
        known = self.known.setdefault(outcome, set()) if self.is_minimised else set()
        signatures = (signature(node) for node in postorder(case.ast))
        guess = next((name for name in signatures if name in known), "")
        bare = replace(case, opts=())
        if guess and self._shows(bare, outcome, pool):
            return _told(result, bare, guess)
        with self.alone(pool) as ask:
            (answer,) = ask([case])
            if answer.outcome is not outcome:
                return not_shown(result, answer, text)
            if not self.is_minimised:
                return result.marked(Confirmed.FRESH, outcome)
            small, reason = self._cause(result, case, ask)
        if small != case and not self._shows(small, outcome, pool):
            return _told(result, case, self.target.name)
        node = small.ast[0].value
        if reason == signature(node) and not _is_reduce(node):
            known.add(reason)
        return _told(result, small, reason)

    def alone(self, pool: DevicePool) -> AbstractContextManager[Ask]:
        """A release process that has served nothing. Raises: WorkerError."""
        return process_alone(self.optimizer, self.target, pool)

    def _shows(self, case: Case, outcome: Outcome, pool: DevicePool) -> bool:
        with self.alone(pool) as ask:
            return ask([case])[0].outcome is outcome

    def _cause(self, result: CaseResult, case: Case, ask: Ask) -> tuple[Case, str]:
        """The smallest case that fails alike, and what it is put down to."""
        outcome = result.ending.outcome
        fewer = _with_fewer_opts(case, outcome, ask)
        if outcome is Outcome.BUILD_ERROR:
            return fewer, build_error(result.ending.detail)
        if fewer.opts:
            return fewer, self.target.name
        parts = list(_parts(fewer))
        for (node, part), answer in zip(parts, ask(part for _, part in parts), strict=True):
            if answer.outcome is outcome:
                return part, signature(node)
        return fewer, WHOLE


def _with_fewer_opts(case: Case, outcome: Outcome, ask: Ask) -> Case:
    """No opts at all, or one after the other left out, as long as it fails alike."""
    bare = replace(case, opts=())
    if not case.opts or ask([bare])[0].outcome is outcome:
        return bare
    while len(case.opts) > 1:
        each = [
            replace(case, opts=(*case.opts[:i], *case.opts[i + 1 :]))
            for i in reversed(range(len(case.opts)))
        ]
        answers = zip(each, ask(each), strict=True)
        failing = next((one for one, answer in answers if answer.outcome is outcome), None)
        if failing is None:
            break
        case = failing
    return case


def _told(result: CaseResult, case: Case, reason: str) -> CaseResult:
    outcome = result.ending.outcome
    title = f"{outcome.value} in the text of {case.rules}: {reason}"
    small = replace(case, title=title, expect=Expect(None, outcome.value))
    ending = Ending(Stage.DEVICE, outcome, result.ending.detail, reason)
    told = replace(result, ending=ending, opts=case.opts, case=dump_case(small))
    return told.marked(Confirmed.FRESH, outcome)


def _parts(case: Case) -> Iterator[tuple[Node, Case]]:
    """Each node that computes something, stored alone, sources before their readers."""
    for node in postorder(case.ast):
        if isinstance(node, Load | Store) or not children(node):
            continue
        loads = {other.buffer for other in postorder([node]) if isinstance(other, Load)}
        if 0 in loads or not all(isinstance(extent, int) for extent in node.shape):
            continue
        store = Store(0, node.dtype, ShapeTracker.from_shape(node.shape), node)
        yield node, replace(case, ast=(store,), opts=())


def signature(node: Node) -> str:
    """A node in the words by which faults of a renderer are told apart: op and kinds of dtypes."""
    match node:
        case Alu(op=op, src=src):
            return f"{op.name} of {_kind(src[-1].dtype)}"
        case Cast(value=value, dtype=dtype, bitcast=bitcast):
            to = "" if _kind(value.dtype) == NARROW else f" to {_kind(dtype)}"
            return f"{'BITCAST' if bitcast else 'CAST'} of {_kind(value.dtype)}{to}"
        case Reduce(op=reduce, value=value, axes=axes):
            ones = " of extent 1" if any(value.shape[axis] == 1 for axis in axes) else ""
            below = " of reductions" if any(map(_is_reduce, postorder([value]))) else ""
            return f"{reduce.name}{ones} over {_kind(value.dtype)}{below}"
    return ""


def _is_reduce(node: Node) -> bool:
    return isinstance(node, Reduce)


def _kind(dtype: DType) -> str:
    is_narrow = dtype.is_int and dtype.itemsize < NARROW_NBYTES
    return NARROW if is_narrow else dtype.name


def build_error(detail: str) -> str:
    """What a compiler complains of first, without places and names of its own."""
    text = re.sub(r"<Spelling=[^>]*>:?|\S*\.cl:\d+:\d+:?", "", detail)
    words = " ".join(text.split())
    found = re.search(r"error:[ :]*(.*?)(?: Device | error:|;|$)", words)
    return (found[1] if found else words)[:60].strip()
