"""Real bugs of the releases: under `sound` each kernel is right, or its opt is refused.

A kernel that is right must also be accepted, so that refusing everything does not pass; and a
refusal counts only for the reason that makes the opt wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from kernelref.codegen.lower import lower
from kernelref.codegen.target import FULL
from kernelref.errors import KernelOptError
from kernelref.ir import semantics
from kernelref.ir.ast import Ast, Load, postorder
from kernelref.opt.kernel import Kernel
from kernelref.opt.limits import OPENCL, PRESETS
from kernelref.run.inputs import plan_inputs
from kernelref.run.interp import interpret
from kernelref.run.oracle import Oracle
from kernelref.run.tolerance import Rung, judge
from tests.shared_bugs import BUG_IDS, Bug, load_bug

REASONS = {
    "A01": "padding-keeps-reductions",
    "A03": "padding-keeps-reductions",
    "A12": "padding-does-not-trap",
    "A15": "padding-keeps-reductions",
    "A16": "padding-keeps-reductions",
    "A18": "padding-keeps-reductions",
    "A28": "axis-type",
    "A32": "pads-less-than-quadruple",
    "A33": "launch-fits",
    "B12": "shared-memory",
    "G01": "tensor-core-threads",
    "G06": "tensor-core-threads",
}


def _opened(bug: Bug) -> Kernel:
    assert bug.ast is not None
    kernel = Kernel.open(bug.ast, PRESETS["metal"] if bug.needs_tensor_cores else OPENCL)
    for opt in bug.opts:
        kernel = kernel.apply_opt(opt)
    return kernel


def _inputs(ast: Ast, given: Mapping[int, list[float]]) -> tuple[dict[int, Any], Rung]:
    """The bug's own values where it has some (repeated to the buffer's length), else drawn ones."""
    plan = plan_inputs(ast)
    inputs = dict(plan.draw(1))
    dtypes = {node.buffer: node.dtype for node in postorder(ast) if isinstance(node, Load)}
    for buffer, values in given.items():
        dtype = dtypes[buffer]
        stored = semantics.encode(np.array(values).astype(dtype.numpy), dtype)
        inputs[buffer] = np.resize(stored, len(inputs[buffer]))
    is_own = bool(given) and plan.rung is Rung.INTEGERS
    return inputs, Rung.BOUNDED if is_own else plan.rung


@pytest.mark.parametrize("bug_id", BUG_IDS)
def test_right_or_refused_for_its_reason(bug_id: str) -> None:
    bug = load_bug(bug_id)
    if bug.ast is None:
        pytest.skip("a bug of views or index expressions: tests/ir")
    if bug_id in REASONS:
        with pytest.raises(KernelOptError) as refusal:
            _opened(bug)
        assert refusal.value.check == REASONS[bug_id]
        return
    inputs, rung = _inputs(bug.ast, bug.inputs)
    run = interpret(lower(_opened(bug), FULL), inputs)
    assert run.fault is None
    oracle = Oracle(bug.ast, inputs)
    for output, store in enumerate(bug.ast):
        addresses, valid = oracle.addresses(output)
        values = oracle.values(output).at(valid)
        got = run.buffers[store.buffer][addresses[valid]]
        assert len(got)
        assert judge(got, values, rung, store.dtype) is None


def test_every_bug_that_must_be_refused_has_its_reason() -> None:
    if not BUG_IDS:
        pytest.skip("no bug files beside the repository")
    refused = {i for i in BUG_IDS if load_bug(i).correct_outcome == "reject"}
    assert refused <= set(REASONS)
