"""Certificates: what was proved of a kernel, as JSON that another run can check.

It holds the kernel as a case, the ShapeTrackers that the optimizer made, and each obligation's
verdict with engine and time. Sums and maxima are proved equal *modulo reassociation*: the same
terms, in any order; the certificate says so. Nothing in it is believed: whoever checks it derives
every obligation again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

from kernelref.cases import case as cases
from kernelref.cases.case import Case
from kernelref.cases.expressions import expression_from_json, expression_to_json
from kernelref.cases.json_text import faults_in, parse_json, read_text
from kernelref.cases.layout import dumps
from kernelref.errors import InvalidInput
from kernelref.ir.index import Sint, Var
from kernelref.ir.shapetracker import ShapeTracker
from kernelref.ir.view import View
from kernelref.opt.kernel import Kernel
from kernelref.prove.subject import Subject
from kernelref.prove.verdict import Answer, Obligation, Verdict

Json: TypeAlias = Any
KIND = "kernelref-certificate"
MODULO = "reassociation of sums and maxima"
MAX_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class Certificate:
    """A kernel with its opts, the ShapeTrackers of before and after, and what was said of it."""

    case: Case
    optimizer: str
    opened: tuple[ShapeTracker, ...]
    final: tuple[ShapeTracker, ...]
    answers: tuple[tuple[str, Obligation, Answer], ...]

    def subject(self) -> Subject:
        """The kernel to prove again: its ShapeTrackers are the certificate's, its axis map is made
        from the opts.

        Raises: InvalidInput when the opts are not accepted; what `Kernel.open` raises.
        """
        from kernelref.opt.rules.sets import RULE_SETS

        case = self.case
        if case.rules not in RULE_SETS:
            raise InvalidInput(f"unknown rule set {case.rules}", where="case.rules")
        kernel = Kernel.open(case.ast, case.limits, RULE_SETS[case.rules])
        subject = Subject.of(kernel, case.opts)
        if len(self.opened) != len(kernel.sts) or len(self.final) != len(kernel.sts):
            raise InvalidInput(f"needs {len(kernel.sts)} buffers", where="opened, final")
        return replace(subject, opened_sts=self.opened, final_sts=self.final)


def certificate_to_json(
    case: Case, optimizer: str, subject: Subject, verdicts: Sequence[Verdict]
) -> Json:
    """The document of a certificate."""
    opened = subject.opened.sts if subject.opened_sts is None else subject.opened_sts
    final = subject.final.sts if subject.final_sts is None else subject.final_sts
    return {
        "schema": 1,
        "kind": KIND,
        "modulo": MODULO,
        "optimizer": optimizer,
        "case": cases.to_json(case),
        "opened": [_st_to_json(st) for st in opened],
        "final": [_st_to_json(st) for st in final],
        "obligations": [verdict_to_json(verdict) for verdict in verdicts],
    }


def write_certificate(document: Json, path: Path) -> None:
    """Write a certificate whole or not at all."""
    temporary = path.with_name(path.name + ".part")
    temporary.write_text(dumps(document), encoding="utf-8")
    temporary.replace(path)


def verdict_to_json(verdict: Verdict) -> Json:
    """A verdict: which engines proved how many of its claims, and how long it took."""
    found: dict[str, Json] = {
        "step": verdict.step,
        "obligation": verdict.obligation.value,
        "verdict": verdict.answer.value,
        "engines": dict(sorted(Counter(verdict.engines).items())),
        "ms": round(verdict.seconds * 1e3, 3),
    }
    if verdict.reason:
        found["reason"] = verdict.reason
    if verdict.witness is not None:
        found["witness"] = str(verdict.witness)
    return found


def read_certificate(path: Path) -> Certificate:
    """The certificate in a file. Raises: InvalidInput naming file and field."""
    text = read_text(path, MAX_BYTES)
    with faults_in(str(path)):
        return _from_json(parse_json(text))


def _from_json(document: Json) -> Certificate:
    match document:
        case {
            "schema": 1, "kind": str(kind), "optimizer": str(optimizer), "case": dict(case),
            "opened": list(opened), "final": list(final), "obligations": list(obligations),
        } if kind == KIND:  # fmt: skip
            read = cases.from_json(case)
            symbols = {var.name: var for var in cases.symbols_of(read.ast)}
            return Certificate(
                read,
                optimizer,
                tuple(_st_from_json(st, symbols, f"opened[{i}]") for i, st in enumerate(opened)),
                tuple(_st_from_json(st, symbols, f"final[{i}]") for i, st in enumerate(final)),
                tuple(_answer(entry, f"obligations[{i}]") for i, entry in enumerate(obligations)),
            )
    raise InvalidInput("not a certificate of schema 1", where="")


def _answer(entry: Json, where: str) -> tuple[str, Obligation, Answer]:
    match entry:
        case {"step": str(step), "obligation": str(name), "verdict": str(answer)} if (
            name in {o.value for o in Obligation} and answer in Answer.__members__
        ):
            return step, Obligation(name), Answer(answer)
    raise InvalidInput("not an obligation with its verdict", where=where)


def _st_to_json(st: ShapeTracker) -> Json:
    return [
        {
            "shape": [expression_to_json(part) for part in view.shape],
            "strides": [expression_to_json(part) for part in view.strides],
            "offset": expression_to_json(view.offset),
            "mask": None
            if view.mask is None
            else [[expression_to_json(part) for part in pair] for pair in view.mask],
        }
        for view in st.views
    ]


def _st_from_json(entry: Json, symbols: Mapping[str, Var], where: str) -> ShapeTracker:
    if not isinstance(entry, list) or not entry:
        raise InvalidInput("not a list of views", where=where)
    views = tuple(_view(view, symbols, f"{where}.views[{i}]") for i, view in enumerate(entry))
    return ShapeTracker(views)


def _view(entry: Json, symbols: Mapping[str, Var], where: str) -> View:
    def part(value: Json) -> Sint:
        return expression_from_json(value, symbols, where)

    match entry:
        case {"shape": list(shape), "strides": list(strides), "offset": offset, "mask": mask} if (
            len(shape) == len(strides) and (mask is None or _is_mask(mask, len(shape)))
        ):
            return View(
                tuple(map(part, shape)),
                tuple(map(part, strides)),
                part(offset),
                None if mask is None else tuple((part(b), part(e)) for b, e in mask),
            )
    raise InvalidInput("not a view", where=where)


def _is_mask(mask: Json, rank: int) -> bool:
    pairs = isinstance(mask, list) and all(isinstance(p, list) and len(p) == 2 for p in mask)
    return pairs and len(mask) == rank
