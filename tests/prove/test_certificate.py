"""Certificates: written, read, checked; nothing in them is believed."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from kernelref.cases.case import Case
from kernelref.errors import InvalidInput, KernelOptError
from kernelref.opt.kernel import Kernel
from kernelref.opt.opt import Opt, OptOps
from kernelref.prove import crosscheck
from kernelref.prove.certificate import certificate_to_json, read_certificate, write_certificate
from kernelref.prove.portfolio import CHECKING, Portfolio
from kernelref.prove.subject import Subject, prove
from kernelref.prove.verdict import Answer
from tests.opt.kernels import matmul, symbolic_sum
from tests.prove.plants import masked

OPTS = (Opt(OptOps.PADTO, 0, 4), Opt(OptOps.UPCAST, 0, 4), Opt(OptOps.GROUP, 0, 8))


def certificate(ast, opts=()) -> dict[str, Any]:
    subject = Subject.of(Kernel.open(ast), opts)
    verdicts = prove(subject, Portfolio())
    return certificate_to_json(Case(ast, opts=opts), "reference", subject, verdicts)


@pytest.fixture
def document() -> dict[str, Any]:
    return certificate(matmul(10, 8, 32), OPTS)


def read(document: Any, tmp_path):
    path = tmp_path / "certificate.json"
    write_certificate(document, path)
    return read_certificate(path)


@pytest.mark.parametrize(
    ("ast", "opts"),
    [
        (matmul(10, 8, 32), OPTS),
        (masked(), (Opt(OptOps.UPCAST, 0, 2),)),
        (symbolic_sum(), (Opt(OptOps.LOCAL, 0, 4),)),
    ],
    ids=["matmul", "masked", "symbolic"],
)
def test_a_certificate_is_derived_again(ast, opts, tmp_path) -> None:
    written = certificate(ast, opts)
    assert written["modulo"].startswith("reassociation")
    found = read(written, tmp_path)
    verdicts = prove(found.subject(), CHECKING)
    assert len(verdicts) == len(found.answers) == len(written["obligations"])
    for verdict, stated in zip(verdicts, found.answers, strict=True):
        assert verdict.answer is Answer.PROVED, verdict
        assert (verdict.step, verdict.obligation, verdict.answer) == stated
        assert set(verdict.engines) <= {"enumerate", "cvc5", "evaluation"}


def test_every_obligation_has_verdict_engines_and_time(document) -> None:
    for entry in document["obligations"]:
        assert entry["verdict"] == "PROVED"
        assert entry["ms"] >= 0
        assert all(isinstance(count, int) for count in entry["engines"].values())
    steps = [entry["step"] for entry in document["obligations"]]
    assert {step: steps.count(step) for step in steps} == {
        "construction": 6, "opts": 6, "program": 3,
    }  # fmt: skip


def edited(document: dict[str, Any], edit: Callable[[Any], None]) -> dict[str, Any]:
    copy = json.loads(json.dumps(document))
    edit(copy)
    return copy


def other_stride(document) -> None:
    document["final"][1][-1]["strides"][0] += 1


def lost_mask(document) -> None:
    for view in document["final"][0]:
        view["mask"] = None


def other_opening(document) -> None:
    document["opened"][2][-1]["offset"] = 1


@pytest.mark.parametrize("edit", [other_stride, lost_mask, other_opening])
def test_a_forged_schedule_is_refuted_whatever_the_file_says(document, edit, tmp_path) -> None:
    found = read(edited(document, edit), tmp_path)
    assert all(answer is Answer.PROVED for _, _, answer in found.answers)
    assert any(v.answer is Answer.REFUTED for v in prove(found.subject(), CHECKING))


def test_opts_that_are_refused_make_no_subject(document, tmp_path) -> None:
    def illegal(document) -> None:
        document["case"]["opts"][1] = ["UPCAST", 0, 64]

    with pytest.raises(KernelOptError):
        read(edited(document, illegal), tmp_path).subject()


@pytest.mark.parametrize(
    ("edit", "where"),
    [
        (lambda d: d.pop("final"), ""),
        (lambda d: d.update(kind="another"), ""),
        (lambda d: d["case"].pop("ast"), ""),
        (lambda d: d["final"][1].append(3), "final[1].views["),
        (lambda d: d["final"][0][0].update(strides=[1]), "final[0].views[0]"),
        (lambda d: d["final"].__setitem__(0, []), "final[0]"),
        (lambda d: d["obligations"][2].update(verdict="FINE"), "obligations[2]"),
    ],
)
def test_a_malformed_certificate_names_the_field(document, edit, where, tmp_path) -> None:
    with pytest.raises(InvalidInput) as error:
        read(edited(document, edit), tmp_path)
    assert where in str(error.value)
    assert "certificate.json" in str(error.value)


def test_another_number_of_buffers_is_bad_input(document, tmp_path) -> None:
    shorter = edited(document, lambda d: d["final"].pop())
    with pytest.raises(InvalidInput, match="needs 3 buffers"):
        read(shorter, tmp_path).subject()


@pytest.mark.skipif(not crosscheck.is_here(), reason="cvc5 is not installed")
def test_the_second_solver_agrees_with_the_first() -> None:
    for ast, opts in ((matmul(10, 8, 32), OPTS), (masked(), ())):
        subject = Subject.of(Kernel.open(ast), opts)
        for verdict in prove(subject, Portfolio(("cvc5",))):
            if verdict.step != "program":
                assert verdict.answer is Answer.PROVED, verdict
