from __future__ import annotations

import pytest

from kernelref.errors import KernelOptError, Unsupported
from kernelref.jobs.opt_choice import OWN, Actions, Listed, Named, RandomWalk
from kernelref.jobs.run_schedules import WALKS, schedules
from kernelref.opt.candidates import search_children
from kernelref.opt.kernel import Kernel
from kernelref.opt.limits import PRESETS
from kernelref.opt.opt import Opt, OptOps
from kernelref.opt.rules.sets import RULE_SETS
from tests.jobs.run_cases import BAD_UPCAST, MATMUL, UPCAST

UNROLL = Opt(OptOps.UNROLL, 0, 4)


def all_of(choice, *, own=(), kernel=None, salt="k", is_strict=False):
    opened = kernel or Kernel.open(MATMUL)
    return list(schedules(opened, own, choice, salt=salt, is_strict=is_strict))


def opts_of(schedule):
    return schedule.kernel.applied_opts


def test_none_and_own():
    (none,) = all_of(Named("none"), own=(UPCAST,))
    (own,) = all_of(OWN, own=(UPCAST,))
    assert opts_of(none) == ()
    assert opts_of(own) == (UPCAST,)


def test_a_refused_opt_is_skipped_or_stops():
    choice = Listed((UPCAST, BAD_UPCAST, UNROLL))
    (loose,) = all_of(choice)
    assert opts_of(loose) == (UPCAST, UNROLL)
    assert loose.refused == ((BAD_UPCAST, "amount-divides"),)
    (strict,) = all_of(choice, is_strict=True)
    assert opts_of(strict) == (UPCAST,)
    assert isinstance(strict.stop, KernelOptError)
    assert strict.stop.check == "amount-divides"


@pytest.mark.parametrize("name", ["required", "hand-coded", "engine"])
def test_heuristics_choose(name):
    (chosen,) = all_of(Named(name))
    assert chosen.stop is None
    assert bool(opts_of(chosen)) == (name != "required")


def test_random_sequences_are_legal_and_depend_on_seed_and_kernel():
    (one,) = all_of(RandomWalk(1, 4))
    assert 1 <= len(opts_of(one)) <= 4
    assert opts_of(all_of(RandomWalk(1, 4))[0]) == opts_of(one)
    others = {opts_of(all_of(RandomWalk(seed, 4))[0]) for seed in range(10)}
    assert len(others) >= 5
    salts = {opts_of(all_of(RandomWalk(1, 4), salt=salt)[0]) for salt in "abcdefgh"}
    assert len(salts) >= 4


def test_actions_are_every_single_one_then_walks():
    singles = all_of(Actions(1))
    assert [opts_of(s) for s in singles] == [
        kernel.applied_opts for _, kernel in search_children(Kernel.open(MATMUL))
    ]
    deeper = all_of(Actions(3))
    assert len(deeper) == len(singles) + WALKS
    assert max(len(opts_of(schedule)) for schedule in deeper) == 3


def test_what_typed_axes_cannot_hold_is_unsupported():
    kernel = Kernel.open(MATMUL, PRESETS["opencl"], RULE_SETS["tinygrad-0.9.1"])
    with pytest.raises(Unsupported):
        all_of(Listed((Opt(OptOps.UNROLL, -1, 0),)), kernel=kernel)
