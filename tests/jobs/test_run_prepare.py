from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from kernelref.codegen.target import MINIMAL, POCL
from kernelref.errors import InvalidInput, Unsupported
from kernelref.ir.builder import buffer, kernel
from kernelref.ir.dtype import DOUBLE
from kernelref.ir.index import Var
from kernelref.jobs.run_prepare import Ready, failed, prepare
from kernelref.jobs.run_report import Ending, Pair
from kernelref.jobs.run_subject import Subject, values_for
from kernelref.opt.broke import OptBroke
from kernelref.opt.kernel import Kernel
from kernelref.opt.opt import Opt, OptOps
from kernelref.run import oclgrind
from kernelref.run.outcome import Outcome
from tests.jobs.run_cases import ADD, ready_of, source_of


def test_every_output_of_a_small_kernel_is_compared(tmp_path):
    ready = ready_of(tmp_path, ADD)
    (expected,) = ready.expected
    assert expected.addresses.tolist() == list(range(32))
    launch = ready.with_data()
    data = {b.number: b.data for b in launch.buffers}
    assert data[0] is None
    assert np.array_equal(expected.values.value, data[1] + data[2])


def test_inputs_depend_on_the_seed_and_on_nothing_else(tmp_path):
    def inputs(seed):
        return ready_of(tmp_path, ADD, seed=seed).with_data().buffers[1].data

    assert np.array_equal(inputs(1), inputs(1))
    assert not np.array_equal(inputs(1), inputs(2))


def test_a_large_output_is_sampled_with_its_ends(tmp_path):
    ready = ready_of(tmp_path, kernel(buffer(1, (2000, 1000)) * 2.0))
    (expected,) = ready.expected
    assert 4096 <= len(expected.addresses) < 2_000_000
    assert expected.addresses[0] == 0
    assert expected.addresses[-1] == 1_999_999
    assert ready.launch.ranges is None


@pytest.mark.parametrize("length", [1000, 300_000])
def test_a_sample_holds_both_sides_of_every_mask_edge(tmp_path, length):
    rows = buffer(1, (length, 2000 if length == 1000 else 8)).pad(((length, length), (0, 0)))
    (expected,) = ready_of(tmp_path, kernel(rows + 1.0)).expected
    columns = 2000 if length == 1000 else 8
    seen = set((expected.addresses // columns).tolist())
    assert {0, length - 1, length, 2 * length - 1, 2 * length, 3 * length - 1} <= seen


def test_a_huge_space_runs_whole_groups_and_compares_what_they_write(tmp_path):
    left = buffer(1, (4096, 5, 1)).permute(0, 2, 1).expand((4096, 60_000, 5))
    ready = ready_of(tmp_path, kernel((left * left).sum(2)))
    (expected,) = ready.expected
    assert ready.launch.ranges is not None
    assert expected.addresses[0] == 0
    assert expected.addresses[-1] == 4096 * 60_000 - 1
    assert 4096 <= len(expected.addresses) < 10_000_000
    assert expected.total == 4096 * 60_000


def test_what_exceeds_the_device_is_not_launched(tmp_path):
    source = source_of(tmp_path, kernel(buffer(1, (64, 100)).sum(1)))
    subject = Subject.of(source, seed=0)
    for target, reason in (
        (replace(POCL, loop_max=99), "device-loop-iterations"),
        (replace(POCL, buffer_nbytes=25_599), "device-buffer-size"),
        (replace(POCL, memory_nbytes=25_855), "device-memory"),
    ):
        ending = prepare(subject, Kernel.open(source.ast), Pair("one", "pocl"), target)
        assert isinstance(ending, Ending)
        assert ending.reason == reason
    most = replace(POCL, loop_max=100, buffer_nbytes=25_600, memory_nbytes=25_856)
    assert isinstance(prepare(subject, Kernel.open(source.ast), Pair("one", "pocl"), most), Ready)


def test_groups_too_large_for_a_simulator_are_unsupported(tmp_path):
    target = replace(POCL, name=oclgrind.NAME)
    many = ready_of(tmp_path, kernel(buffer(1, (1 << 20,)) * 2.0), target=target)
    assert many.launch.ranges is not None
    assert many.work < 1 << 20
    source = source_of(tmp_path, kernel(buffer(1, (4, 1 << 20)).sum(1)))
    subject = Subject.of(source, seed=0)
    ending = prepare(subject, Kernel.open(source.ast), Pair("one", target.name), target)
    assert isinstance(ending, Ending)
    assert ending.reason == "simulator-size"


def test_a_small_ast_unrolled_to_a_long_text_is_compiled_with_optimisations(tmp_path):
    source = source_of(tmp_path, kernel(buffer(1, (32, 192)) + buffer(2, (32, 192))))
    subject = Subject.of(source, seed=0)
    plain = Kernel.open(source.ast)
    unrolled = plain
    for _ in range(3):
        unrolled = unrolled.attempt(Opt(OptOps.UPCAST, 0, 8))
        assert isinstance(unrolled, Kernel)
    for opened, wanted in ((plain, False), (unrolled, True)):
        ready = prepare(subject, opened, Pair("one", "pocl"), POCL)
        assert isinstance(ready, Ready)
        assert ready.launch.optimise is wanted


def test_what_the_device_lacks_is_unsupported(tmp_path):
    source = source_of(tmp_path, kernel(buffer(1, (4,), DOUBLE) + buffer(2, (4,), DOUBLE)))
    subject = Subject.of(source, seed=0)
    opened = Kernel.open(source.ast)
    ending = prepare(subject, opened, Pair("one", "minimal"), MINIMAL)
    assert isinstance(ending, Ending)
    assert ending.outcome is Outcome.UNSUPPORTED
    assert ending.reason
    assert not isinstance(prepare(subject, opened, Pair("one", "pocl"), POCL), Ending)


def test_more_memory_than_there_is_is_unsupported(tmp_path):
    source = source_of(tmp_path, kernel(buffer(1, (1 << 30, 2)).sum(1)))
    with pytest.raises(Unsupported, match="memory"):
        Subject.of(source, seed=0)


def test_symbolic_variables_take_the_cases_values_or_any_within_bounds():
    n, m = Var("n", 1, 100), Var("m", 5, 5)
    assert values_for(frozenset({n, m}), {"n": 7}, seed=0) == {"n": 7, "m": 5}
    drawn = {values_for(frozenset({n}), {}, seed=seed)["n"] for seed in range(20)}
    assert len(drawn) > 5
    assert all(1 <= value <= 100 for value in drawn)


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (Unsupported("images", "none here"), Outcome.UNSUPPORTED),
        (OptBroke("reduce-shape", found=1, needed=2), Outcome.BROKE),
        (InvalidInput("no"), Outcome.HARNESS_ERROR),
        (ZeroDivisionError("x"), Outcome.HARNESS_ERROR),
    ],
)
def test_what_failed_before_a_launch_has_an_ending(error, outcome):
    ending = failed(Pair("k.json", "pocl"), error)
    assert ending.outcome is outcome
    assert bool(ending.reason) == (outcome is not Outcome.HARNESS_ERROR)
