"""The text of each kernel in the catalogue: a change of codegen shows as a diff here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kernelref.codegen.lower import lower
from kernelref.codegen.opencl import render
from kernelref.codegen.program import Program
from kernelref.opt.opt import OptOps
from tests.golden.catalogue import CATALOGUE, Entry

HERE = Path(__file__).parent


def _program(name: str, entry: Entry) -> Program:
    return lower(entry.kernel(), entry.target, "k_" + name.replace("-", "_"))


@pytest.mark.parametrize("name", CATALOGUE)
def test_text(name: str, golden: Callable[[str, str], None]) -> None:
    entry = CATALOGUE[name]
    program = _program(name, entry)
    opts = " ".join(f"{op}({axis}, {amount})" for op, axis, amount in entry.opts) or "no opts"
    groups = ", ".join(map(str, program.groups))
    local = ", ".join(map(str, program.local))
    head = (
        f"// {opts}\n// groups ({groups}), local ({local}), {program.shared_nbytes} shared bytes\n"
    )
    golden(f"{name}.cl", head + render(program, entry.target))


def test_every_file_has_its_kernel() -> None:
    assert {path.stem for path in HERE.glob("*.cl")} == set(CATALOGUE)


def test_every_opt_is_here() -> None:
    assert {op for entry in CATALOGUE.values() for op, _, _ in entry.opts} == {
        op.name for op in OptOps
    }
