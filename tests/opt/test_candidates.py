"""Legal opts worth trying, and the releases' search actions."""

from __future__ import annotations

from collections import Counter

import pytest

from kernelref.opt.candidates import (
    ACTIONS_0_8_0,
    ACTIONS_0_9,
    candidates,
    search_actions,
    search_children,
)
from kernelref.opt.kernel import Kernel
from kernelref.opt.limits import PRESETS
from kernelref.opt.opt import Opt, OptOps
from kernelref.opt.rules.sets import RULE_SETS, SOUND, TINYGRAD_0_8_0, TINYGRAD_0_9_1
from kernelref.opt.rules.table import RULES
from tests.opt.kernels import add, image_sum, matmul, opened, row_sum

ASTS = {
    "matmul": matmul(16, 24, 64),
    "add": add(24, 24),
    "row": row_sum(4, 96),
    "image": image_sum(),
}


@pytest.mark.parametrize("rules", RULE_SETS.values(), ids=str)
@pytest.mark.parametrize("name", ASTS)
def test_candidates_are_what_is_legal_of_the_records(name, rules) -> None:
    kernel = opened(ASTS[name], PRESETS["metal"], rules)
    listed = candidates(kernel)
    assert len(set(listed)) == len(listed)
    for opt in listed:
        assert isinstance(kernel.attempt(opt), Kernel), opt
        whole = opt.amt != 0 and Opt(opt.op, opt.axis, 0) in listed and opt.op is not OptOps.TC
        assert not whole or kernel.apply_opt(opt).axes != (
            kernel.apply_opt(Opt(opt.op, opt.axis, 0)).axes
        )
    for op in rules.checks:
        for axis in range(len(kernel.axes)):
            for amount in RULES[op].amounts:
                opt = Opt(op, axis, amount)
                if opt not in listed and isinstance(after := kernel.attempt(opt), Kernel):
                    whole = kernel.apply_opt(Opt(op, axis, 0))
                    assert after.axes == whole.axes, f"{opt} is legal and not listed"


def test_nolocals_is_a_candidate_until_there_are_locals() -> None:
    kernel = opened(add(24, 24))
    assert Opt(OptOps.NOLOCALS) in candidates(kernel)
    assert Opt(OptOps.NOLOCALS) not in candidates(kernel.apply_opt(Opt(OptOps.LOCAL, 0, 4)))


def test_counts_of_actions() -> None:
    """As the releases list them: 0.9 has 136 and 10 for tensor cores; 0.8.0 has 103."""
    assert Counter(opt.op.value for opt in ACTIONS_0_9) == {
        "UPCAST": 36, "UNROLL": 15, "LOCAL": 36, "GROUPTOP": 24, "GROUP": 12, "PADTO": 7,
        "UPCASTMID": 1, "TC": 10,
    }  # fmt: skip
    assert Counter(opt.op.value for opt in ACTIONS_0_8_0) == {
        "UPCAST": 30, "UNROLL": 8, "LOCAL": 36, "GROUPTOP": 15, "GROUP": 3, "PADTO": 7,
        "UPCASTMID": 1,
    }  # fmt: skip
    assert search_actions(SOUND) == search_actions(TINYGRAD_0_9_1) == ACTIONS_0_9
    assert search_actions(TINYGRAD_0_8_0) == ACTIONS_0_8_0


def test_children_of_a_kernel() -> None:
    kernel = opened(row_sum(4, 96), rules=TINYGRAD_0_9_1)
    children = dict(search_children(kernel))
    assert Opt(OptOps.UPCAST, 0, 0) in children
    assert Opt(OptOps.UPCAST, 0, 4) not in children  # the whole axis, for which 0 stands
    assert Opt(OptOps.UPCAST, 0, 2) in children
    assert Opt(OptOps.UPCAST, 1, 2) not in children
    assert Opt(OptOps.GROUP, 0, 0) in children
    for opt, child in children.items():
        assert child == kernel.apply_opt(opt)


def test_large_children_are_dropped() -> None:
    kernel = opened(add(64, 64, 64), rules=TINYGRAD_0_9_1)
    for axis in range(2):
        kernel = kernel.apply_opt(Opt(OptOps.UPCAST, axis, 8))
    assert Opt(OptOps.UPCAST, 2, 4) in dict(search_children(kernel))
    assert Opt(OptOps.UPCAST, 2, 5) not in dict(search_children(kernel))
    eight = kernel.apply_opt(Opt(OptOps.UPCAST, 0, 4))
    assert Opt(OptOps.UPCAST, 2, 2) not in dict(search_children(eight))


def test_work_items_of_a_child_are_limited_by_release() -> None:
    opts = [Opt(OptOps.LOCAL, 0, 16), Opt(OptOps.LOCAL, 1, 16)]
    ast = add(32, 32, 32)
    late, early = opened(ast, rules=TINYGRAD_0_9_1), opened(ast, rules=TINYGRAD_0_8_0)
    for opt in opts:
        late, early = late.apply_opt(opt), early.apply_opt(opt)
    assert Opt(OptOps.LOCAL, 2, 4) in dict(search_children(late))
    assert Opt(OptOps.LOCAL, 2, 8) not in dict(search_children(late))
    assert Opt(OptOps.LOCAL, 2, 2) not in dict(search_children(early))
