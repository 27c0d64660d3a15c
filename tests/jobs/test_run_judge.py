from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from kernelref.ir.builder import buffer, kernel
from kernelref.jobs.run_judge import judged
from kernelref.run.job import LaunchResult
from kernelref.run.outcome import Outcome
from tests.jobs.run_cases import ADD, MATMUL, ready_of, right_answer


@pytest.fixture(params=[ADD, MATMUL], ids=["add", "matmul"])
def ready(request, tmp_path):
    return ready_of(tmp_path, request.param)


def test_the_right_values_pass(ready):
    ending = judged(ready, right_answer(ready))
    assert ending.outcome is Outcome.PASS
    assert ending.outputs_checked == ending.outputs_total == 32


@pytest.mark.parametrize("element", [0, 13, 31])
def test_one_wrong_value_is_named(ready, element):
    result = right_answer(ready)
    result.outputs[0][element] += 1
    ending = judged(ready, result)
    assert ending.outcome is Outcome.WRONG_VALUE
    assert ending.is_finding
    assert f"element {element}:" in ending.detail


@pytest.mark.parametrize("fault", [Outcome.CRASH, Outcome.TIMEOUT, Outcome.UNWRITTEN])
def test_a_fault_of_the_launch_is_its_outcome(ready, fault):
    ending = judged(ready, replace(right_answer(ready), fault=fault, detail="said so"))
    assert (ending.outcome, ending.detail) == (fault, "said so")
    assert ending.outputs_checked == 0


def test_an_output_that_no_argument_takes_is_unwritten(ready):
    ending = judged(ready, LaunchResult(None))
    assert ending.outcome is Outcome.UNWRITTEN
    assert "buffer 0" in ending.detail


def test_a_comparison_that_falls_over_ends_this_pair_alone(ready):
    ending = judged(ready, LaunchResult(None, outputs={0: "nonsense"}))
    assert ending.outcome is Outcome.HARNESS_ERROR


def test_too_few_outputs_are_a_fault_of_ours(ready):
    ending = judged(ready, LaunchResult(None, outputs={0: np.zeros(3, np.float32)}))
    assert ending.outcome is Outcome.HARNESS_ERROR


@pytest.mark.parametrize("count", [0, 1, 31, 33])
def test_another_number_of_outputs_is_counted_before_anything_is_compared(tmp_path, count):
    """All outputs alike, so that a single one broadcasts to what was asked for."""
    ready = ready_of(tmp_path, kernel(buffer(1, (1, 1)).expand((4, 8)) + 1.0))
    right = right_answer(ready)
    assert judged(ready, right).outcome is Outcome.PASS
    value = right.outputs[0][0]
    assert (right.outputs[0] == value).all()
    ending = judged(ready, LaunchResult(None, outputs={0: np.full(count, value, np.float32)}))
    assert ending.outcome is Outcome.HARNESS_ERROR
    assert ending.detail == f"{count} outputs came back, 32 were asked for"
    assert ending.outputs_checked == 0


def test_what_a_device_cannot_do_is_counted_with_its_reason(ready):
    ending = judged(ready, LaunchResult(Outcome.UNSUPPORTED, "no fp64"))
    assert ending.outcome is Outcome.UNSUPPORTED
    assert ending.reason
    assert not ending.is_finding
