"""What a release's wrong text comes down to: fewer opts, then the one node that is printed wrong.

A campaign meets one fault of a renderer hundreds of times, under whatever opts were drawn. Two
questions to the device tell its faults apart: does the text without opts fail alike, and which is
the first node that, stored alone, comes out wrong? Kernels with an op that is known to be printed
wrong are put down to it unasked; a reduction is never known so, since most are right.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from kernelref.cases.case import Case, Expect, dump_case, parse_case
from kernelref.cases.sources import KernelSource, Place
from kernelref.codegen.target import Target
from kernelref.errors import KernelRefError
from kernelref.fuzzing.campaign_case import CaseResult
from kernelref.fuzzing.campaign_check import Ending, Stage
from kernelref.ir.ast import Alu, Cast, Load, Node, Reduce, Store, children, postorder
from kernelref.ir.dtype import DType
from kernelref.ir.shapetracker import ShapeTracker
from kernelref.ir.tinygrad_repr import Dialect
from kernelref.jobs.opt_choice import Listed
from kernelref.jobs.run_judge import judged
from kernelref.jobs.run_prepare import Ready
from kernelref.jobs.run_release import prepare_release
from kernelref.jobs.run_subject import Subject
from kernelref.run.isolate import DevicePool
from kernelref.run.outcome import Outcome

NARROW_NBYTES = 4
"""C computes integers of fewer bytes as int."""
NARROW = "narrow integers"


@dataclass(slots=True)
class Blame:
    """Who is to blame for what a release's text does on one device.

    `known` are the nodes that were found to be printed wrong, by outcome.
    """

    optimizer: str
    target: Target
    known: dict[Outcome, set[str]] = field(default_factory=dict)

    def of(self, result: CaseResult, pool: DevicePool) -> CaseResult:
        """The finding with the least opts and the smallest kernel that fail alike."""
        outcome = result.ending.outcome
        case = parse_case(result.case)
        known = self.known.setdefault(outcome, set())
        for node in postorder(case.ast):
            if signature(node) in known:
                return _told(result, replace(case, opts=()), signature(node))
        fewer = self._with_fewer_opts(case, outcome, pool)
        if fewer.opts:
            return _told(result, fewer, self._reason(result))
        if result.ending.outcome is Outcome.BUILD_ERROR:
            return _told(result, fewer, self._reason(result))
        parts = list(_parts(fewer))
        failing = self._failing([part for _, part in parts], outcome, pool)
        for node, part in parts:
            if part in failing:
                if not _is_reduce(node):
                    known.add(signature(node))
                return _told(result, part, signature(node))
        return _told(result, fewer, "the whole kernel")

    def _reason(self, result: CaseResult) -> str:
        if result.ending.outcome is Outcome.BUILD_ERROR:
            return build_error(result.ending.detail)
        return self.target.name

    def _with_fewer_opts(self, case: Case, outcome: Outcome, pool: DevicePool) -> Case:
        """No opts at all, or one after the other left out, as long as it fails alike."""
        bare = replace(case, opts=())
        if not case.opts or self._failing([bare], outcome, pool):
            return bare
        while len(case.opts) > 1:
            each = [
                replace(case, opts=(*case.opts[:i], *case.opts[i + 1 :]))
                for i in reversed(range(len(case.opts)))
            ]
            failing = self._failing(each, outcome, pool)
            if not failing:
                break
            case = failing[0]
        return case

    def _failing(self, cases: Iterable[Case], outcome: Outcome, pool: DevicePool) -> list[Case]:
        """Those of the cases that fail alike."""
        ready: list[tuple[Case, Ready]] = []
        for case in cases:
            ready += [(case, launch) for launch in self._launches(case)]
        results = pool.run(launch.with_data() for _, launch in ready)
        return [
            case
            for (case, launch), result in zip(ready, results, strict=True)
            if judged(launch, result).outcome is outcome
        ]

    def _launches(self, case: Case) -> Iterator[Ready]:
        """The text of a case, if the release has one, with exactly these opts."""
        source = KernelSource(Place(Path("blamed")), case.ast, None, Dialect.V0_9_1, case)
        try:
            subject = Subject.of(source, seed=case.inputs.seed)
            listed = Listed(case.opts)
            made = prepare_release(subject, self.optimizer, listed, case.limits, (self.target,))
            for item in made:
                if isinstance(item, Ready) and item.pair.opts == case.opts:
                    yield item
        except KernelRefError:
            return


def _told(result: CaseResult, case: Case, reason: str) -> CaseResult:
    outcome = result.ending.outcome
    title = f"{outcome.value} in the text of {case.rules}: {reason}"
    small = replace(case, title=title, expect=Expect(None, outcome.value))
    ending = Ending(Stage.DEVICE, outcome, result.ending.detail, reason)
    return replace(result, ending=ending, opts=case.opts, case=dump_case(small))


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
