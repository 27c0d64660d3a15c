from __future__ import annotations

from collections import Counter

import pytest

from kernelref.fuzzing.choose import SeededChooser
from kernelref.fuzzing.generate_opts import (
    FEW_UPCAST,
    Memory,
    OptSequence,
    changed,
    edge,
    fitting,
    generate_sequence,
    is_moderate,
    walk,
)
from kernelref.ir.builder import buffer, kernel
from kernelref.opt.kernel import Kernel
from kernelref.opt.limits import PRESETS
from kernelref.opt.opt import Opt, OptOps
from tests.fuzzing.made import MADE

UPCASTS = (Opt(OptOps.UPCAST, 0, 8), Opt(OptOps.UPCAST, 0, 4), Opt(OptOps.UPCAST, 0, 4))
MATMUL = Kernel.open(kernel(buffer(1, (32, 24)) @ buffer(2, (24, 48))))


def test_most_walks_reach_their_length():
    lengths = []
    for seed, ast in enumerate(MADE[:150]):
        lengths.append(
            len(walk(SeededChooser(seed), Kernel.open(ast), length=3).kernel.applied_opts)
        )
    assert sorted(lengths)[len(lengths) // 4] >= 2


def test_one_walk_in_five_may_take_more_registers_than_the_others():
    wide = Kernel.open(kernel(buffer(1, (8, 8, 8, 8)) + buffer(2, (8, 8, 8, 8))))
    rest = [
        walk(SeededChooser(seed), wide, length=3, known=[UPCASTS]).kernel for seed in range(300)
    ]
    assert all(map(is_moderate, rest))
    many = sum(not is_moderate(one, FEW_UPCAST) for one in rest)
    few = sum(is_moderate(one, FEW_UPCAST) and not is_moderate(one, 16) for one in rest)
    assert 0 < many < few


def test_walks_apply_every_op_of_the_sound_rules():
    seen = Counter()
    memory = Memory()
    for seed, ast in enumerate(MADE[:600]):
        opened = Kernel.open(ast, PRESETS["metal"])
        walked = walk(SeededChooser(seed), opened, length=5, memory=memory)
        seen.update(opt.op for opt in walked.kernel.applied_opts)
    assert set(seen) == set(MATMUL.rules.checks)


def test_a_walk_follows_from_its_seed():
    first, second = (walk(SeededChooser(3), MATMUL, length=5) for _ in range(2))
    assert first.kernel.applied_opts == second.kernel.applied_opts
    assert [tried.opt for tried in first.refused] == [tried.opt for tried in second.refused]


def test_a_refused_opt_is_told_with_the_kernel_that_refused_it():
    refused = [
        tried for seed in range(60) for tried in walk(SeededChooser(seed), MATMUL, length=4).refused
    ]
    assert refused
    for tried in refused:
        assert not isinstance(tried.kernel.attempt(tried.opt), Kernel)


def test_fitting_opts_are_mostly_taken():
    taken = [
        isinstance(MATMUL.attempt(fitting(SeededChooser(seed), MATMUL, op)), Kernel)
        for op in (OptOps.UPCAST, OptOps.UNROLL, OptOps.LOCAL, OptOps.GROUP, OptOps.PADTO)
        for seed in range(20)
    ]
    assert sum(taken) > 0.8 * len(taken)


@pytest.mark.parametrize(("op", "extent"), [(OptOps.UPCAST, 32), (OptOps.UNROLL, 24)])
def test_edges_are_met_on_both_sides(op, extent):
    amounts = {edge(SeededChooser(seed), MATMUL, op).amt for seed in range(800)}
    cap = {OptOps.UPCAST: 8, OptOps.UNROLL: 32}[op]
    assert {extent - 1, extent, extent + 1, cap, cap + 1, 4 * extent, 4 * extent + 1} <= amounts


def test_a_known_sequence_is_followed_and_changed():
    known = ((Opt(OptOps.LOCAL, 0, 4), Opt(OptOps.UPCAST, 1, 3)),)
    walks = [walk(SeededChooser(seed), MATMUL, length=3, known=known) for seed in range(300)]
    assert any(known[0][0] in walked.kernel.applied_opts for walked in walks)
    variants = {changed(SeededChooser(seed), known[0][0]) for seed in range(100)}
    assert known[0][0] in variants
    assert {opt.op for opt in variants} > {OptOps.LOCAL}
    assert {opt.axis for opt in variants} >= {0, 1, -1}


def test_a_pair_that_was_never_seen_is_favoured():
    memory = Memory()
    applied = (Opt(OptOps.LOCAL, 0, 4),)
    assert memory.favour(applied, OptOps.UPCAST) > 1
    memory.add((Opt(OptOps.LOCAL, 0, 4), Opt(OptOps.UPCAST, 0, 2)))
    assert memory.favour(applied, OptOps.UPCAST) == 1
    assert memory.favour((), OptOps.UNROLL) > 1


def test_a_step_less_is_an_opt_less():
    sequence = generate_sequence(SeededChooser(5))
    whole = sequence.on(MATMUL).kernel.applied_opts
    start = OptSequence(sequence.steps[:-1]).on(MATMUL).kernel.applied_opts
    assert whole[: len(start)] == start
    assert OptSequence(()).on(MATMUL).kernel is MATMUL
